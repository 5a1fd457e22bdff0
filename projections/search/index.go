package search

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"cmem/streams"
	"cmem/streams/durable"
)

// Index is an open search index. Query, IDs and Digest may be called from
// anywhere; Apply and Reset by one goroutine at a time. Whoever opens it closes it.
type Index struct {
	dir  string
	conf Config
	log  *slog.Logger
	lock *durable.Lock

	// mu guards store against Reset and Close: readers hold it while they use it.
	mu    sync.RWMutex
	store *store // nil: closed, or failed if err is set
	name  string // folder of the store
	err   error
}

// Open opens the index in dir, or makes a new one if dir is empty or not there.
// Errors are of the kinds above, compare with errors.Is; on any of them nothing
// that was in dir is changed.
func Open(dir string, c Config) (*Index, error) {
	x := &Index{dir: dir, conf: c, log: c.Logger}
	if x.log == nil {
		x.log = slog.New(slog.DiscardHandler)
	}
	mark, err := readMark(dir)
	if err == nil && mark != nil {
		err = mark.check(c.Version)
	}
	if err == nil {
		err = x.open(mark)
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", dir, err)
	}
	return x, nil
}

func (x *Index) open(m *mark) (err error) {
	if err := os.MkdirAll(x.dir, 0o700); err != nil {
		return err
	}
	if x.lock, err = acquire(filepath.Join(x.dir, lockName)); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, x.lock.Release())
		}
	}()
	if m == nil {
		return x.create()
	}
	x.name = m.Store
	if x.store, err = openStore(filepath.Join(x.dir, x.name)); err != nil {
		return err
	}
	if err := x.sameLog(); err != nil {
		return errors.Join(err, x.store.close())
	}
	x.clear()
	return nil
}

// acquire translates the lock's own error.
func acquire(path string) (*durable.Lock, error) {
	l, err := durable.Acquire(path)
	if errors.Is(err, durable.ErrLocked) {
		return nil, fmt.Errorf("%w: %w", ErrLocked, err)
	}
	return l, err
}

func (x *Index) sameLog() error {
	c, err := x.store.checkpoint()
	if err != nil {
		return err
	}
	if x.conf.Log != "" && c.Log != "" && c.Log != x.conf.Log {
		return fmt.Errorf("%w: %s, not %s", ErrOtherLog, c.Log, x.conf.Log)
	}
	return nil
}

// create makes an empty store and then names it. A crash before the name leaves
// a folder that clear removes.
func (x *Index) create() error {
	path, err := os.MkdirTemp(x.dir, storePrefix)
	if err != nil {
		return err
	}
	s, err := newStore(path)
	if err != nil {
		return err
	}
	if err := writeMark(x.dir, mark{Format: Format, Version: x.conf.Version, Store: filepath.Base(path)}); err != nil {
		return errors.Join(err, s.close())
	}
	x.store, x.name, x.err = s, filepath.Base(path), nil
	x.clear()
	return nil
}

// clear removes stores that are not the current one: what a crash or Reset left.
func (x *Index) clear() {
	all, _ := filepath.Glob(filepath.Join(x.dir, storePrefix+"*"))
	for _, path := range all {
		if filepath.Base(path) == x.name {
			continue
		}
		durable.Reached("search.store-cleared")
		if err := os.RemoveAll(path); err != nil {
			x.log.Warn("an old search store stays on the disk", "path", path, "error", err)
		}
	}
}

// Name is "search".
func (x *Index) Name() string { return "search" }

// Checkpoint is the last one that Apply stored, zero for an empty index.
func (x *Index) Checkpoint() (c streams.Checkpoint, err error) {
	s, done, err := x.use()
	if err != nil {
		return c, err
	}
	defer done()
	defer guard(&err)()
	return s.checkpoint()
}

// Reset empties the index. A crash leaves the old one or the empty one.
func (x *Index) Reset() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.lock == nil {
		return ErrClosed
	}
	if x.store != nil {
		if err := x.store.close(); err != nil {
			x.log.Warn("closing the search store that is thrown away", "error", err)
		}
		x.store = nil
	}
	if x.err = x.create(); x.err != nil {
		return fmt.Errorf("reset %s: %w", x.dir, x.err)
	}
	return nil
}

