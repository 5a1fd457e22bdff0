package transcript

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// How often the directories are walked when nothing is wrong, and when the
// system grants no watches.
const (
	SweepEvery = 30 * time.Second
	PollEvery  = 2 * time.Second
)

// Source gives notice of what changes in directories, not below them.
type Source interface {
	// Add begins to watch dir. A second time it does nothing.
	Add(dir string) error
	// Events gives paths of entries that were made or changed. It is not closed
	// before Close.
	Events() <-chan string
	// Errors gives what goes wrong in between: notices may have been lost.
	Errors() <-chan error
	Close() error
}

// WatchConfig says what to watch. Zero values mean the defaults.
type WatchConfig struct {
	// Dirs are watched with everything below them. They need not exist yet.
	Dirs []string
	// Match picks files; default all.
	Match func(path string) bool
	// Changed is called by the watcher's goroutine for each file that is there
	// at the start, is new, or changed. ctx ends with Close.
	Changed func(ctx context.Context, path string)
	// Source opens the source of notices; default the system's.
	Source func() (Source, error)
	// Ticker gives ticks at an interval and a function that ends them; default
	// the clock's.
	Ticker func(every time.Duration) (ticks <-chan time.Time, stop func())
}

// WatchState is what there is to say of a Watcher.
type WatchState struct {
	Degraded string // why files are polled and not watched; "" they are watched
	Dirs     int    // directories that are watched
	Files    int    // files known
	Sweeps   int    // walks through all directories
}

// Watcher tells which files changed. It has one goroutine, which Watch starts
// and Close ends.
type Watcher struct {
	cfg    WatchConfig
	log    *slog.Logger
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}
	closed error // of the source; good after done

	// Of the goroutine.
	source  Source // nil: none could be opened
	files   map[string]stamp
	watched map[string]bool
	ticks   <-chan time.Time
	stop    func()
	refused error // the latest watch that was not granted

	mu    sync.Mutex
	state WatchState
}

// stamp tells one content of a file from another.
type stamp struct {
	size  int64
	mtime time.Time
}

// Watch begins to watch. It fails only if there is nothing to call.
func Watch(log *slog.Logger, cfg WatchConfig) (*Watcher, error) {
	if cfg.Changed == nil {
		return nil, errors.New("transcript: watch: nothing to call")
	}
	if cfg.Match == nil {
		cfg.Match = func(string) bool { return true }
	}
	if cfg.Source == nil {
		cfg.Source = systemSource
	}
	if cfg.Ticker == nil {
		cfg.Ticker = clockTicker
	}
	w := &Watcher{cfg: cfg, log: log, done: make(chan struct{}), files: map[string]stamp{}, watched: map[string]bool{}}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	go w.run()
	return w, nil
}

// State says how watching goes.
func (w *Watcher) State() WatchState {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state
}

// Close ends the watcher and returns when its goroutine is gone.
func (w *Watcher) Close() error {
	w.cancel()
	<-w.done
	return w.closed
}

func (w *Watcher) run() {
	defer close(w.done)
	w.ticks, w.stop = w.cfg.Ticker(SweepEvery)
	defer func() { w.stop() }()
	defer func() {
		if w.source != nil {
			w.closed = w.source.Close()
		}
	}()
	for w.sweep(); w.step(); {
	}
}

// step waits for one thing and deals with it; false: the end.
func (w *Watcher) step() bool {
	var events <-chan string
	var failures <-chan error
	if w.source != nil {
		events, failures = w.source.Events(), w.source.Errors()
	}
	select {
	case <-w.ctx.Done():
		return false
	case path := <-events:
		for _, p := range pending(path, events) {
			w.noticed(p)
		}
	case err := <-failures:
		// Notices may be lost: look at everything.
		w.log.Warn("transcript watch", "err", err)
		w.sweep()
	case <-w.ticks:
		w.sweep()
	}
	return true
}

