package drain

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"go.uber.org/goleak"

	"cmem/ingest/spool"
	"cmem/streams/envelope"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// handTicker ticks when the test says so.
type handTicker struct {
	ticks chan time.Time
	every time.Duration
}

func (h *handTicker) start(every time.Duration) (<-chan time.Time, func()) {
	h.every = every
	return h.ticks, func() {}
}

func newTestWatch(t *testing.T, open func() (*fsnotify.Watcher, error)) (*Watch, *handTicker, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "spool")
	if err := spool.Make(dir); err != nil {
		t.Fatal(err)
	}
	h := &handTicker{ticks: make(chan time.Time, 1)}
	w := newWatch(dir, slog.New(slog.DiscardHandler), h.start, open)
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w, h, dir
}

func wait(t *testing.T, w *Watch, nudge <-chan struct{}) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := w.Wait(ctx, nudge); err != nil {
		t.Fatal(err)
	}
}

func TestWatchTellsOfAnEntry(t *testing.T) {
	w, h, dir := newTestWatch(t, fsnotify.NewWatcher)
	if w.Polling() || h.every != SweepEvery {
		t.Errorf("polling %v every %v", w.Polling(), h.every)
	}
	e := envelope.Envelope{ID: "x", Type: "t", Source: "s", Time: time.Now(), Body: []byte("{}")}
	if _, err := spool.Put(dir, e); err != nil {
		t.Fatal(err)
	}
	wait(t, w, nil)
}

// TestWatchSurvivesANewFolder: taken away and made again, it is found at the
// next sweep.
func TestWatchSurvivesANewFolder(t *testing.T) {
	w, h, dir := newTestWatch(t, fsnotify.NewWatcher)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	h.ticks <- time.Time{}
	wait(t, w, nil)
	if err := spool.Make(dir); err != nil {
		t.Fatal(err)
	}
	h.ticks <- time.Time{}
	wait(t, w, nil)
	e := envelope.Envelope{ID: "x", Type: "t", Source: "s", Time: time.Now(), Body: []byte("{}")}
	if _, err := spool.Put(dir, e); err != nil {
		t.Fatal(err)
	}
	wait(t, w, nil)
}

func TestNoWatchToBeHad(t *testing.T) {
	for _, limit := range []error{syscall.ENOSPC, syscall.EMFILE} {
		w, h, _ := newTestWatch(t, func() (*fsnotify.Watcher, error) { return nil, limit })
		if !w.Polling() || h.every != PollEvery {
			t.Errorf("%v: polling %v every %v", limit, w.Polling(), h.every)
		}
		h.ticks <- time.Time{}
		wait(t, w, nil)
	}
}

func TestNudgeAndCancel(t *testing.T) {
	w, _, _ := newTestWatch(t, fsnotify.NewWatcher)
	nudge := make(chan struct{}, 1)
	nudge <- struct{}{}
	wait(t, w, nudge)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Wait(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