// Close returns when all that Open started is gone. Queries under way end first.
func (x *Index) Close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.lock == nil {
		return nil
	}
	var err error
	if x.store != nil {
		err = x.store.close()
	}
	err = errors.Join(err, x.lock.Release())
	x.store, x.lock, x.err = nil, nil, ErrClosed
	return err
}

// use gives the store until done is called.
func (x *Index) use() (s *store, done func(), err error) {
	x.again()
	x.mu.RLock()
	if x.store == nil {
		defer x.mu.RUnlock()
		return nil, nil, x.err
	}
	if err := x.store.damaged(); err != nil {
		x.mu.RUnlock()
		return nil, nil, err
	}
	return x.store, x.mu.RUnlock, nil
}

// reopen replaces a store whose last batch failed: what the batch left in memory
// is dropped, so that neither effect nor checkpoint of it shows.
func (x *Index) reopen() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.store == nil {
		return x.err
	}
	if err := x.store.close(); err != nil {
		x.log.Warn("closing the search store after a failed batch", "error", err)
	}
	x.store, x.err = openStore(filepath.Join(x.dir, x.name))
	return x.err
}

// again opens a store that a failed batch left closed, because the disk was full or
// did not let it be opened.
func (x *Index) again() {
	x.mu.RLock()
	open := x.store != nil
	x.mu.RUnlock()
	if open {
		return // who applies while it reads must not wait for itself
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.store != nil || x.lock == nil || x.err == nil || errors.Is(x.err, ErrDamaged) {
		return
	}
	durable.Reached("search.again")
	x.store, x.err = openStore(filepath.Join(x.dir, x.name))
}

// Documents is how many documents the index has.
func (x *Index) Documents() (count int, err error) {
	s, done, err := x.use()
	if err != nil {
		return 0, err
	}
	defer done()
	defer guard(&err)()
	r, err := s.reader(context.Background())
	if err != nil {
		return 0, err
	}
	defer r.Close()
	n, err := r.DocCount()
	return int(n), err
}

// The names in the directory.
const (
	markName    = "search.json"
	lockName    = "lock"
	storePrefix = "store-"
)

// Format is raised whenever the same contents would be indexed otherwise: the
// analyzer, the fields, the weights, the segment format.
const Format = 1

// mark says what made the index.
type mark struct {
	Format  int    `json:"format"`
	Version string `json:"version"`
	Store   string `json:"store"`
}

// readMark returns nil for a directory that is empty or not there.
func readMark(dir string) (*mark, error) {
	b, err := os.ReadFile(filepath.Join(dir, markName))
	if errors.Is(err, os.ErrNotExist) {
		return nil, empty(dir)
	}
	if err != nil && shortage(err.Error()) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrForeign, err)
	}
	var m mark
	if err := json.Unmarshal(b, &m); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrDamaged, markName, err)
	}
	if filepath.Base(m.Store) != m.Store || len(m.Store) <= len(storePrefix) {
		return nil, fmt.Errorf("%w: %s names no store", ErrDamaged, markName)
	}
	return &m, nil
}

// empty accepts what an interrupted Open may leave: a lock and unnamed stores.
func empty(dir string) error {
	all, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrForeign, err)
	}
	for _, e := range all {
		ours, _ := filepath.Match(storePrefix+"*", e.Name())
		temp, _ := filepath.Match(durable.TempPattern+"*", e.Name())
		if !ours && !temp && e.Name() != lockName {
			return fmt.Errorf("%w: it has no %s but %s", ErrForeign, markName, e.Name())
		}
	}
	return nil
}

func (m *mark) check(version string) error {
	if m.Format != Format || m.Version != version {
		return fmt.Errorf("%w: format %d, version %q; this is format %d, version %q", ErrVersion, m.Format, m.Version, Format, version)
	}
	return nil
}

func writeMark(dir string, m mark) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return durable.WriteFile(filepath.Join(dir, markName), append(b, '\n'), 0o600)
}
