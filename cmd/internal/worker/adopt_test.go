package worker

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A build's texts move one by one into their place. Killed at any of them, the rest
// moves at the next start, and what has moved stays.
func TestABuildOfContextsIsAdoptedWholeAfterAKillAtAnyText(t *testing.T) {
	texts := []string{"a.md", "b.md", "c.md"}
	for moved := range len(texts) + 1 {
		dir := t.TempDir()
		from, to := filepath.Join(dir, "new"), filepath.Join(dir, "texts")
		put := func(folder, name, text string) {
			t.Helper()
			if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, folder, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		put("new", complete, "a.md\nb.md\nc.md\n")
		put("texts", "of-before.md", "old")
		for i, name := range texts {
			if i < moved {
				put("texts", name, "new")
			} else {
				put("texts", name, "old")
				put("new", name, "new")
			}
		}
		for range 2 {
			if err := adopt(from, to); err != nil {
				t.Fatal(err)
			}
		}
		entries, err := os.ReadDir(to)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
			if text, err := os.ReadFile(filepath.Join(to, e.Name())); err != nil || string(text) != "new" {
				t.Errorf("%d moved before: %s is %q, %v", moved, e.Name(), text, err)
			}
		}
		if !slices.Equal(names, texts) {
			t.Errorf("%d moved before: texts are %v, want %v", moved, names, texts)
		}
		if _, err := os.Stat(from); !os.IsNotExist(err) {
			t.Errorf("%d moved before: the build is still there: %v", moved, err)
		}
	}
}
