//go:build unix

package project

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A pipe where git keeps a file must not hold the hook up: Find returns.
func TestPipes(t *testing.T) {
	for _, name := range []string{".git", ".git/HEAD", ".git/config", ".git/packed-refs"} {
		repo := newRepo(t, folder(t), "repo")
		path := filepath.Join(repo, name)
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		check(t, "key with a pipe as "+name, Find(repo).Key(), filepath.ToSlash(repo))
	}
}
