package records

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"cmem/projections"
	"cmem/streams"
)

// Changed gives the documents whose latest change is after a position, by
// position, and up to where that is all: a follower that has applied what it got
// may ask again from there, now or after any restart of either. Changes at one
// position come together, so there may be more than limit. Documents that went
// away are told as Deleted, also to who never saw them.
func (s *Store) Changed(after streams.Position, limit int) (out []Change, upto streams.Position, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		at, err := readCheckpoint(tx)
		if err != nil {
			return err
		}
		out, upto, err = newReader(tx).changed(after, at.Position, limit)
		return err
	})
	return out, upto, err
}

func (r *reader) changed(after, head streams.Position, limit int) (out []Change, upto streams.Position, err error) {
	c := r.tx.Bucket(bChanges).Cursor()
	for k, raw := c.Seek(key64(uint64(after) + 1)); k != nil; k, raw = c.Next() {
		at := streams.Position(binary.BigEndian.Uint64(k))
		if len(out) >= limit && at != upto {
			return out, upto, nil
		}
		ch, err := r.change(k, raw)
		if err != nil {
			return nil, after, err
		}
		out, upto = append(out, ch), at
	}
	return out, max(after, head), nil
}

func (r *reader) change(k, raw []byte) (Change, error) {
	var v changeValue
	if err := readValue(raw, &v); err != nil {
		return Change{}, err
	}
	project, err := r.project(v.project)
	if err != nil {
		return Change{}, err
	}
	from, err := r.project(v.from)
	return Change{
		Doc:      Doc{Kind: docKindOf[kind(k[8])], ID: int64(binary.BigEndian.Uint64(k[9:]))},
		Position: streams.Position(binary.BigEndian.Uint64(k)), Project: project, From: from, Deleted: v.deleted,
	}, err
}

// Changes is Changed as the feed of a projector. Its checkpoints are this
// build's: one of another log or of another build is projections.ErrOtherLog,
// and the follower has to be built again.
func (s *Store) Changes() projections.Feed[Change] { return &changeFeed{s} }

type changeFeed struct{ s *Store }

// Next implements projections.Feed.
func (f *changeFeed) Next(_ context.Context, c streams.Checkpoint, limit int) (batch []Change, upto streams.Checkpoint, err error) {
	err = f.s.view(func(tx *bolt.Tx) error {
		at, err := readCheckpoint(tx)
		if err != nil {
			return err
		}
		chain := f.s.chain()
		if c.Position != 0 && at.Position != 0 && (c.Log != at.Log || c.Chain != chain) {
			return fmt.Errorf("%w, or from an earlier build of records", projections.ErrOtherLog)
		}
		changes, end, err := newReader(tx).changed(c.Position, at.Position, limit)
		if err != nil {
			return err
		}
		batch, upto = changes, c
		if end != c.Position {
			upto = streams.Checkpoint{Log: at.Log, Position: end, Chain: chain}
		}
		return nil
	})
	if err != nil {
		return nil, c, err
	}
	return batch, upto, nil
}

// Wait implements projections.Feed.
func (f *changeFeed) Wait(ctx context.Context, c streams.Checkpoint) error {
	return f.s.wait(ctx, c.Position)
}

// chain names the build in a follower's checkpoint: what one build left out,
// because it came and went within a batch, another may have told.
func (s *Store) chain() streams.Digest {
	return sha256.Sum256(fmt.Appendf(nil, "records build %d", s.build))
}
