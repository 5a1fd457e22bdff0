package streams

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"cmem/streams/durable"
)

// Pause says that the log takes nothing in at the moment, and why. Nothing is lost
// by it: what was acknowledged is there, and what was not is to be sent again.
type Pause struct {
	Since   time.Time
	Trouble durable.Trouble // what kind, as far as it is known
	Cause   error           // one sentence, with the path
}

// Paused says whether the log takes nothing in, since the last append that failed
// for the disk's sake; false after the next one that did not.
func (l *Log) Paused() (Pause, bool) { return l.pause.get() }

// Resume tries what keeps the log from taking anything in: it does nothing unless
// the log is paused. When it returns nil, it takes in again: what was of unknown
// end is known, and a server that may be stuck was started again. It waits for an
// append under way.
func (l *Log) Resume(ctx context.Context) error {
	if _, paused := l.Paused(); !paused {
		return nil
	}
	select {
	case <-l.closing:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	case l.committer.turn <- struct{}{}:
	}
	defer func() { <-l.committer.turn }()
	return l.committer.resume()
}

// resume is called with the turn.
func (c *committer) resume() error {
	err := c.room(0)
	if err == nil && len(c.doubt) > 0 {
		durable.Reached("log.resume.doubt")
		err = c.clearDoubt()
	} else if err == nil && c.log.session.Load() == nil {
		durable.Reached("log.resume.server")
		err = c.log.restart(c.last)
	}
	c.log.pause.note(err, c.log)
	return err
}

// pause is the state behind Paused.
type pause struct {
	mu  sync.Mutex // guards the two
	now Pause
	on  bool
}

func (p *pause) get() (Pause, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now, p.on
}

// note takes in how an append ended. Only a change is logged, not each try.
func (p *pause) note(err error, l *Log) {
	trouble, pauses := pausing(err)
	if err != nil && !pauses {
		return // it was refused for its own sake, which says nothing of the disk
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err == nil && p.on:
		durable.Reached("log.resumed")
		l.log.Info("the log takes events in again", "after", time.Since(p.now.Since).Round(time.Millisecond).String())
		p.on = false
	case err != nil && !p.on:
		durable.Reached("log.paused")
		l.log.Warn("the log takes nothing in", "why", err)
		p.now, p.on = Pause{Since: time.Now(), Trouble: trouble, Cause: err}, true
	case err != nil && trouble != p.now.Trouble:
		l.log.Warn("the log takes nothing in", "why", err)
		p.now.Trouble, p.now.Cause = trouble, err
	}
}

// pausing says whether err keeps everything else out of the log too.
func pausing(err error) (durable.Trouble, bool) {
	var said *storageError
	switch {
	case err == nil, errors.Is(err, ErrClosed), errors.Is(err, ErrExchanged):
		return durable.NoTrouble, false
	case errors.Is(err, ErrDiskFull):
		return durable.Full, true
	case errors.As(err, &said):
		return said.trouble, true
	}
	t := durable.TroubleOf(err)
	return t, t != durable.NoTrouble || errors.Is(err, ErrUnknown) || errors.Is(err, ErrStorage)
}

// storageError says what the disk refused. It is an ErrStorage.
type storageError struct {
	trouble durable.Trouble
	text    string
}

func (e *storageError) Error() string   { return e.text }
func (e *storageError) Is(t error) bool { return t == ErrStorage }

// explain finds out why the server gave no answer, or said that it could not store:
// it never says what the system's reason was, but writes it to its log. The folder
// is asked first, because that answer is of now and has a path.
func (l *Log) explain(err error) error {
	if t := durable.TroubleOf(err); t != durable.NoTrouble {
		return err
	}
	if e := durable.Probe(l.layout.store()); e != nil {
		if t := durable.TroubleOf(e); t != durable.NoTrouble {
			return fmt.Errorf("%w: %w", err, &storageError{t, e.Error()})
		}
	}
	text, t := l.complaint.take()
	if t == durable.NoTrouble {
		return err
	}
	return fmt.Errorf("%w: %w", err, &storageError{t, text})
}

// complaint is what the server said last of a disk that failed it.
type complaint struct {
	mu      sync.Mutex // guards the two
	text    string
	trouble durable.Trouble
}

// hear is given each error the server logs.
func (c *complaint) hear(text string) {
	if t := durable.TroubleIn(text); t != durable.NoTrouble {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.text, c.trouble = text, t
	}
}

func (c *complaint) take() (string, durable.Trouble) {
	c.mu.Lock()
	defer c.mu.Unlock()
	text, t := c.text, c.trouble
	c.text, c.trouble = "", durable.NoTrouble
	return text, t
}
