package drain

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"cmem/ingest/spool"
)

// How often the folder is looked at without a sign: beside a working watch as a
// net, and where the system grants no watch (inotify limits, some network file
// systems) as the only way.
const (
	SweepEvery = 30 * time.Second
	PollEvery  = time.Second
)

// Ticker gives a channel of ticks and a function that ends them.
type Ticker func(every time.Duration) (ticks <-chan time.Time, stop func())

// NewTicker is the clock's Ticker.
func NewTicker(every time.Duration) (<-chan time.Time, func()) {
	t := time.NewTicker(every)
	return t.C, t.Stop
}

// Watch says when there may be something in the spool. It starts no goroutine
// besides the file watcher's own, which Close ends. It belongs to one goroutine.
type Watch struct {
	dir     string
	log     *slog.Logger
	watcher *fsnotify.Watcher // nil: polling
	events  <-chan fsnotify.Event
	errs    <-chan error
	ticks   <-chan time.Time
	stop    func()
}

// NewWatch watches the spool folder dir, which must be there. It never fails:
// without a watch it polls and says so once.
func NewWatch(dir string, logger *slog.Logger, ticker Ticker) *Watch {
	return newWatch(dir, logger, ticker, fsnotify.NewWatcher)
}

func newWatch(dir string, logger *slog.Logger, ticker Ticker, open func() (*fsnotify.Watcher, error)) *Watch {
	w := &Watch{dir: dir, log: logger}
	every := SweepEvery
	if err := w.watch(open); err != nil {
		logger.Warn("spool cannot be watched, polling instead", "dir", dir, "every", PollEvery, "err", err)
		every = PollEvery
	}
	w.ticks, w.stop = ticker(every)
	return w
}

func (w *Watch) watch(open func() (*fsnotify.Watcher, error)) error {
	watcher, err := open()
	if err != nil {
		return err
	}
	if err := watcher.Add(w.dir); err != nil {
		watcher.Close()
		return err
	}
	w.watcher, w.events, w.errs = watcher, watcher.Events, watcher.Errors
	return nil
}

// Polling says whether ticks are the only sign.
func (w *Watch) Polling() bool { return w.watcher == nil }

// Wait returns nil when an entry may have come: a file appeared, signs were
// lost, nudge gave something, or it is time to sweep. Its error is the context's.
func (w *Watch) Wait(ctx context.Context, nudge <-chan struct{}) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-nudge:
			return nil
		case <-w.ticks:
			w.again()
			return nil
		case err := <-w.errs:
			w.log.Debug("spool watch", "err", err)
			return nil
		case e := <-w.events:
			if w.entry(e) {
				return nil
			}
		}
	}
}

// entry: the worker's own removals are told too, and mean nothing.
func (w *Watch) entry(e fsnotify.Event) bool {
	_, ours := spool.ParseName(filepath.Base(e.Name))
	return ours && e.Has(fsnotify.Create)
}

// again renews the watch of a folder that was taken away and made again. Adding
// a folder that is watched costs one call and changes nothing.
func (w *Watch) again() {
	if w.watcher == nil {
		return
	}
	if _, err := os.Lstat(w.dir); err != nil {
		return
	}
	if err := w.watcher.Add(w.dir); err != nil {
		w.log.Debug("spool watch cannot be renewed", "dir", w.dir, "err", err)
	}
}

// Close ends the watch; when it returns nothing of it runs.
func (w *Watch) Close() error {
	w.stop()
	if w.watcher == nil {
		return nil
	}
	return w.watcher.Close()
}
