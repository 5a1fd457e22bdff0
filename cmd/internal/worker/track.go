package worker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"cmem/cmd/internal/api"
	"cmem/projections"
	"cmem/replay"
	"cmem/streams"
	"cmem/streams/durable"
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
	locked   error   // of open: another process holds it; no new build cures that
	damaged  []error // of open, reading and applying: the files are not what was written
	dated    []error // of open and applying: what is there is of another version, build or log
	head     func() streams.Position
	identity string // of the log
	halted   bool   // the log is not what was seen of it: nothing is built of it
	log      *slog.Logger
	applied  func() // called after each step, must not block; nil: nobody asks

	// applying is held by whoever applies: the live loop, a catch-up, a rebuild.
	applying sync.Mutex
	panicked bool // it was built again because of a panic; guarded by applying
	unsound  bool // the disk failed under it: what is applied goes into a new one; guarded by applying

	at atomic.Uint64 // how far the model, or its build, has come

	// mu guards what follows. Readers hold it while they use the model, so that
	// a swap never closes it under them.
	mu     sync.RWMutex
	model  M
	usable bool
	doomed bool // the model is open, damaged, and closed once a new one is there
	state  string
	why    string    // why it was built again, or what failed
	cause  error     // what failed, while state says so
	wanted bool      // a build is due
	unread string    // why one that was there could not be read
	built  time.Time // the last build because of damage
	wake   func()    // ends the wait of run, nil while it does not wait

	retry chan struct{} // what kept it from going on may be over; made by again
}

// again has run try now what it would try again later.
func (t *track[T, M]) again() { signal(t.retries()) }

func (t *track[T, M]) retries() chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.retry == nil {
		t.retry = make(chan struct{}, 1)
	}
	return t.retry
}

// load opens what is there. It fails only where another process holds it; what
// cannot be used, whatever it is, is built again, and the old one is kept.
func (t *track[T, M]) load() error {
	if err := projections.Settle(t.path); err != nil {
		return err
	}
	_, missing := os.Lstat(t.path)
	if errors.Is(missing, fs.ErrNotExist) && t.halted {
		return t.leave(missing)
	}
	if errors.Is(missing, fs.ErrNotExist) && t.head() > bulkFrom {
		t.want("there was none")
		return nil
	}
	m, err := t.open(t.path)
	switch {
	case err == nil:
		t.use(m)
	case errors.Is(err, t.locked):
		return fmt.Errorf("open %s: %w", t.name, err)
	case t.halted:
		return t.leave(err)
	case waits(troubleOf(err)):
		// What is there may be whole: it is opened again, not built again.
		durable.Reached("model.open.waits")
		_ = t.failed(err)
	default:
		durable.Reached("model.unusable")
		if !isOne(err, t.dated) {
			t.unread = reason(err)
		}
		t.want(reason(err))
	}
	return nil
}

// leave keeps what is there as it is, and says why it cannot be read.
func (t *track[T, M]) leave(why error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state, t.why = stateFailed, reason(why)
	return nil
}

func isOne(err error, of []error) bool {
	return slices.ContainsFunc(of, func(one error) bool { return errors.Is(err, one) })
}

// reason is the first line of an error.
func reason(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// want says that a new build is due, and why.
func (t *track[T, M]) want(why string) {
	t.log.Warn("read model is built again", "model", t.name, "why", why)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wanted, t.state, t.why = true, stateRebuilding, why
	t.note(0)
}

func (t *track[T, M]) due() bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.wanted
}

// use makes m the model that is read. old, if there was one, is for the caller to
// close.
func (t *track[T, M]) use(m M) (old M, had bool) {
	at, _ := m.Checkpoint()
	t.mu.Lock()
	defer t.mu.Unlock()
	old, had = t.model, t.usable || t.doomed
	t.model, t.usable, t.doomed, t.wanted, t.state = m, true, false, false, stateReady
	t.note(at.Position)
	return old, had
}

// read gives the model to f. While there is none, the error says how far the
// build is; if f finds it damaged, that is the case from now on. f must not write
// to a network: a swap waits for it.
func (t *track[T, M]) read(f func(M) error) error {
	m, err := t.readOnce(f)
	if err != nil && isOne(err, t.damaged) && t.condemn(m, err) {
		t.mu.RLock()
		defer t.mu.RUnlock()
		return t.unavailable()
	}
	return err
}

func (t *track[T, M]) readOnce(f func(M) error) (M, error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if !t.usable {
		return t.model, t.unavailable()
	}
	return t.model, f(t.model)
}

