// Package projectiontest is the contract that every projection must pass: the
// same items give the same model however they come.
//
//	batched = one by one = rebuilt (Reset and all) = resumed at every item
//	a second run finds nothing to do
//	a failing Apply leaves neither effect nor checkpoint
//
// "The same" is decided by the case's own digest.
package projectiontest

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"cmem/projections"
	"cmem/streams"
)

// Case is one projection and what to feed it.
type Case[T any, M projections.Model[T]] struct {
	// Open opens the model at a path inside an existing folder, new or as it was
	// left there.
	Open func(path string) (M, error)
	// Feed gives the items, the same ones whenever it is asked.
	Feed projections.Feed[T]
	// Digest is equal for two models exactly if their readers see the same.
	Digest func(M) (string, error)
	// Poison gives a batch that begins as the given one and that Apply must
	// refuse with an error or a panic after it has applied that beginning.
	Poison func(batch []T) []T
	// Step is how many items a resumed run applies before it is closed and
	// opened again; 0 is one.
	Step int
}

// Run tries the case.
func Run[T any, M projections.Model[T]](t *testing.T, c Case[T, M]) {
	want := c.batched(t)
	t.Run("one by one", func(t *testing.T) { c.oneByOne(t, want) })
	t.Run("odd batches", func(t *testing.T) { c.oddBatches(t, want) })
	t.Run("resumed", func(t *testing.T) { c.resumed(t, want) })
	t.Run("rebuilt", func(t *testing.T) { c.rebuilt(t, want) })
	t.Run("a failing apply leaves nothing", func(t *testing.T) { c.failing(t, want) })
}

func (c Case[T, M]) open(t *testing.T, path string) M {
	t.Helper()
	m, err := c.Open(path)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return m
}

func (c Case[T, M]) fresh(t *testing.T) M {
	t.Helper()
	m := c.open(t, filepath.Join(t.TempDir(), "model"))
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return m
}

func (c Case[T, M]) run(t *testing.T, m M, batch int) int {
	t.Helper()
	n, err := projections.New(c.Feed, projections.Projection[T](m), projections.Config{Batch: batch}).RunToEnd(context.Background())
	if err != nil {
		t.Fatalf("run with batches of %d: %v", batch, err)
	}
	return n
}

func (c Case[T, M]) digest(t *testing.T, m M) string {
	t.Helper()
	d, err := c.Digest(m)
	if err != nil {
		t.Fatalf("digest: %v", err)
	}
	return d
}

func (c Case[T, M]) same(t *testing.T, m M, want string) {
	t.Helper()
	if got := c.digest(t, m); got != want {
		t.Errorf("digest is %s, want %s as in one batch", got, want)
	}
}

// batched applies all at once, twice, and gives the digest all others must have.
func (c Case[T, M]) batched(t *testing.T) string {
	t.Helper()
	m := c.fresh(t)
	empty := c.digest(t, m)
	if n := c.run(t, m, 1<<20); n == 0 {
		t.Fatal("the feed is empty: nothing would be tested")
	}
	want := c.digest(t, m)
	if want == empty {
		t.Fatal("the digest does not see the items")
	}
	before, err := m.Checkpoint()
	if err != nil {
		t.Fatal(err)
	}
	if n := c.run(t, m, 1<<20); n != 0 {
		t.Errorf("the second run applied %d items, want none", n)
	}
	if after, err := m.Checkpoint(); err != nil || after != before {
		t.Errorf("the second run moved the checkpoint from %v to %v (%v)", before, after, err)
	}
	c.same(t, m, want)
	return want
}

func (c Case[T, M]) oneByOne(t *testing.T, want string) {
	m := c.fresh(t)
	c.run(t, m, 1)
	c.same(t, m, want)
}

func (c Case[T, M]) oddBatches(t *testing.T, want string) {
	for _, size := range []int{2, 3, 7, 31} {
		t.Run(strconv.Itoa(size), func(t *testing.T) {
			m := c.fresh(t)
			c.run(t, m, size)
			c.same(t, m, want)
		})
	}
}

func (c Case[T, M]) resumed(t *testing.T, want string) {
	path := filepath.Join(t.TempDir(), "model")
	for {
		m := c.open(t, path)
		p := projections.New(c.Feed, projections.Projection[T](m), projections.Config{Batch: max(c.Step, 1)})
		n, err := p.RunOnce(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			c.same(t, m, want)
		}
		if err := m.Close(); err != nil {
			t.Fatalf("close: %v", err)
		}
		if n == 0 {
			return
		}
	}
}

func (c Case[T, M]) rebuilt(t *testing.T, want string) {
	m := c.fresh(t)
	c.run(t, m, 5)
	if err := m.Reset(); err != nil {
		t.Fatalf("reset: %v", err)
	}
	if at, err := m.Checkpoint(); err != nil || at != (streams.Checkpoint{}) {
		t.Fatalf("checkpoint after reset: %v (%v), want zero", at, err)
	}
	c.run(t, m, 1<<20)
	c.same(t, m, want)
}

func (c Case[T, M]) failing(t *testing.T, want string) {
	m := c.fresh(t)
	first := projections.New(c.Feed, projections.Projection[T](m), projections.Config{Batch: 3})
	if _, err := first.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	before, at := c.digest(t, m), checkpoint(t, m)
	batch, upto, err := c.Feed.Next(t.Context(), at, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if err := try(m, c.Poison(slices.Clone(batch)), upto); err == nil {
		t.Fatal("the poisoned batch was applied")
	}
	c.same(t, m, before)
	if now := checkpoint(t, m); now != at {
		t.Errorf("checkpoint is %v after a failed apply, want %v", now, at)
	}
	c.run(t, m, 4)
	c.same(t, m, want)
}

func checkpoint[T any](t *testing.T, m projections.Projection[T]) streams.Checkpoint {
	t.Helper()
	c, err := m.Checkpoint()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// try applies through a projector, which makes errors of panics.
func try[T any](m projections.Projection[T], batch []T, upto streams.Checkpoint) error {
	feed := &once[T]{batch: batch, upto: upto}
	_, err := projections.New(projections.Feed[T](feed), m, projections.Config{}).RunOnce(context.Background())
	return err
}

// once gives one batch.
type once[T any] struct {
	batch []T
	upto  streams.Checkpoint
}

func (o *once[T]) Next(context.Context, streams.Checkpoint, int) ([]T, streams.Checkpoint, error) {
	return o.batch, o.upto, nil
}

func (o *once[T]) Wait(context.Context, streams.Checkpoint) error { return nil }
