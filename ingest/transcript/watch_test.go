package transcript

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stub is a Source that fires only what a test sends.
type stub struct {
	mu     sync.Mutex
	refuse error
	events chan string
	errs   chan error
}

func newStub() *stub { return &stub{events: make(chan string), errs: make(chan error)} }

func (s *stub) Add(dir string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := os.Stat(dir); err != nil {
		return err
	}
	return s.refuse
}

func (s *stub) set(err error) { s.mu.Lock(); s.refuse = err; s.mu.Unlock() }

func (s *stub) Events() <-chan string { return s.events }
func (s *stub) Errors() <-chan error  { return s.errs }
func (s *stub) Close() error          { return nil }

// scene is a watcher whose ticks a test gives.
type scene struct {
	*Watcher
	dir     string
	changed chan string
	ticks   chan time.Time
	given   int // ticks
	every   chan time.Duration
}

func watch(t *testing.T, source func() (Source, error)) *scene {
	t.Helper()
	s := &scene{dir: t.TempDir(), changed: make(chan string, 10_000), ticks: make(chan time.Time), every: make(chan time.Duration, 100)}
	w, err := Watch(slog.New(slog.NewTextHandler(io.Discard, nil)), WatchConfig{
		Dirs:    []string{s.dir, filepath.Join(s.dir, "not", "there")},
		Match:   func(path string) bool { return strings.HasSuffix(path, ".jsonl") },
		Changed: func(_ context.Context, path string) { s.changed <- path },
		Source:  source,
		Ticker: func(every time.Duration) (<-chan time.Time, func()) {
			s.every <- every
			return s.ticks, func() {}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	s.Watcher = w
	return s
}

// sweepNow gives a tick and returns when its sweep is over, so that what a test does
// next is met by none that is still on its way: one sweep is the watcher's own, and
// each tick has one.
func (s *scene) sweepNow() {
	s.given++
	s.ticks <- time.Time{}
	for s.State().Sweeps < 1+s.given {
		runtime.Gosched()
	}
}

func (s *scene) file(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, path, []byte(name))
	return path
}

// await waits until path is told of.
func (s *scene) await(t *testing.T, path string) {
	t.Helper()
	for {
		select {
		case got := <-s.changed:
			if got == path {
				return
			}
		case <-t.Context().Done():
			t.Fatalf("%s was never told of", path)
		}
	}
}

func noWatchesLeft(t *testing.T) {
	for _, refusal := range []error{syscall.ENOSPC, syscall.EMFILE} {
		source := newStub()
		source.set(refusal)
		s := watch(t, func() (Source, error) { return source, nil })
		s.sweepNow()
		if got := s.State(); got.Degraded != refusal.Error() || got.Dirs != 0 {
			t.Errorf("%v: state %+v", refusal, got)
		}
		path := s.file(t, "a/b.jsonl")
		s.sweepNow()
		s.await(t, path)
		appendTo(t, path, []byte("more"))
		s.sweepNow()
		s.await(t, path)
		source.set(nil)
		s.sweepNow()
		if got := s.State(); got.Degraded != "" || got.Dirs != 2 || got.Files != 1 {
			t.Errorf("%v: after recovery %+v", refusal, got)
		}
		for _, want := range []time.Duration{SweepEvery, PollEvery, SweepEvery} {
			if got := <-s.every; got != want {
				t.Errorf("%v: ticks every %v, want %v", refusal, got, want)
			}
		}
	}
}

func TestNoSourceCanBeOpened(t *testing.T) {
	source, calls := newStub(), 0
	s := watch(t, func() (Source, error) {
		if calls++; calls == 1 {
			return nil, syscall.EMFILE
		}
		return source, nil
	})
	s.sweepNow()
	if got := s.State(); got.Degraded != "" || got.Dirs != 1 {
		t.Errorf("after the second try: %+v", got)
	}
	path := s.file(t, "a.jsonl")
	source.events <- path
	s.await(t, path)
}

func replacedByRename(t *testing.T) {
	s := watch(t, nil)
	path := s.file(t, "a.jsonl")
	s.await(t, path)
	for i := range 3 {
		temp := filepath.Join(s.dir, "temp")
		write(t, temp, fmt.Append(nil, "version ", i))
		if err := os.Rename(temp, path); err != nil {
			t.Fatal(err)
		}
		s.await(t, path)
	}
}

func sourceThatNeverFires(t *testing.T) {
	s := watch(t, func() (Source, error) { return newStub(), nil })
	s.sweepNow() // the watcher's own first one must not meet the file half made
	path := s.file(t, "a.jsonl")
	s.sweepNow()
	s.await(t, path)
	s.sweepNow()
	if len(s.changed) != 0 {
		t.Errorf("told again of %q, which did not change", <-s.changed)
	}
	appendTo(t, path, []byte("x"))
	s.sweepNow()
	s.await(t, path)
}

func foldersMadeAtOnce(t *testing.T) {
	s := watch(t, nil)
	want := map[string]bool{}
	for i := range 200 {
		want[s.file(t, fmt.Sprintf("%d/a/b/c/x.jsonl", i))] = true
	}
	for len(want) > 0 {
		select {
		case got := <-s.changed:
			delete(want, got)
		case <-t.Context().Done():
			t.Fatalf("%d of 200 were never told of", len(want))
		}
	}
}

func TestLostNoticesLeadToASweep(t *testing.T) {
	source := newStub()
	s := watch(t, func() (Source, error) { return source, nil })
	path := s.file(t, "a.jsonl")
	source.errs <- errors.New("overflow")
	s.await(t, path)
}

func TestAFolderMadeAgainIsWatchedAgain(t *testing.T) {
	s := watch(t, nil)
	s.await(t, s.file(t, "sub/a.jsonl"))
	if err := os.RemoveAll(filepath.Join(s.dir, "sub")); err != nil {
		t.Fatal(err)
	}
	s.await(t, s.file(t, "sub/a.jsonl"))
	path := filepath.Join(s.dir, "sub", "a.jsonl")
	appendTo(t, path, []byte("more"))
	s.await(t, path)
}