// damageAgain is how soon after a build damage is no reason for another one: a
// disk that keeps nothing must not keep the machine busy.
const damageAgain = time.Minute

// condemn says that m is damaged: nobody reads it any more, and a new build is
// due. It is false if one was made just now: then the error stands.
func (t *track[T, M]) condemn(m M, err error) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.usable || any(t.model) != any(m) {
		return true // found before
	}
	if time.Since(t.built) < damageAgain {
		return false
	}
	durable.Reached("model.condemned")
	t.log.Warn("a read model is damaged and is built again", "model", t.name, "why", reason(err))
	t.unread, t.why, t.built = reason(err), reason(err), time.Now()
	t.usable, t.doomed, t.wanted, t.state = false, true, true, stateRebuilding
	t.note(0)
	if t.wake != nil {
		t.wake()
	}
	return true
}

// takeUnread tells, once, why an old model could not be read.
func (t *track[T, M]) takeUnread() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	why := t.unread
	if !t.wanted {
		t.unread = ""
	}
	return why
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
		return api.Errorf(api.Rebuilding, "%s is being rebuilt, %d %% done", t.name, percent(t.reached(), t.head()))
	}
	return api.Errorf(api.Starting, "%s is not open yet", t.name)
}

// status tells about the model. why is kept after a build, so that a person can
// learn that there was one.
func (t *track[T, M]) status() api.Model {
	head := t.head()
	t.mu.RLock()
	defer t.mu.RUnlock()
	at := t.reached()
	m := api.Model{Name: t.name, Position: uint64(at), State: t.state, Reason: t.why, Percent: percent(at, head)}
	if head > at {
		m.Behind = uint64(head - at)
	}
	return m
}

// isRebuilding: a read model that is needed is being built again.
func isRebuilding(err error) bool {
	var e *api.Error
	return errors.As(err, &e) && e.Code == api.Rebuilding
}

