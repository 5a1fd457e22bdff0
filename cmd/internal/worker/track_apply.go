package worker

import (
	"context"
	"errors"
	"strings"
	"time"

	"cmem/projections"
	"cmem/replay"
	"cmem/streams"
	"cmem/streams/durable"
)

// This file is what a track does with its model: it applies, builds, and keeps at it.

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
