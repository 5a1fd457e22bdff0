package worker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"cmem/cmd/internal/api"
	"cmem/projections"
	"cmem/replay"
	"cmem/streams"
)

// The states of a read model.
const (
	stateReady      = "ready"
	stateRebuilding = "rebuilding"
	stateFailed     = "failed"
	stateClosed     = "closed"
)

// bulkFrom is how far the log must have come for a model that is not there to
// be built beside and swapped in, which is faster than step by step.
const bulkFrom = 2000

// track is one read model: where it lies, who reads it, who applies to it. What
// cannot be used (another version, another log, damage) is built again beside
// and swapped; until then readers are told how far that is.
type track[T any, M replay.Model[T]] struct {
	name     string
	path     string
	open     func(path string) (M, error)
	feed     func() projections.Feed[T]
	unusable []error // errors of open and of applying that a new build cures
	head     func() streams.Position
	identity string // of the log
	log      *slog.Logger
	applied  func() // called after each step, must not block; nil: nobody asks

	// applying is held by whoever applies: the live loop, a catch-up, a rebuild.
	applying sync.Mutex
	panicked bool // it was built again because of a panic; guarded by applying

	// mu guards what follows. Readers hold it while they use the model, so that
	// a swap never closes it under them.
	mu     sync.RWMutex
	model  M
	usable bool
	at     streams.Position
	state  string
	why    string // why it was built again, or what failed
	wanted bool   // a build is due
}

// load opens what is there. It fails only where a new build would not help or
// would not be ours to make: another process holds it, or it is no model of ours.
func (t *track[T, M]) load() error {
	if err := projections.Settle(t.path); err != nil {
		return err
	}
	_, missing := os.Lstat(t.path)
	if errors.Is(missing, fs.ErrNotExist) && t.head() > bulkFrom {
		t.want("there was none")
		return nil
	}
	m, err := t.open(t.path)
	switch {
	case err == nil:
		t.use(m)
	case t.curable(err):
		t.want(reason(err))
	default:
		return fmt.Errorf("open %s: %w", t.name, err)
	}
	return nil
}

func (t *track[T, M]) curable(err error) bool {
	for _, u := range t.unusable {
		if errors.Is(err, u) {
			return true
		}
	}
	return false
}

// reason is an error without the stack a panic brought.
func reason(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// want says that a new build is due, and why.
func (t *track[T, M]) want(why string) {
	t.log.Warn("read model is built again", "model", t.name, "why", why)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wanted, t.state, t.why, t.at = true, stateRebuilding, why, 0
}

func (t *track[T, M]) due() bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.wanted
}

// use makes m the model that is read.
func (t *track[T, M]) use(m M) (old M, had bool) {
	at, _ := m.Checkpoint()
	t.mu.Lock()
	defer t.mu.Unlock()
	old, had = t.model, t.usable
	t.model, t.usable, t.wanted, t.state, t.at = m, true, false, stateReady, at.Position
	return old, had
}

// read gives the model to f. While there is none, the error says how far the
// build is. f must not write to a network: a swap waits for it.
func (t *track[T, M]) read(f func(M) error) error {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if !t.usable {
		return t.unavailable()
	}
	return f(t.model)
}

// position is how far the model in use has come.
func (t *track[T, M]) position() (at streams.Position, err error) {
	err = t.read(func(m M) error {
		c, err := m.Checkpoint()
		at = c.Position
		return err
	})
	return at, err
}

// unavailable is called with mu held.
func (t *track[T, M]) unavailable() *api.Error {
	switch t.state {
	case stateFailed:
		return api.Errorf(api.Internal, "%s cannot be used: %s", t.name, t.why)
	case stateRebuilding:
		return api.Errorf(api.Rebuilding, "%s is being rebuilt, %d %% done", t.name, percent(t.at, t.head()))
	}
	return api.Errorf(api.Starting, "%s is not open yet", t.name)
}

// status tells about the model. why is kept after a build, so that a person can
// learn that there was one.
func (t *track[T, M]) status() api.Model {
	head := t.head()
	t.mu.RLock()
	defer t.mu.RUnlock()
	m := api.Model{Name: t.name, Position: uint64(t.at), State: t.state, Reason: t.why, Percent: percent(t.at, head)}
	if head > t.at {
		m.Behind = uint64(head - t.at)
	}
	return m
}

func percent(at, head streams.Position) int {
	if head == 0 || at >= head {
		return 100
	}
	return int(at * 100 / head)
}

// config is of every projector of this model.
func (t *track[T, M]) config(tell func(streams.Position)) projections.Config {
	return projections.Config{Logger: t.log, Applied: func(c streams.Checkpoint) {
		tell(c.Position)
		if t.applied != nil {
			t.applied()
		}
	}}
}

func (t *track[T, M]) note(at streams.Position) {
	t.mu.Lock()
	t.at = at
	t.mu.Unlock()
}

