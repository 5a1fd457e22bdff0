package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// What a person mistypes is answered by a sentence that says so.
func TestMistakesAreAnswered(t *testing.T) {
	p := newPlace(t)
	empty := t.TempDir()
	noLines := filepath.Join(empty, "export.txt")
	if err := os.WriteFile(noLines, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args []string
		code int
		says string
	}{
		"a folder without transcripts": {[]string{"replay", "--transcript", empty}, exitNotFound, "no transcript (*.jsonl, *.jsonl.zst) in " + empty},
		"an empty path":                {[]string{"replay", "--transcript", ""}, exitUsage, "a path is empty"},
		"nothing to replay":            {[]string{"replay"}, exitUsage, "give --transcript"},
		"an empty export":              {[]string{"log", "verify", noLines}, exitDiffers, "has no line"},
		"an order that is none":        {[]string{"search", "x", "--order", "foo"}, exitUsage, "one of relevance, date_desc, date_asc"},
		"a host that is none":          {[]string{"search", "x", "--host", "gemini"}, exitUsage, `no host is called "gemini": give one of claude-code, codex`},
		"a host of no context":         {[]string{"context", "--host", "gemini"}, exitUsage, `no host is called "gemini"`},
		"a host of no transcript":      {[]string{"replay", empty, "--host", "gemini"}, exitUsage, `no host is called "gemini"`},
		"no id to show":                {[]string{"show", ""}, exitUsage, "give the id of what to show"},
		"a kind that is none":          {[]string{"search", "x", "--type", "observatons"}, exitOK, `no kind of memory is called "observatons"`},
	} {
		t.Run(name, func(t *testing.T) {
			r := p.try(c.args...)
			if r.code != c.code || !strings.Contains(r.out+r.err, c.says) {
				t.Errorf("code %d, out %q, err %q; want %d and %q", r.code, r.out, r.err, c.code, c.says)
			}
		})
	}
}

func TestAFifoAmongTranscriptsDoesNotHoldUpAReplay(t *testing.T) {
	p := newPlace(t)
	dir := t.TempDir()
	data, err := os.ReadFile(testdata + "/transcripts/claude-code/g07-claude-code.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.jsonl"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "b.jsonl"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := p.run("replay", "--transcript", dir); !strings.Contains(out, "1 file,") {
		t.Errorf("%q", out)
	}
}

func TestContextInAFolderThatIsGoneSaysSo(t *testing.T) {
	p := newPlace(t)
	p.cwd = filepath.Join(t.TempDir(), "gone")
	if err := os.Mkdir(p.cwd, 0o700); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("sh", "-c", `rmdir "$PWD" && exec "$0" context`, filepath.Join(bin, "cmem"))
	c.Env, c.Dir = p.env, p.cwd
	out, err := c.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "name a project with --project") {
		t.Errorf("%v: %s", err, out)
	}
}
