package streams

import (
	"os"
	"path/filepath"
	"testing"
)

// A first start may die, or lose its power, between any two of the files by which
// the server makes a stream. Nothing was in it, and nothing is told as damaged.
func TestAFirstStartThatDiedWhileItMadeTheStreamLeavesNoDamage(t *testing.T) {
	for name, spoil := range map[string]func(stream string) error{
		"without the sum":  func(s string) error { return os.Remove(filepath.Join(s, "meta.sum")) },
		"an empty sum":     func(s string) error { return os.Truncate(filepath.Join(s, "meta.sum"), 0) },
		"an empty setting": func(s string) error { return os.Truncate(filepath.Join(s, "meta.inf"), 0) },
		"a folder alone": func(s string) error {
			os.Remove(filepath.Join(s, "meta.inf"))
			return os.RemoveAll(filepath.Join(s, "msgs"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := Config{Dir: filepath.Join(t.TempDir(), "log"), Reserve: -1}
			halfMade(t, c, spoil)
			for range 2 {
				l, err := Open(t.Context(), c)
				if err != nil {
					t.Fatal(err)
				}
				if found := l.Opening().Found; len(found) > 0 {
					t.Errorf("found %q", found)
				}
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
				if !metaIsWhole(l.layout.stream()) {
					t.Error("the stream's settings are not whole")
				}
			}
		})
	}
}

// halfMade leaves a log as a first start does that dies while it makes the stream.
func halfMade(t *testing.T, c Config, spoil func(string) error) {
	t.Helper()
	l, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	id := l.identity
	id.Stream = false
	if err := l.layout.writeIdentity(id); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(l.layout.clean()); err != nil {
		t.Fatal(err)
	}
	if err := spoil(l.layout.stream()); err != nil {
		t.Fatal(err)
	}
}