// catchUp applies all there is now. A model that turns out to be of another log
// is built again; so is, once, one that panics at what it is fed: its readers
// keep it until the new one is there, or for good if that panics too.
func (t *track[T, M]) catchUp(ctx context.Context) error {
	t.applying.Lock()
	defer t.applying.Unlock()
	if !t.due() {
		err := t.toEnd(ctx)
		switch {
		case err == nil || ctx.Err() != nil:
			return err
		case t.curable(err):
			// What is of an earlier build of records can be read meanwhile; what
			// is of another log cannot.
			if t.foreign() {
				t.drop()
			}
		case strings.Contains(err.Error(), "panic: ") && !t.panicked:
			t.panicked = true
		default:
			return t.failed(err)
		}
		t.want(reason(err))
	}
	return t.failed(t.build(ctx))
}

func (t *track[T, M]) toEnd(ctx context.Context) error {
	t.mu.RLock()
	m := t.model
	t.mu.RUnlock()
	_, err := projections.New(t.feed(), projections.Projection[T](m), t.config(t.note)).RunToEnd(ctx)
	if err == nil {
		t.mu.Lock()
		t.state = stateReady
		t.mu.Unlock()
	}
	return err
}

// foreign says that the model was made from another log than ours.
func (t *track[T, M]) foreign() bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	at, err := t.model.Checkpoint()
	return err != nil || at.Log != t.identity || at.Position > t.head()
}

// drop closes a model that must not be read.
func (t *track[T, M]) drop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.usable {
		return
	}
	t.usable = false
	if err := t.model.Close(); err != nil {
		t.log.Warn("close read model", "model", t.name, "err", err)
	}
}

// failed keeps what went wrong for readers and status.
func (t *track[T, M]) failed(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state, t.why = stateFailed, reason(err)
	t.wanted = t.wanted && !t.usable // what can be read is not thrown away again
	return err
}

// build makes the model from nothing. The caller holds applying.
func (t *track[T, M]) build(ctx context.Context) error {
	t.mu.Lock()
	t.state = stateRebuilding
	t.mu.Unlock()
	m, err := projections.Rebuild(ctx, t.path, t.open, t.feed(), t.config(t.note))
	if err != nil {
		return err
	}
	if old, had := t.use(m); had {
		t.retire(old)
	}
	t.log.Info("read model was built again", "model", t.name)
	return nil
}

// rebuild builds the model beside the one that goes on being read. The caller
// holds applying.
func (t *track[T, M]) rebuild(ctx context.Context, verify bool, tell func(streams.Position)) (replay.Build, error) {
	t.mu.RLock()
	old, usable := t.model, t.usable
	t.mu.RUnlock()
	if !usable {
		return replay.Build{Name: t.name}, t.build(ctx)
	}
	m, b, err := replay.Rebuild(ctx, replay.Target[T, M]{Path: t.path, Open: t.open, Feed: t.feed(), Config: t.config(tell)}, old, verify)
	if err != nil && !errors.Is(err, replay.ErrDiffers) {
		return b, err
	}
	t.use(m)
	t.retire(old)
	return b, err
}

// retire closes a model that nobody is given any more.
func (t *track[T, M]) retire(old M) {
	if err := old.Close(); err != nil {
		t.log.Warn("close old read model", "model", t.name, "err", err)
	}
}

// rebuildAlone is rebuild for a caller that does not hold applying.
func (t *track[T, M]) rebuildAlone(ctx context.Context, verify bool, tell func(streams.Position)) (replay.Build, error) {
	t.applying.Lock()
	defer t.applying.Unlock()
	return t.rebuild(ctx, verify, tell)
}

// run keeps the model at the head until ctx is done. What fails is tried again,
// ever less often.
func (t *track[T, M]) run(ctx context.Context) error {
	const most = time.Minute
	pause := time.Second
	for ctx.Err() == nil {
		err := t.catchUp(ctx)
		if err == nil {
			pause = time.Second
			err = t.wait(ctx)
		}
		if err == nil || ctx.Err() != nil {
			continue
		}
		t.log.Error("read model stands still", "model", t.name, "err", err, "again in", pause)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, most)
	}
	return nil
}

func (t *track[T, M]) wait(ctx context.Context) error {
	t.mu.RLock()
	m := t.model
	t.mu.RUnlock()
	at, err := m.Checkpoint()
	if err != nil {
		return err
	}
	return t.feed().Wait(ctx, at)
}

// close ends the model; readers under way end first.
func (t *track[T, M]) close() error {
	t.applying.Lock()
	defer t.applying.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state = stateClosed
	if !t.usable {
		return nil
	}
	t.usable = false
	if err := t.model.Close(); err != nil {
		return fmt.Errorf("close %s: %w", t.name, err)
	}
	return nil
}
