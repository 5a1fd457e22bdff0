package projections

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"

	"cmem/streams"
	"cmem/streams/durable"
)

// ErrOtherLog: a checkpoint is not of the feed's log: another identity, another
// chain at its position, or a position past the head. Nothing was applied; the
// model has to be built again.
var ErrOtherLog = errors.New("the read model was made from another log")

// DefaultBatch is how many items are applied in one step.
const DefaultBatch = 2000

// Config says how a Projector works. Zero values mean defaults.
type Config struct {
	Batch  int          // items in one step; 0 is DefaultBatch
	Logger *slog.Logger // nil discards
	// Applied is called after each step with the checkpoint it reached, by the
	// goroutine that runs the projector. It must not block.
	Applied func(streams.Checkpoint)
}

// Projector drives one model from one feed. It is the only one that applies to
// the model. RunOnce, RunToEnd and Run are three speeds of one loop; only one of
// them may run at a time. Position may be called from anywhere.
type Projector[T any] struct {
	feed  Feed[T]
	model Projection[T]
	c     Config
	at    atomic.Uint64
}

// New makes a projector; nothing is read yet.
func New[T any](feed Feed[T], model Projection[T], c Config) *Projector[T] {
	if c.Batch <= 0 {
		c.Batch = DefaultBatch
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return &Projector[T]{feed: feed, model: model, c: c}
}

// Position is the last one known to be applied; 0 before the first run.
func (p *Projector[T]) Position() streams.Position { return streams.Position(p.at.Load()) }

// RunOnce applies at most one batch and returns how many items it had; 0 at the
// end of the feed.
func (p *Projector[T]) RunOnce(ctx context.Context) (int, error) {
	from, err := p.checkpoint()
	if err != nil {
		return 0, err
	}
	s := p.fetch(ctx, from)
	if s.err != nil {
		return 0, s.err
	}
	if s.end(from) {
		return 0, nil
	}
	return len(s.batch), p.apply(from, s)
}

// RunToEnd applies until the feed has no more and returns how many items it
// applied. While one batch is applied the next is read, by one goroutine that is
// gone when RunToEnd returns.
func (p *Projector[T]) RunToEnd(ctx context.Context) (int, error) {
	from, err := p.checkpoint()
	if err != nil {
		return 0, err
	}
	total := 0
	s := p.fetch(ctx, from)
	for {
		if s.err != nil {
			return total, s.err
		}
		if s.end(from) {
			return total, nil
		}
		next := make(chan step[T], 1)
		upto := s.upto
		go func() { next <- p.fetch(ctx, upto) }()
		err := p.apply(from, s)
		ahead := <-next
		if err != nil {
			return total, err
		}
		total, from, s = total+len(s.batch), upto, ahead
	}
}

// Run applies until ctx is done, waiting at the end of the feed. It returns nil
// when ctx is done and the error that stopped it otherwise.
func (p *Projector[T]) Run(ctx context.Context) error {
	for {
		if _, err := p.RunToEnd(ctx); err != nil {
			return stopped(ctx, err)
		}
		at, err := p.checkpoint()
		if err != nil {
			return err
		}
		if err := p.feed.Wait(ctx, at); err != nil {
			return stopped(ctx, fmt.Errorf("projection %s: wait: %w", p.model.Name(), err))
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

// stopped tells a wanted end from a failure.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

func (p *Projector[T]) checkpoint() (streams.Checkpoint, error) {
	c, err := p.model.Checkpoint()
	if err != nil {
		return c, fmt.Errorf("projection %s: checkpoint: %w", p.model.Name(), err)
	}
	p.at.Store(uint64(c.Position))
	return c, nil
}

// step is one batch and where it leads.
type step[T any] struct {
	batch []T
	upto  streams.Checkpoint
	err   error
}

func (s step[T]) end(from streams.Checkpoint) bool { return len(s.batch) == 0 && s.upto == from }

func (p *Projector[T]) fetch(ctx context.Context, from streams.Checkpoint) (s step[T]) {
	defer func() {
		if r := recover(); r != nil {
			s.err = fmt.Errorf("projection %s: read after %d: panic: %v", p.model.Name(), from.Position, r)
			p.c.Logger.Error("reading panicked", "projection", p.model.Name(), "after", uint64(from.Position), "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
		}
	}()
	if s.batch, s.upto, s.err = p.feed.Next(ctx, from, p.c.Batch); s.err != nil {
		s.err = fmt.Errorf("projection %s: read after %d: %w", p.model.Name(), from.Position, s.err)
	}
	return s
}

// apply turns a panic of the model into an error that names the batch; its stack
// goes to the log.
func (p *Projector[T]) apply(from streams.Checkpoint, s step[T]) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("projection %s: apply %d..%d: panic: %v", p.model.Name(), from.Position+1, s.upto.Position, r)
			p.c.Logger.Error("applying panicked", "projection", p.model.Name(), "from", uint64(from.Position+1), "to", uint64(s.upto.Position), "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
		}
	}()
	err = durable.Failpoint("apply." + p.model.Name())
	if err == nil {
		err = p.model.Apply(s.batch, s.upto)
	}
	if err == nil {
		err = durable.Failpoint("applied." + p.model.Name())
	}
	if err != nil {
		return fmt.Errorf("projection %s: apply %d..%d: %w", p.model.Name(), from.Position+1, s.upto.Position, err)
	}
	p.at.Store(uint64(s.upto.Position))
	p.c.Logger.Debug("applied", "projection", p.model.Name(), "items", len(s.batch), "position", uint64(s.upto.Position))
	if p.c.Applied != nil {
		p.c.Applied(s.upto)
	}
	return nil
}
