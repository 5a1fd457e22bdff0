package durable

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// ErrLocked: another process holds the lock. The error is a *LockedError.
var ErrLocked = errors.New("locked by another process")

// Holder is what a lock file says of the process that wrote it. It is text for
// a message: only the lock itself says whether anybody holds it.
type Holder struct {
	Host  string    `json:"host"`
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
}

// String names the holder in a sentence.
func (h Holder) String() string {
	if h.PID == 0 {
		return "an unnamed process"
	}
	return fmt.Sprintf("process %d on %s since %s", h.PID, h.Host, h.Since.Format(time.RFC3339))
}

// LockedError says who holds a lock. It is an ErrLocked.
type LockedError struct {
	Path   string
	Holder Holder
}

func (e *LockedError) Error() string {
	return fmt.Sprintf("%s is held by %s", e.Path, e.Holder)
}

func (e *LockedError) Unwrap() error { return ErrLocked }

// Lock is an exclusive lock on a file. The system releases it when the process
// ends in any way; the file stays and means nothing.
type Lock struct{ f *os.File }

// beat is how old the last sign of life of a holder on another machine may be. A
// lock of the system says nothing of those where the folder is on a network.
const beat = 2 * time.Minute

// Beat gives a sign of life for machines that share the folder over a network. To be
// called more often than every two minutes while the lock is held.
func (l *Lock) Beat() error {
	now := time.Now()
	return os.Chtimes(l.f.Name(), now, now)
}

// elsewhere says whether a process on another machine holds the lock: its name is in
// the file, and the file was touched a moment ago.
func (l *Lock) elsewhere(h Holder, now time.Time) bool {
	host, err := os.Hostname()
	info, err2 := l.f.Stat()
	return err == nil && err2 == nil && h.PID != 0 && h.Host != host && now.Sub(info.ModTime()) < beat
}

// Acquire takes the lock at path, creating the file if there is none, and writes
// this process into it. It never waits: if another process (or another Lock of
// this one) holds it, or one on another machine gave a sign of life within two
// minutes (Beat), the error is a *LockedError. The file is never removed.
func Acquire(path string) (*Lock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	switch err := lockFile(f); {
	case errors.Is(err, errWouldBlock):
		return nil, errors.Join(&LockedError{Path: path, Holder: readHolder(path)}, f.Close())
	case err != nil:
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
	}
	l := &Lock{f: f}
	h := readHolder(path)
	if l.elsewhere(h, time.Now()) {
		return nil, errors.Join(&LockedError{Path: path, Holder: h}, l.giveBack())
	}
	if h.PID != 0 {
		Reached("lock.of-the-dead")
	}
	if err := l.sign(); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), l.Release())
	}
	return l, nil
}

// ErrExchanged: the lock's file is not at its path any more.
var ErrExchanged = errors.New("its folder was deleted or exchanged")

// Check says whether the lock still locks what others would open: ErrExchanged if
// its file was deleted, or another one lies at its path. It costs one stat.
func (l *Lock) Check() error {
	own, err := l.f.Stat()
	if err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	there, err := os.Stat(l.f.Name())
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(own, there) {
		return fmt.Errorf("%s: %w", l.f.Name(), ErrExchanged)
	}
	return err
}

// sign writes the holder. It is not synced: it is for the living only.
func (l *Lock) sign() error {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	text, err := json.Marshal(Holder{Host: host, PID: os.Getpid(), Since: time.Now().UTC().Truncate(time.Second)})
	if err != nil {
		return err
	}
	if err := l.f.Truncate(0); err != nil {
		return err
	}
	_, err = l.f.WriteAt(append(text, '\n'), 0)
	return err
}

// Release gives the lock back. A second call does nothing.
func (l *Lock) Release() error {
	if l.f == nil {
		return nil
	}
	// A folder that is moved to another machine is nobody's.
	return errors.Join(l.f.Truncate(0), l.giveBack())
}

func (l *Lock) giveBack() error {
	f := l.f
	l.f = nil
	return errors.Join(unlockFile(f), f.Close())
}

// readHolder: whatever can be read; a lock just taken may not be signed yet.
func readHolder(path string) (h Holder) {
	text, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(text, &h) != nil {
		return Holder{}
	}
	return h
}
