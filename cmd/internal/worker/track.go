package worker

import (
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
		_ = t.failed(missing) // it is left as it is
		return nil
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
		_ = t.failed(err) // it is left as it is
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
