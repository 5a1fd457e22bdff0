// Package projections drives read models: state computed from the log that can
// be thrown away and computed again.
//
// A Projection is fed batches in order, its effect and its checkpoint move
// together, and applying is pure: no clock, no network, no randomness. There is
// one way in, live or recovering: a Projector reads its Feed from the
// projection's own checkpoint. records is fed by the log (Entry); search and
// contextcache are fed by records (records.Change).
package projections

import (
	"context"

	"cmem/streams"
	"cmem/streams/event"
)

// Entry is one record of the log with the facts decoded from it.
type Entry struct {
	Record streams.Record
	Facts  []event.Fact
}

// Projection is a read model fed with T.
type Projection[T any] interface {
	Name() string
	// Checkpoint is the last one that Apply stored; zero for an empty model.
	Checkpoint() (streams.Checkpoint, error)
	// Apply stores the effect of batch and upto as one step: on return with nil
	// both are there, on error neither is.
	Apply(batch []T, upto streams.Checkpoint) error
	// Reset empties the model.
	Reset() error
}

// Feed gives what comes after a checkpoint.
type Feed[T any] interface {
	// Next returns at most limit items after c and the checkpoint that applying
	// them reaches. No items and upto == c: the end.
	Next(ctx context.Context, c streams.Checkpoint, limit int) (batch []T, upto streams.Checkpoint, err error)
	// Wait returns when there may be something after c, or ctx is done.
	Wait(ctx context.Context, c streams.Checkpoint) error
}
