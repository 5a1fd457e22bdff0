//go:build unix

package acceptance

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"cmem/cmd/internal/api"
)

// canaries lists the files of the data folder that hold word.
func (h *house) canaries(word string) (found []string) {
	h.t.Helper()
	err := filepath.WalkDir(string(h.dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(word)) {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return found
}

// TestASavedNoteKeepsNothingPrivate, not in its project's name either.
func TestASavedNoteKeepsNothingPrivate(t *testing.T) {
	h := newHouse(t)
	for _, r := range []api.SaveRequest{
		{Text: "note <private>CANARY-1</private> text", Title: "<private>CANARY-1</private>"},
		{Text: "a note", Project: "work<private>CANARY-1</private>"},
	} {
		if _, err := h.node.Save(context.Background(), r); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.node.Save(context.Background(), api.SaveRequest{Text: "x", Project: "<private>CANARY-1</private>"}); err == nil {
		t.Error("a project without a name was taken")
	}
	h.close()
	if found := h.canaries("CANARY-1"); len(found) > 0 {
		t.Errorf("private text is in %v", found)
	}
}

// TestWhatIsNoTranscriptDoesNotHoldUpAReplay: a pipe, a folder without any, a
// file of zeros; the others are read.
func TestWhatIsNoTranscriptDoesNotHoldUpAReplay(t *testing.T) {
	h := newHouse(t)
	dir := t.TempDir()
	pipe, zeros := filepath.Join(dir, "pipe.jsonl"), filepath.Join(dir, "zeros.jsonl")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(zeros, make([]byte, 5000), 0o600); err != nil {
		t.Fatal(err)
	}
	r := h.replay(pipe, zeros, fixture("claude-code", "g01-claude-code.jsonl"))
	if r.Failed() != 2 || r.Total.New == 0 || !strings.Contains(r.Files[0].Error, "not a regular file") {
		t.Errorf("got %+v", r)
	}
}
