package replay

import (
	"context"
	"errors"
	"fmt"

	"cmem/projections"
	"cmem/streams"
)

// Model is a read model that can be built again and compared.
type Model[T any] interface {
	projections.Model[T]
	// Digest is a hash over all that can be read of the model.
	Digest() (string, error)
}

// Target is one read model to build again.
type Target[T any, M Model[T]] struct {
	Path string
	// Open opens the model at a path, which need not be Path: the new one is
	// built beside it.
	Open func(path string) (M, error)
	Feed projections.Feed[T]
	// Config of the projector that builds it; Applied tells how far it is.
	Config projections.Config
}

// Build is what came of a rebuild.
type Build struct {
	Name   string `json:"name"`
	Before string `json:"before,omitempty"` // digest of the old one, if it was asked for
	After  string `json:"after,omitempty"`  // digest of the new one, if it was asked for
	Upto   uint64 `json:"position"`         // both read the log up to here
	Equal  bool   `json:"equal"`            // the digests were compared, and are equal
	// Unreadable says why the old one could not be read, if it could not: then
	// there was nothing to compare with.
	Unreadable string `json:"unreadable,omitempty"`
}

// ErrDiffers: the new model is not what the old one was, or the old one cannot be
// read. The new one is in use; the old one is kept beside it.
var ErrDiffers = errors.New("the read model built again differs from the old one")

// Rebuild builds target again and puts it in the old one's place. It returns the
// new model, open; the caller hands it to readers and closes old. Nothing may be
// applied to old meanwhile.
//
// With verify both are brought to the same position, however the log grows
// meanwhile, and their digests compared: ErrDiffers comes with the new model and
// both digests. Without, and where the old one cannot be read, the new one reads
// to the end of the feed.
func Rebuild[T any, M Model[T]](ctx context.Context, t Target[T, M], old M, verify bool) (M, Build, error) {
	b := Build{Name: old.Name()}
	var none M
	feed := t.Feed
	if verify {
		at, err := old.Checkpoint()
		if err == nil {
			b.Before, err = old.Digest()
		}
		switch {
		case err == nil:
			feed = &until[T]{feed: feed, end: at}
		case ctx.Err() != nil:
			return none, b, ctx.Err()
		default:
			b.Before, b.Unreadable = "", err.Error()
		}
	}
	m, err := projections.Rebuild(ctx, t.Path, t.Open, feed, t.Config)
	if err != nil {
		return none, b, err
	}
	at, err := m.Checkpoint()
	b.Upto = uint64(at.Position)
	if err == nil && verify {
		b.After, err = m.Digest()
	}
	if err != nil {
		return m, b, fmt.Errorf("digest of the new %s: %w", b.Name, err)
	}
	if b.Unreadable != "" {
		return m, b, fmt.Errorf("%w: the old %s could not be read: %s", ErrDiffers, b.Name, b.Unreadable)
	}
	if b.Equal = verify && b.After == b.Before; verify && !b.Equal {
		return m, b, fmt.Errorf("%w: %s was %s and is %s", ErrDiffers, b.Name, b.Before, b.After)
	}
	return m, b, nil
}

// until ends a feed at a checkpoint.
type until[T any] struct {
	feed projections.Feed[T]
	end  streams.Checkpoint
}

// Next gives no item past the end. It asks for less when a batch would reach
// over it, so that it need not know where an item lies.
func (u *until[T]) Next(ctx context.Context, c streams.Checkpoint, limit int) ([]T, streams.Checkpoint, error) {
	if c.Position >= u.end.Position {
		return nil, c, nil
	}
	for {
		batch, upto, err := u.feed.Next(ctx, c, limit)
		switch {
		case err != nil || upto.Position <= u.end.Position:
			return batch, upto, err
		case limit == 1:
			return nil, c, nil
		}
		limit /= 2
	}
}

// Wait ends at the end.
func (u *until[T]) Wait(ctx context.Context, c streams.Checkpoint) error {
	return u.feed.Wait(ctx, c)
}