// withoutPrefix leaves the path of a model and the name of its package out of an
// error that is told beside its name.
func withoutPrefix(why, path string) string {
	if _, after, ok := strings.Cut(why, path+": "); ok {
		return after
	}
	return why
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

// note keeps how far the model or its build has come. It waits for no reader: one
// that waited would keep all others waiting with it.
func (t *track[T, M]) note(at streams.Position) { t.at.Store(uint64(at)) }

func (t *track[T, M]) reached() streams.Position { return streams.Position(t.at.Load()) }

// catchUp applies all there is now. A model that turns out to be of another log
// is built again; so is, once, one that panics at what it is fed: its readers
// keep it until the new one is there, or for good if that panics too.
func (t *track[T, M]) catchUp(ctx context.Context) error {
	t.applying.Lock()
	defer t.applying.Unlock()
	if err := t.openAgain(); err != nil {
		return err
	}
	if !t.due() {
		m, err := t.toEnd(ctx)
		switch {
		case err == nil || ctx.Err() != nil:
			return err
		case t.due(): // a reader found it damaged meanwhile
		case isOne(err, t.damaged):
			if !t.condemn(m, err) {
				return t.failed(err)
			}
		case isOne(err, t.dated):
			// What is of an earlier build of records can be read meanwhile; what
			// is of another log cannot.
			if t.foreign() {
				t.drop()
			}
		case strings.Contains(err.Error(), "panic: ") && !t.panicked:
			t.panicked = true
		case troubleOf(err) == durable.Broken:
			// The file's sync may have failed; what memory shows of it, the disk may
			// not have. It is read until there is a new one.
			durable.Reached("model.unsound")
			t.unsound = true
		default:
			return t.failed(err)
		}
		if !t.due() {
			t.want(reason(err))
		}
	}
	return t.failed(t.build(ctx))
}

// openAgain opens what the disk, or the rights to it, kept from being opened.
func (t *track[T, M]) openAgain() error {
	t.mu.RLock()
	closed := !t.usable && !t.wanted && t.state == stateFailed
	t.mu.RUnlock()
	if !closed {
		return nil
	}
	if err := t.load(); err != nil {
		return t.failed(err)
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	if !t.usable && !t.wanted {
		return t.cause
	}
	return nil
}

func (t *track[T, M]) toEnd(ctx context.Context) (M, error) {
	t.mu.RLock()
	m := t.model
	t.mu.RUnlock()
	_, err := projections.New(t.feed(), projections.Projection[T](m), t.config(t.note)).RunToEnd(ctx)
	if err == nil {
		t.mu.Lock()
		if t.state == stateFailed {
			t.why = "" // it is over, and nothing was built again
		}
		t.state = stateReady
		t.mu.Unlock()
	}
	return m, err
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

// failed keeps what went wrong for readers and status. That what it is fed from
// is being built again is no failure of its own.
func (t *track[T, M]) failed(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || isRebuilding(err) {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state, t.why, t.cause = stateFailed, reason(err), err
	t.wanted = t.wanted && (!t.usable || t.unsound) // what can be read is not thrown away again
	return err
}

// build makes the model from nothing. The caller holds applying.
func (t *track[T, M]) build(ctx context.Context) error {
	defer widen()()
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
	t.unsound = false
	t.mu.Lock()
	if !t.built.IsZero() {
		t.built = time.Now()
	}
	t.mu.Unlock()
	durable.Reached("model.built-again")
	t.log.Info("read model was built again", "model", t.name)
	return nil
}

// rebuild builds the model beside the one that goes on being read. The caller
// holds applying.
func (t *track[T, M]) rebuild(ctx context.Context, verify bool, tell func(streams.Position)) (replay.Build, error) {
	t.mu.RLock()
	old, usable := t.model, t.usable
	t.mu.RUnlock()
	unread := t.takeUnread()
	if !usable {
		return t.buildTold(ctx, verify, unread)
	}
	m, b, err := replay.Rebuild(ctx, replay.Target[T, M]{Path: t.path, Open: t.open, Feed: t.feed(), Config: t.config(tell)}, old, verify)
	if err != nil && !errors.Is(err, replay.ErrDiffers) {
		return b, err
	}
	t.use(m)
	t.retire(old)
	if unread != "" && b.Unreadable == "" {
		// What it was compared with was built a moment ago.
		b.Unreadable, b.Equal = unread, false
	}
	b.Unreadable = withoutPrefix(b.Unreadable, t.path)
	return b, err
}

// buildTold is build for a caller that wants to know what came of it. There is
// nothing to compare with.
func (t *track[T, M]) buildTold(ctx context.Context, verify bool, unread string) (b replay.Build, err error) {
	b = replay.Build{Name: t.name, Unreadable: withoutPrefix(unread, t.path)}
	if err := t.failed(t.build(ctx)); err != nil {
		return b, err
	}
	t.takeUnread()
	return b, t.read(func(m M) error {
		at, err := m.Checkpoint()
		if b.Upto = uint64(at.Position); err == nil && verify {
			b.After, err = m.Digest()
		}
		return err
	})
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
	pause, told := time.Second, ""
	for ctx.Err() == nil {
		err := t.catchUp(ctx)
		if err == nil {
			if told != "" {
				t.log.Info("read model goes on", "model", t.name)
			}
			pause, told = time.Second, ""
			err = t.wait(ctx)
		}
		if err == nil || ctx.Err() != nil {
			continue
		}
		if why := reason(err); why != told {
			t.log.Error("read model stands still", "model", t.name, "err", err, "again in", pause)
			told = why
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		case <-t.retries():
			pause = time.Second
			continue
		}
		pause = min(2*pause, most)
	}
	return nil
}

func (t *track[T, M]) wait(ctx context.Context) error {
	woken, wake := context.WithCancel(ctx)
	defer wake()
	t.mu.Lock()
	m, due := t.model, t.wanted
	t.wake = wake
	t.mu.Unlock()
	defer t.sleepless()
	if due {
		return nil
	}
	at, err := m.Checkpoint()
	if err != nil {
		if isOne(err, t.damaged) && t.condemn(m, err) {
			return nil
		}
		return err
	}
	if err := t.feed().Wait(woken, at); err != nil && (woken.Err() == nil || ctx.Err() != nil) {
		return err
	}
	return nil
}

func (t *track[T, M]) sleepless() {
	t.mu.Lock()
	t.wake = nil
	t.mu.Unlock()
}

// inspect reads all of the model that is in use, if it can be told of damage that
// nobody has met yet. It does not hold up a swap: who closes the model waits for
// the step under way.
func (t *track[T, M]) inspect(ctx context.Context) {
	t.mu.RLock()
	m, usable := t.model, t.usable
	t.mu.RUnlock()
	c, can := any(m).(interface{ Check(context.Context) error })
	if !usable || !can {
		return
	}
	if err := c.Check(ctx); err != nil && isOne(err, t.damaged) {
		t.condemn(m, err)
	}
}

// close ends the model; readers under way end first.
func (t *track[T, M]) close() error {
	t.applying.Lock()
	defer t.applying.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state = stateClosed
	if !t.usable && !t.doomed {
		return nil
	}
	t.usable, t.doomed = false, false
	if err := t.model.Close(); err != nil {
		return fmt.Errorf("close %s: %w", t.name, err)
	}
	return nil
}