// pending takes what is waiting in events, each path once, in order of the
// first notice.
func pending(first string, events <-chan string) []string {
	paths := []string{first}
	seen := map[string]bool{first: true}
	for len(paths) < 4096 {
		select {
		case p := <-events:
			if !seen[p] {
				seen[p] = true
				paths = append(paths, p)
			}
		default:
			return paths
		}
	}
	return paths
}

// noticed deals with one path of which something is known to have changed.
func (w *Watcher) noticed(path string) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		delete(w.files, path)
		delete(w.watched, path)
	case info.IsDir():
		delete(w.watched, path) // it may be another one of the same name
		if w.enter(path); w.refused != nil {
			w.degrade(w.refused)
		}
	case info.Mode().IsRegular() && w.cfg.Match(path):
		w.files[path] = stampOf(info)
		w.tell(path)
	}
	w.count()
}

// sweep walks all directories: it finds what no notice told of, and watches
// what is not watched yet.
func (w *Watcher) sweep() {
	if w.refused = nil; w.source == nil {
		w.source, w.refused = w.open()
	}
	for path := range w.files {
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			delete(w.files, path)
		}
	}
	for dir := range w.watched {
		if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
			delete(w.watched, dir)
		}
	}
	for _, dir := range w.cfg.Dirs {
		w.enter(dir)
	}
	w.degrade(w.refused)
	w.count()
	w.mu.Lock()
	w.state.Sweeps++ // last: who sees it sees what the sweep found
	w.mu.Unlock()
}

func (w *Watcher) open() (Source, error) {
	source, err := w.cfg.Source()
	if err != nil {
		return nil, err
	}
	return source, nil
}

// enter watches dir and then looks at what is in it, in this order: what is
// made in between is told or found, or both.
func (w *Watcher) enter(dir string) {
	if w.ctx.Err() != nil {
		return
	}
	w.add(dir)
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.log.Warn("transcript folder cannot be read", "dir", dir, "err", err)
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if e.IsDir() {
			w.enter(path)
			continue
		}
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && w.cfg.Match(path) {
			w.look(path, stampOf(info))
		}
	}
}

func (w *Watcher) add(dir string) {
	if w.source == nil || w.watched[dir] {
		return
	}
	switch err := w.source.Add(dir); {
	case err == nil:
		w.watched[dir] = true
	case !errors.Is(err, fs.ErrNotExist):
		w.refused = err
	}
}

// look tells of a file that is new or differs from what is known of it.
func (w *Watcher) look(path string, now stamp) {
	if known, ok := w.files[path]; ok && known == now {
		return
	}
	w.files[path] = now
	w.tell(path)
}

func (w *Watcher) tell(path string) {
	if w.ctx.Err() == nil {
		w.cfg.Changed(w.ctx, path)
	}
}

// degrade notes why files are polled; nil: they are watched again.
func (w *Watcher) degrade(err error) {
	reason := ""
	if err != nil {
		reason = err.Error()
	}
	w.mu.Lock()
	before := w.state.Degraded
	w.state.Degraded = reason
	w.mu.Unlock()
	if (before == "") == (reason == "") {
		return
	}
	w.stop()
	if err == nil {
		w.ticks, w.stop = w.cfg.Ticker(SweepEvery)
		return
	}
	w.ticks, w.stop = w.cfg.Ticker(PollEvery)
	w.log.Warn("transcripts cannot be watched, polling instead", "every", PollEvery, "err", err)
}

func (w *Watcher) count() {
	w.mu.Lock()
	w.state.Dirs, w.state.Files = len(w.watched), len(w.files)
	w.mu.Unlock()
}

func stampOf(info fs.FileInfo) stamp { return stamp{info.Size(), info.ModTime()} }

func clockTicker(every time.Duration) (<-chan time.Time, func()) {
	t := time.NewTicker(every)
	return t.C, t.Stop
}
