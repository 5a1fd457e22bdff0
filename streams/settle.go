package streams

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cmem/streams/durable"
)

// clearDoubt finds out about an append of unknown end before anything else is
// appended. What turns out saved is remembered by id, for whoever sends it again.
func (c *committer) clearDoubt() error {
	if len(c.doubt) == 0 {
		return nil
	}
	doubt := c.doubt
	n, err := c.settle(true)
	if err != nil {
		return err
	}
	if c.claimed == nil {
		c.claimed = make(map[string]Position)
	}
	for _, v := range doubt[:n] {
		c.claimed[v.id] = v.position
	}
	return nil
}

// settle reads the end of the log again and says how many of the values in doubt
// are saved: the first n. They are in the log's end then, and none is in doubt. A
// server that did not answer is started again first, for it may be stuck; only
// if there is room, for otherwise a batch that is half there stays so for ever.
// What was not acknowledged is read from the disk then, not from memory: a sync
// that failed may have left there what the disk never got.
func (c *committer) settle(restart bool) (n int, err error) {
	if err := errors.Join(c.room(sizeOf(c.doubt)), c.log.step("append.settle")); err != nil {
		durable.Reached("log.settle.noroom")
		return 0, err
	}
	if restart {
		if err := c.log.restart(c.last); err != nil {
			return 0, err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := c.log.current(ctx)
	if err != nil {
		return 0, err
	}
	state, err := s.state(ctx)
	if err != nil {
		return 0, err
	}
	if n, err = c.compare(ctx, s, state.LastSeq); err != nil {
		return 0, err
	}
	switch n {
	case len(c.doubt):
		durable.Reached("log.doubt-saved")
	case 0:
		durable.Reached("log.doubt-not-saved")
	default:
		durable.Reached("log.doubt-part-saved")
	}
	found := c.doubt[:n]
	c.doubt = nil
	if n > 0 {
		c.saved(found)
	}
	// Parts of a value that did not get its end lie behind it; they are passed
	// over by reading, and the value is sent again whole.
	c.last = state.LastSeq
	return n, nil
}

// compare holds the messages after c.last against those in doubt, by their links
// and sums.
func (c *committer) compare(ctx context.Context, s *session, last uint64) (values int, err error) {
	if last < c.last {
		return 0, fmt.Errorf("the log ends at %d, %d was acknowledged", last, c.last)
	}
	sequence := c.last
	for _, v := range c.doubt {
		for i := range v.messages {
			if sequence++; sequence > last {
				return values, nil
			}
			m, err := s.get(ctx, sequence)
			if err != nil {
				return 0, err
			}
			if !same(&v.messages[i], m) {
				return 0, fmt.Errorf("message %d is not what was sent for %.80q", sequence, v.id)
			}
		}
		values++
	}
	if last > sequence {
		return 0, fmt.Errorf("the log ends at %d, nothing was sent behind %d", last, sequence)
	}
	return values, nil
}

// same: the link covers everything of a last message, the sum what parts hold.
func same(sent *message, found stored) bool {
	for _, name := range []string{headerChain, headerNonce, headerPart, headerSum} {
		if first(sent.header, name) != first(found.header, name) {
			return false
		}
	}
	return true
}

// restart ends the server and starts another on the same files, looked at before
// as after a kill; known is the last sequence that was acknowledged. Readers that
// are under way wait for it and go on. On an error no server runs, and the next
// append or Resume tries again.
func (l *Log) restart(known uint64) error {
	l.restarting.Lock()
	defer l.restarting.Unlock()
	durable.Reached("log.server-again")
	l.log.Warn("the log server is started again")
	if old := l.session.Swap(nil); old != nil {
		old.stop()
	}
	if err := l.lookAgain(known); err != nil {
		return fmt.Errorf("before a restart of the server: %w: %w", ErrStorage, err)
	}
	s, err := l.startServer()
	if err != nil {
		return l.explain(err)
	}
	if err := s.open(context.Background()); err != nil {
		s.stop()
		return fmt.Errorf("after a restart of the server: %w", l.explain(errors.Join(ErrMissing, err)))
	}
	l.session.Store(s)
	return nil
}

// lookAgain makes the disk and what is read of it one, and mends what a write that
// failed half-way left at the end.
func (l *Log) lookAgain(known uint64) error {
	if err := l.layout.mayUse(); err != nil {
		return err
	}
	if err := l.layout.resync(); err != nil {
		durable.Reached("log.restart.unsynced")
		return err
	}
	whole, last, err := l.layout.newest()
	if err != nil || whole && last >= known {
		return err
	}
	durable.Reached("log.restart.mended")
	return l.mendBlocks(known, "after a write that failed")
}

// current is the server as it runs now; during a restart it is waited for.
func (l *Log) current(ctx context.Context) (*session, error) {
	select {
	case <-l.closing:
		return nil, ErrClosed
	default:
	}
	if s := l.session.Load(); s != nil {
		return s, nil
	}
	l.restarting.RLock()
	defer l.restarting.RUnlock()
	if s := l.session.Load(); s != nil {
		return s, nil
	}
	return nil, errors.Join(errors.New("the log server does not run"), ctx.Err())
}
