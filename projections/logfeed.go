package projections

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"cmem/streams"
	"cmem/streams/envelope"
	"cmem/streams/event"
)

// Log is what LogFeed needs of the log.
type Log interface {
	Identity() string
	Head() streams.Checkpoint
	Get(ctx context.Context, at streams.Position) (streams.Record, error)
	Read(ctx context.Context, after streams.Position) iter.Seq2[streams.Record, error]
	Wait(ctx context.Context, after streams.Position) error
}

// batchBytes bounds the bodies that one batch holds in memory; a single larger
// value still makes a batch.
const batchBytes = 16 << 20

// LogFeed gives the log's records with the facts decoded from them. decode is
// pure; what it cannot read gives no facts. A panic in it is an error that names
// the record, so that a faulty decoder stops the read models and loses nothing.
type LogFeed struct {
	log    Log
	decode func(envelope.Envelope) []event.Fact

	mu    sync.Mutex
	known streams.Checkpoint // compared with the log already
}

// NewLogFeed feeds from log.
func NewLogFeed(log Log, decode func(envelope.Envelope) []event.Fact) *LogFeed {
	return &LogFeed{log: log, decode: decode}
}

// Next implements Feed. A checkpoint of another log is ErrOtherLog.
func (f *LogFeed) Next(ctx context.Context, c streams.Checkpoint, limit int) ([]Entry, streams.Checkpoint, error) {
	if err := f.check(ctx, c); err != nil {
		return nil, c, err
	}
	var batch []Entry
	bytes, upto := 0, c
	for r, err := range f.log.Read(ctx, c.Position) {
		if err != nil {
			return nil, c, fmt.Errorf("after position %d: %w", upto.Position, err)
		}
		facts, err := f.facts(r)
		if err != nil {
			return nil, c, err
		}
		batch = append(batch, Entry{Record: r, Facts: facts})
		upto = streams.Checkpoint{Log: f.log.Identity(), Position: r.Position, Chain: r.Chain}
		if bytes += len(r.Envelope.Body); len(batch) >= limit || bytes >= batchBytes {
			break
		}
	}
	f.remember(upto)
	return batch, upto, nil
}

// Wait implements Feed.
func (f *LogFeed) Wait(ctx context.Context, c streams.Checkpoint) error {
	return f.log.Wait(ctx, c.Position)
}

func (f *LogFeed) facts(r streams.Record) (facts []event.Fact, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("decode %s %q at position %d: panic: %v", r.Envelope.Type, r.Envelope.ID, r.Position, p)
		}
	}()
	return f.decode(r.Envelope), nil
}

func (f *LogFeed) remember(c streams.Checkpoint) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.known = c
}

// check says whether c is a place of this log.
func (f *LogFeed) check(ctx context.Context, c streams.Checkpoint) error {
	f.mu.Lock()
	known := f.known
	f.mu.Unlock()
	if c == known || c.Position == 0 && c.Log == "" {
		return nil
	}
	if c.Log != f.log.Identity() {
		return fmt.Errorf("%w: it is %q, this one is %q", ErrOtherLog, c.Log, f.log.Identity())
	}
	head := f.log.Head()
	if c.Position > head.Position {
		return fmt.Errorf("%w: it is at %d, the log ends at %d", ErrOtherLog, c.Position, head.Position)
	}
	chain, err := f.chain(ctx, c, head)
	if err != nil {
		return err
	}
	if chain != c.Chain {
		return fmt.Errorf("%w: the chain at %d is %x, not %x", ErrOtherLog, c.Position, chain[:6], c.Chain[:6])
	}
	return nil
}

// chain is the log's chain at c's position; where its record was forgotten
// nothing contradicts c.
func (f *LogFeed) chain(ctx context.Context, c, head streams.Checkpoint) (streams.Digest, error) {
	if c.Position == head.Position || c.Position == 0 {
		if c.Position == 0 {
			return c.Chain, nil
		}
		return head.Chain, nil
	}
	r, err := f.log.Get(ctx, c.Position)
	if errors.Is(err, streams.ErrNotFound) {
		return c.Chain, nil
	}
	return r.Chain, err
}
