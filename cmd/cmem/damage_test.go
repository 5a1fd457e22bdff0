package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAnUnusablePatternStopsCommandsAndNotTheWorker: commands end with 7 and name
// file, line and pattern; the worker runs and status says it.
func TestAnUnusablePatternStopsCommandsAndNotTheWorker(t *testing.T) {
	p := newPlace(t)
	p.run("status")
	if err := os.WriteFile(filepath.Join(p.dir, "config.json"), []byte("{\n\"redact\":[{\"kind\":\"badge\",\"pattern\":\"B-(\"}]}"), 0o600); err != nil {
		t.Fatal(err)
	}
	const says = `config.json:2: redact pattern "B-(" of kind "badge" cannot be used`
	for _, args := range [][]string{{"config"}, {"status"}, {"search", "x"}, {"start"}} {
		if r := p.try(args...); r.code != exitConfig || !strings.Contains(r.err, says) || strings.Count(r.err, "\n") != 1 || r.out != "" {
			t.Errorf("cmem %v: %+v", args, r)
		}
	}
	worker := p.command("cmem", "serve")
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	p.until("the worker says which setting does not hold", func() bool { return strings.Contains(p.try("status").out, says) })
	p.run("stop")
	if err := worker.Wait(); err != nil {
		t.Error(err)
	}
}

// TestRebuildSaysThatTheOldModelCouldNotBeRead and no more: no stack, no line of a
// log.
func TestRebuildSaysThatTheOldModelCouldNotBeRead(t *testing.T) {
	p := newPlace(t)
	p.session("a-print")
	p.run("status")
	for name, damage := range map[string]func(b []byte) []byte{
		"records.db":           func(b []byte) []byte { return []byte(strings.Repeat("noise", 1000)) },
		"search/store-*/*.zap": func(b []byte) []byte { return b[:len(b)/2] },
	} {
		files, err := filepath.Glob(filepath.Join(p.dir, "read", name))
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(f, damage(b), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		model, _, _ := strings.Cut(strings.TrimSuffix(name, ".db"), "/")
		r := p.try("rebuild", "--verify")
		if r.code != exitDiffers || !strings.Contains(r.out, model+": the old one could not be read (") || !strings.Contains(r.out, "); built again\n") || strings.Count(r.err, "\n") != 1 {
			t.Errorf("%s: %+v", name, r)
		}
		for _, inside := range []string{"goroutine", "level=", "panic", ".go:"} {
			if strings.Contains(r.out+r.err, inside) {
				t.Errorf("%s: the user reads %q: %+v", name, inside, r)
			}
		}
		if out := p.run("rebuild", "--verify"); strings.Contains(out, "built again") {
			t.Errorf("%s: the second time it says %s", name, out)
		}
	}
}

func TestReplayWithoutTheKeyIsRefused(t *testing.T) {
	p := newPlace(t)
	p.session("a-print")
	p.run("status")
	if err := os.Remove(filepath.Join(p.dir, "id.key")); err != nil {
		t.Fatal(err)
	}
	if out := p.run("status"); !strings.Contains(out, "put id.key back from a backup") {
		t.Errorf("status says %s", out)
	}
	file := filepath.Join(t.TempDir(), "t.jsonl")
	if err := os.WriteFile(file, []byte(`{"type":"user","sessionId":"k","uuid":"u","timestamp":"2026-01-02T03:00:00Z","message":{"role":"user","content":"x"}}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := p.try("replay", "--transcript", file); r.code != exitFailed || !strings.Contains(r.err, "put id.key back") || !strings.Contains(r.err, "--new-key") {
		t.Errorf("replay says %+v", r)
	}
	p.hook("UserPromptSubmit", prompt("k2", "hooks go on"))
	p.run("replay", "--new-key", "--transcript", file)
	if out := p.run("status"); strings.Contains(out, "id.key") {
		t.Errorf("status says %s", out)
	}
}
