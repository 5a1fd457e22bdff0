package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func privateTextIsInNoFile(t *testing.T) {
	p := newPlace(t)
	in, err := os.ReadFile(filepath.Join(testdata, "faults/inputs/priv-01.json"))
	if err != nil {
		t.Fatal(err)
	}
	p.hook("UserPromptSubmit", in) // before any worker: it waits in the spool
	absent(t, p.dir, "CANARY")
	p.run("start")
	p.hook("UserPromptSubmit", prompt("priv-1", "open <PRIVATE a=1>CANARY-2 and <private>CANARY-3</private> more"))
	p.run("save", "--project", "alpha", "--title", "t <private>CANARY-4</private>", "keep this <private>CANARY-5</private> note")
	file := filepath.Join(p.cwd, "priv.jsonl")
	line := `{"type":"user","uuid":"5e550000-0000-4000-8000-00000000aaaa","sessionId":"5e550000-0000-4000-8000-0000000000ab","cwd":"/srv/demo","version":"2.1.41","timestamp":"2026-01-24T10:00:00.000Z","isSidechain":false,"message":{"role":"user","content":"tell <private>CANARY-6</private> me about otters"}}` + "\n"
	if err := os.WriteFile(file, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	p.run("replay", "--transcript", file)
	p.until("it is all found", func() bool {
		return strings.Contains(p.run("search", "otters"), "otters") && strings.Contains(p.run("search", "keep", "note"), "Found")
	})
	p.run("rebuild", "--verify")
	p.run("log", "verify")
	// Blocks and segments may be packed: what they say when asked is looked at too.
	if out := p.run("log", "export"); strings.Contains(strings.ToUpper(out), "CANARY") || strings.Count(out, "\n") < 4 {
		t.Errorf("the log says %s", out)
	}
	for _, word := range []string{"canary", "CANARY-1", "CANARY-5"} {
		if out := p.run("search", word); strings.Contains(out, "Found") {
			t.Errorf("search for %s: %s", word, out)
		}
	}
	p.run("stop")
	absent(t, p.dir, "CANARY")
	if r := p.try("save", "<private>CANARY-7</private>"); r.code != exitUsage {
		t.Errorf("a wholly private note: %+v", r)
	}
	absent(t, p.dir, "CANARY")
}

// absent looks for a word in every file, as it stands.
func absent(t *testing.T, dir, word string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		files++
		b, err := os.ReadFile(path)
		if bytes.Contains(bytes.ToUpper(b), []byte(word)) {
			t.Errorf("%s holds %s", path, word)
		}
		return err
	})
	if err != nil || files < 3 {
		t.Fatalf("looked into %d files: %v", files, err)
	}
}
