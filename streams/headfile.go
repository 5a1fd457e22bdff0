package streams

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"cmem/streams/durable"
)

// headFile remembers, outside of the log's folder, how far the log came: a log
// that is shorter than that lost something. It is written after each append and
// not synced: a kill does not lose it, and after a power failure it may be a
// little behind, never ahead.
type headFile struct{ file *os.File }

// seenHead is what it says.
type seenHead struct {
	log      string
	sequence uint64
}

func openHeadFile(path string) (*headFile, error) {
	if path == "" {
		return nil, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return &headFile{f}, nil
}

func (h *headFile) close() error {
	if h == nil {
		return nil
	}
	return h.file.Close()
}

// set notes the end. One write of one short line: a kill leaves the old or the
// new one.
func (h *headFile) set(log string, sequence uint64) error {
	if h == nil {
		return nil
	}
	if err := durable.Failpoint("head.set"); err != nil {
		return err
	}
	line := fmt.Sprintf("%s %020d ", log, sequence)
	_, err := h.file.WriteAt([]byte(line+lineCheck(line)+"\n"), 0)
	return errors.Join(err, durable.Failpoint("head.done"))
}

// readHeadFile gives what the file at path says; ok is false if it says nothing
// that can be trusted.
func readHeadFile(path string) (seen seenHead, ok bool, err error) {
	data, err := os.ReadFile(path)
	if path == "" || errors.Is(err, fs.ErrNotExist) {
		return seen, false, nil
	}
	if err != nil {
		return seen, false, err
	}
	line, _, _ := strings.Cut(string(data), "\n")
	var check string
	if _, err := fmt.Sscanf(line, "%s %d %s", &seen.log, &seen.sequence, &check); err != nil {
		return seenHead{}, false, nil
	}
	if !strings.HasSuffix(line, lineCheck(strings.TrimSuffix(line, check))) {
		return seenHead{}, false, nil
	}
	return seen, true, nil
}

func lineCheck(line string) string {
	sum := sha256.Sum256([]byte(line))
	return hex.EncodeToString(sum[:4])
}
