package contextcache

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"cmem/projections"
	"cmem/projections/records"
	"cmem/streams"
	"cmem/streams/durable"
)

// What Open can say; compare with errors.Is. On any of them nothing was changed.
var (
	// ErrVersion: another version made the state. Build it again.
	ErrVersion = errors.New("contextcache: made by another version")
	// ErrOtherLog: the state belongs to another log. Build it again.
	ErrOtherLog = errors.New("contextcache: made from another log")
	// ErrDamaged: the state cannot be read. Build it again.
	ErrDamaged = errors.New("contextcache: the state is damaged")
)

// Config says what a cache writes, from what, and where.
type Config struct {
	Reader Reader // required
	// Path is where the text of a project for a host goes; required.
	Path    func(project, host string) string
	Hosts   []Host // one text for each
	Zone    *time.Location
	Limits  Limits
	Full    int // as in Options
	Version string
	Log     string // identity of the log; "" accepts any
	// Now tells the age of files. Nil: every marked text is written again, also
	// an unchanged one.
	Now    func() time.Time
	Logger *slog.Logger // nil: silent
}

// Host is one that gets texts.
type Host struct {
	Name     string
	MaxBytes int // 0 is DefaultMaxBytes
}

// keepFresh is the age from which an unchanged text is written again, so that
// its time says that it is known to be right: half of the day that the hook
// takes a text for fresh.
const keepFresh = 12 * time.Hour

// Cache is an open cache. Its methods may be called from anywhere.
type Cache struct {
	path string
	conf Config
	log  *slog.Logger

	mu    sync.Mutex
	state state
}

var _ projections.Model[records.Change] = (*Cache)(nil)

// Open reads the state at path, or begins with none. It starts nothing.
func Open(path string, c Config) (*Cache, error) {
	x := &Cache{path: path, conf: c, log: c.Logger}
	if x.log == nil {
		x.log = slog.New(slog.DiscardHandler)
	}
	var err error
	if x.state, err = readState(path, c.Version, c.Log); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return x, nil
}

// Close has nothing to release; marks stay for the next one.
func (x *Cache) Close() error { return nil }

// Name is "context".
func (x *Cache) Name() string { return "context" }

// Checkpoint is the last one that Apply stored.
func (x *Cache) Checkpoint() (streams.Checkpoint, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.state.Checkpoint, nil
}

// Apply marks the projects whose context may have changed. On return the marks
// and upto are on the disk; the texts are written by Flush.
func (x *Cache) Apply(changes []records.Change, upto streams.Checkpoint) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	dirty := map[string]bool{}
	for _, k := range x.state.Dirty {
		dirty[k] = true
	}
	for _, ch := range changes {
		shown, err := isShown(ch.Kind)
		if err != nil {
			return fmt.Errorf("change at %d: %w", ch.Position, err)
		}
		if shown {
			dirty[ch.Project], dirty[ch.From] = true, true
		}
	}
	delete(dirty, "")
	return x.save(upto, dirty)
}

// isShown: contexts are made of observations and summaries.
func isShown(k records.DocKind) (bool, error) {
	switch k {
	case records.ObservationDoc, records.SummaryDoc:
		return true, nil
	case records.PromptDoc, records.TextDoc, records.TurnDoc:
		return false, nil
	}
	return false, fmt.Errorf("no such kind of document: %q", k)
}

func (x *Cache) save(upto streams.Checkpoint, dirty map[string]bool) error {
	s := state{Format: format, Version: x.conf.Version, Checkpoint: upto, Dirty: slices.Sorted(maps.Keys(dirty))}
	if err := writeState(x.path, s); err != nil {
		return err
	}
	x.state = s
	return nil
}

// Reset forgets the checkpoint and the marks. Texts stay until what is applied
// again replaces or removes them.
func (x *Cache) Reset() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := durable.Remove(x.path); err != nil {
		return fmt.Errorf("contextcache: reset: %w", err)
	}
	x.state = state{}
	return nil
}

// Dirty says whether there is something to flush.
func (x *Cache) Dirty() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.state.Dirty) > 0
}

// Flush renders the marked projects, and the worktrees of those that are
// repositories, and then takes their marks away. A text that did not change is
// left as it is while it is younger than twelve hours, else written again for its
// time's sake; a project with nothing to tell has no file. On an error some texts
// are written, and the marks stay. Whoever drives the cache waits a moment after
// the last change (the worker: 2 s) and calls it.
func (x *Cache) Flush() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.state.Dirty) == 0 {
		return nil
	}
	all, err := x.conf.Reader.Projects()
	if err != nil {
		return fmt.Errorf("contextcache: projects: %w", err)
	}
	marked := slices.Clone(x.state.Dirty)
	for _, p := range all {
		if p.Parent != "" && slices.Contains(x.state.Dirty, p.Parent) {
			marked = append(marked, p.Key)
		}
	}
	if err := x.write(marked); err != nil {
		return err
	}
	// Dying here leaves the marks: the same texts are written again.
	return x.save(x.state.Checkpoint, nil)
}

// Renew writes all projects' texts that are twelve hours old or are not there,
// so that a project in which nothing happens keeps a fresh one. The worker calls
// it at its start and every few hours.
func (x *Cache) Renew() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	all, err := x.conf.Reader.Projects()
	if err != nil {
		return fmt.Errorf("contextcache: projects: %w", err)
	}
	var keys []string
	for _, p := range all {
		keys = append(keys, p.Key)
	}
	return x.write(keys)
}

func (x *Cache) write(keys []string) error {
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		v, err := Collect(x.conf.Reader, []string{key}, x.conf.Limits)
		if err != nil {
			return err
		}
		for _, h := range x.conf.Hosts {
			text := Render(v, Options{Host: h.Name, Zone: x.conf.Zone, MaxBytes: cmp.Or(h.MaxBytes, DefaultMaxBytes), Full: x.conf.Full})
			if err := x.put(x.conf.Path(key, h.Name), text); err != nil {
				return fmt.Errorf("contextcache: text of %s for %s: %w", key, h.Name, err)
			}
		}
	}
	return nil
}

// put makes the file at path hold text, or takes it away.
func (x *Cache) put(path, text string) error {
	if text == "" {
		return durable.Remove(path)
	}
	if x.isFresh(path, text) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := durable.Failpoint("context.write"); err != nil {
		return err
	}
	return errors.Join(durable.WriteFile(path, []byte(text), 0o600), durable.Failpoint("context.written"))
}

func (x *Cache) isFresh(path, text string) bool {
	if x.conf.Now == nil {
		return false
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() != int64(len(text)) {
		return false
	}
	age := x.conf.Now().Sub(info.ModTime())
	if age < 0 || age >= keepFresh {
		return false
	}
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		x.log.Warn("a context could not be read and is written again", "path", path, "error", err)
	}
	return err == nil && bytes.Equal(old, []byte(text))
}
