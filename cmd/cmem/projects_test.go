package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cmem/cmd/internal/api"
)

func TestAProjectKnownByANoteAloneHasItsName(t *testing.T) {
	p := newPlace(t)
	p.cwd = filepath.Join(t.TempDir(), "shop")
	git := filepath.Join(p.cwd, ".git")
	if err := os.MkdirAll(git, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(git, "config"), []byte("[remote \"origin\"]\n\turl = https://git.example/acme/webshop.git\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.run("save", "a note")
	list := p.run("project", "list")
	if !strings.Contains(list, "webshop") {
		t.Errorf("listed as %q", list)
	}
	p.run("rebuild", "--verify")
	if again := p.run("project", "list"); again != list {
		t.Errorf("after a rebuild %q, before %q", again, list)
	}
	// What a session says of the same folder is the same project.
	p.hook("UserPromptSubmit", []byte(strings.ReplaceAll(string(prompt("s-1", "hello")), "/srv/demo", p.cwd)))
	if again := p.run("project", "list"); again != list {
		t.Errorf("after a session %q, before %q", again, list)
	}
}

func TestAProjectsNameIsOneLine(t *testing.T) {
	p := newPlace(t)
	p.run("save", "--project", "alpha", "a note")
	for _, name := range []string{"a\nb", "a\x1b[2Jb", "a\u2028b", "a\u202eb", " ", strings.Repeat("x", 5000), "a\xff"} {
		for _, args := range [][]string{{"project", "move", "alpha", name}, {"save", "--project", name, "x"}} {
			if r := p.try(args...); r.code != exitUsage || !strings.Contains(r.err, "a project's name must") {
				t.Errorf("cmem %.60q: %+v", args, r)
			}
		}
	}
	c := p.newWorker(t)
	defer c.Close()
	if err := c.Post(t.Context(), "/api/memory/save", api.SaveRequest{Text: "x", Project: "beta", Origin: `{"cwd":"/srv/other"}`}, nil); err == nil {
		t.Error("an origin of another project was taken")
	}
}

func TestACwdThatIsADotIsTheHooksFolder(t *testing.T) {
	p := newPlace(t)
	for _, name := range []string{"one", "two"} {
		p.cwd = filepath.Join(t.TempDir(), name)
		if err := os.Mkdir(p.cwd, 0o700); err != nil {
			t.Fatal(err)
		}
		p.hook("UserPromptSubmit", []byte(strings.ReplaceAll(string(prompt("s-"+name, "hello")), "/srv/demo", ".")))
	}
	if out := p.run("project", "list"); !strings.Contains(out, "one") || !strings.Contains(out, "two") {
		t.Error(out)
	}
}
