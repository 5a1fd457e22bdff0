// Package spool hands events over from hooks to the worker, one file each.
//
// Promise: when Put returns nil the event is on disk under its final name, the
// file and the folder synced; when it returns an error, or the process is
// killed inside it, no file of that name exists or a whole one does. Two
// processes that arrive at one name (containers that share a home) say the same.
//
//	spool/<capture ns>-<pid>-<hash>.json   one structured CloudEvent, one line
//	spool/tmp/                             files being written; swept when old
//	spool/corrupt/                         entries that are no event; never deleted
//	spool/held/                            entries the log refused for 7 days
//	spool/failed.json                      name → first refusal (package drain)
//
// The capture time has 19 digits, so that names sort by it. A name tells when,
// not what: the event's identity is in the file. Package drain reads the folder;
// it is apart because the hook publisher must not link a file watcher.
// Standard library only, besides envelope and durable.
package spool

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"cmem/streams/durable"
	"cmem/streams/envelope"
)

// The folders inside a spool.
const (
	TempDir    = "tmp"
	CorruptDir = "corrupt"
	HeldDir    = "held"
)

// suffix ends the name of every entry.
const suffix = ".json"

// Name is an entry's file name, taken apart.
type Name struct {
	Captured time.Time // when the hook process started
	PID      int
	Hash     string // 16 hex digits
}

// String gives the file name.
func (n Name) String() string {
	return fmt.Sprintf("%019d-%d-%s%s", n.Captured.UnixNano(), n.PID, n.Hash, suffix)
}

// ParseName takes a file name apart; false for names that Put never gives.
func ParseName(name string) (Name, bool) {
	stem, ok := strings.CutSuffix(name, suffix)
	parts := strings.Split(stem, "-")
	if !ok || len(parts) != 3 || len(parts[0]) != 19 || len(parts[2]) != 16 {
		return Name{}, false
	}
	ns, err := strconv.ParseUint(parts[0], 10, 63)
	pid, err2 := strconv.ParseUint(parts[1], 10, 31)
	_, err3 := hex.DecodeString(parts[2])
	if errors.Join(err, err2, err3) != nil {
		return Name{}, false
	}
	return Name{Captured: time.Unix(0, int64(ns)), PID: int(pid), Hash: parts[2]}, true
}

// Put writes e into the spool folder dir, which it makes where it is missing,
// and returns the name it got. On return with nil the event survives a power
// cut. e.Time is the capture time. Errors are the file system's, with the path.
func Put(dir string, e envelope.Envelope) (string, error) {
	line, err := envelope.MarshalLine(e)
	if err != nil {
		return "", fmt.Errorf("spool: %s: %w", e.ID, err)
	}
	if err := durable.Failpoint("spool.put"); err != nil {
		return "", fmt.Errorf("spool: %w", err)
	}
	name := Name{Captured: captured(e), PID: os.Getpid(), Hash: hash(e)}.String()
	tmp, err := writeTemp(dir, name, line)
	if err != nil {
		return "", fmt.Errorf("spool: %w", err)
	}
	// Killed before the next line: a temporary file that is swept, no event.
	if err := os.Rename(tmp, filepath.Join(dir, name)); err != nil {
		os.Remove(tmp)
		return "", fmt.Errorf("spool: %w", err)
	}
	// Killed from here on: the event is there; only a power cut may undo the
	// rename, and then the hook had not said that it was done.
	if err := errors.Join(durable.Failpoint("spool.renamed"), durable.SyncDir(dir)); err != nil {
		return "", fmt.Errorf("spool: %w", err)
	}
	return name, durable.Failpoint("spool.done")
}

// captured keeps the time within what 19 digits can say.
func captured(e envelope.Envelope) time.Time {
	if ns := e.Time.UnixNano(); e.Time.IsZero() || ns < 0 {
		return time.Unix(0, 0)
	}
	return e.Time
}

// hash names the words; without a digest, the id.
func hash(e envelope.Envelope) string {
	if _, err := hex.DecodeString(e.Digest); err == nil && len(e.Digest) == 16 {
		return e.Digest
	}
	sum := sha256.Sum256([]byte(e.ID))
	return hex.EncodeToString(sum[:8])
}

// writeTemp writes and syncs tmp/name. It leaves nothing behind on error.
func writeTemp(dir, name string, line []byte) (path string, err error) {
	f, err := create(dir, name)
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if err = durable.Failpoint("spool.created"); err != nil {
		return "", err
	}
	if _, err = f.Write(line); err != nil {
		return "", err
	}
	if err = durable.Failpoint("spool.written"); err != nil {
		return "", err
	}
	if err = f.Sync(); err != nil {
		return "", err
	}
	if err = durable.Failpoint("spool.synced"); err != nil {
		return "", err
	}
	return f.Name(), f.Close()
}

// create opens a new file under tmp. The folders are made on the way, once in a
// home's life, so that the usual case costs one call.
func create(dir, name string) (*os.File, error) {
	f, err := openNew(dir, name)
	if errors.Is(err, fs.ErrNotExist) {
		if err := Make(dir); err != nil {
			return nil, err
		}
		f, err = openNew(dir, name)
	}
	return f, err
}

// openNew never opens a file that is there: containers that share a home may
// share process ids too, and a name can be left over from a killed process.
func openNew(dir, name string) (*os.File, error) {
	base := filepath.Join(dir, TempDir, name)
	for n := 0; ; n++ {
		path := base
		if n > 0 {
			path += "." + strconv.Itoa(n)
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if n == 100 || !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}

// Make makes the spool folder, for the owner only, and syncs the folders above
// it, so that a power cut cannot take a whole new spool away.
func Make(dir string) error {
	if err := os.MkdirAll(filepath.Join(dir, TempDir), 0o700); err != nil {
		return err
	}
	for _, d := range []string{dir, filepath.Dir(dir), filepath.Dir(filepath.Dir(dir))} {
		if err := durable.SyncDir(d); err != nil && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	return nil
}
