package streams

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cmem/streams/durable"
)

const (
	formatName    = "cmem log"
	formatVersion = 1
	streamName    = "cmem"
)

// layout is where things lie in a log's folder.
type layout struct{ dir string }

func (l layout) lock() string     { return filepath.Join(l.dir, "lock") }
func (l layout) identity() string { return filepath.Join(l.dir, "identity.json") }
func (l layout) clean() string    { return filepath.Join(l.dir, "clean") }
func (l layout) nets() string     { return filepath.Join(l.dir, "net") }
func (l layout) store() string    { return filepath.Join(l.dir, "jetstream") }

// stream is the server's folder of our stream; its layout below is private to
// the server, whose version is pinned.
func (l layout) stream() string {
	return filepath.Join(l.store(), "$G", "streams", streamName)
}

// mayWrite says whether the folders that an append writes to let us. It asks the
// system and touches nothing.
func (l layout) mayWrite() error {
	if err := durable.CheckAccess(l.dir); err != nil {
		return err
	}
	return durable.CheckAccess(filepath.Join(l.stream(), "msgs"))
}

// mayUse says whether the server can read and write all of the stream. It takes a
// file that it may not read for one that is gone.
func (l layout) mayUse() error {
	for _, dir := range []string{l.dir, l.store(), l.stream(), filepath.Join(l.stream(), "msgs")} {
		entries, err := os.ReadDir(dir)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err == nil {
			err = durable.CheckAccess(dir)
		}
		if err != nil {
			return err
		}
		for _, e := range entries {
			if !e.Type().IsRegular() {
				continue
			}
			f, err := os.OpenFile(filepath.Join(dir, e.Name()), os.O_RDWR, 0)
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
			if err == nil {
				f.Close()
			}
		}
	}
	return nil
}

// resync makes what is read of the newest blocks what the disk has. Older ones were
// synced before the next was begun.
func (l layout) resync() error {
	names, err := l.blocks()
	if err != nil {
		return err
	}
	for _, name := range names[max(0, len(names)-2):] {
		if err := durable.Resync(l.block(name)); err != nil {
			return err
		}
	}
	return nil
}

// identity is the content of identity.json. Unknown members mean a newer version
// only if Version says so.
type identity struct {
	Format  string    `json:"format"`
	Version int       `json:"version"`
	Log     string    `json:"log"` // 32 hex digits
	Made    time.Time `json:"made"`
	Stream  bool      `json:"stream"` // the stream was made: its absence is an alarm
}

// check refuses a folder that is not ours, and changes nothing in it.
func (l layout) check() error {
	entries, err := os.ReadDir(l.dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	known := slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == filepath.Base(l.identity()) })
	if known {
		_, err := l.readIdentity()
		return err
	}
	for _, e := range entries {
		name := e.Name()
		if name != filepath.Base(l.lock()) && !strings.HasPrefix(name, durable.TempPattern) {
			return fmt.Errorf("%s has %q and no identity.json: %w", l.dir, name, ErrForeign)
		}
	}
	return nil
}

func (l layout) readIdentity() (id identity, err error) {
	data, err := os.ReadFile(l.identity())
	if err != nil {
		return id, fmt.Errorf("open log: %w", err)
	}
	if err := json.Unmarshal(data, &id); err != nil || id.Format != formatName || id.Version < 1 {
		return id, fmt.Errorf("%s does not name a log: %w", l.identity(), ErrForeign)
	}
	if id.Version > formatVersion {
		return id, fmt.Errorf("%s has version %d, this is version %d: %w", l.dir, id.Version, formatVersion, ErrNewer)
	}
	if id.Log == "" {
		return id, fmt.Errorf("%s does not name a log: %w", l.identity(), ErrForeign)
	}
	return id, nil
}

func (l layout) hasIdentity() bool {
	_, err := os.Stat(l.identity())
	return err == nil
}

// makeIdentity names a new log, or reads the name of one that is there. The
// lock is held.
func (l layout) makeIdentity(now time.Time) (id identity, created bool, err error) {
	if l.hasIdentity() {
		id, err = l.readIdentity()
		return id, false, err
	}
	var name [16]byte
	rand.Read(name[:])
	id = identity{Format: formatName, Version: formatVersion, Log: hex.EncodeToString(name[:]), Made: now.UTC().Truncate(time.Second)}
	return id, true, l.writeIdentity(id)
}

func (l layout) writeIdentity(id identity) error {
	return writeJSON(l.identity(), id)
}

// cleanMark is what Close leaves: where the log ended.
type cleanMark struct {
	Log      string   `json:"log"`
	Sequence uint64   `json:"sequence"` // of the last message
	Position Position `json:"position"` // of the last value
	Chain    string   `json:"chain"`
}

// takeClean reads the mark and removes it, durably: from here to the next Close
// a start without a mark is unclean.
func (l layout) takeClean(id identity) (mark cleanMark, ok bool, err error) {
	data, err := os.ReadFile(l.clean())
	if errors.Is(err, os.ErrNotExist) {
		return mark, false, nil
	}
	if err != nil {
		return mark, false, err
	}
	ok = json.Unmarshal(data, &mark) == nil && mark.Log == id.Log
	return mark, ok, durable.Remove(l.clean())
}

func writeJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "\t")
	if err != nil {
		return err
	}
	return durable.WriteFile(path, append(data, '\n'), 0o600)
}
