package search

import (
	"encoding/json"
	"errors"
	"fmt"

	"cmem/projections"
	"cmem/projections/records"
	"cmem/streams"

	index "github.com/blevesearch/bleve_index_api"
)

var _ projections.Model[records.Change] = (*Index)(nil)

// maxBatchBytes is how much text one scorch batch may hold: the memory it takes
// is some fifty times that.
const maxBatchBytes = 768 << 10

// Apply indexes what the changed documents hold now and takes out those that
// are gone. Documents and upto go into one batch. Of a batch with very much text
// the documents may go in before, in batches of their own, and the checkpoint
// with the last: what a crash then leaves is applied again to the same effect.
func (x *Index) Apply(changes []records.Change, upto streams.Checkpoint) error {
	err := x.apply(changes, upto)
	var failed *batchError
	if errors.As(err, &failed) {
		err = errors.Join(err, x.reopen())
	}
	return err
}

func (x *Index) apply(changes []records.Change, upto streams.Checkpoint) error {
	s, done, err := x.use()
	if err != nil {
		return err
	}
	defer done()
	contents, err := x.contents(changes)
	if err != nil {
		return err
	}
	var a analyzer
	b, size := index.NewBatch(), 0
	for id, c := range contents {
		if c == nil {
			b.Delete(id)
			continue
		}
		b.Update(newDocument(&a, id, *c))
		if size += c.size(); size > maxBatchBytes {
			if err := s.batch(b); err != nil {
				return err
			}
			b, size = index.NewBatch(), 0
		}
	}
	mark, err := json.Marshal(upto)
	if err != nil {
		return err
	}
	b.SetInternal([]byte(checkpointKey), mark)
	return s.batch(b)
}

// contents reads all before anything is written: a Source that fails leaves no
// effect. The last change of a document counts; nil is one that is gone.
func (x *Index) contents(changes []records.Change) (map[string]*content, error) {
	all := make(map[string]*content, len(changes))
	for _, ch := range changes {
		id, err := docID(ch.Doc)
		if err != nil {
			return nil, fmt.Errorf("change at %d: %w", ch.Position, err)
		}
		if _, read := all[id]; read {
			continue // Source gives what the document is now, whichever change asks
		}
		d, ok, err := x.conf.Source.Document(ch.Doc)
		if err != nil {
			return nil, fmt.Errorf("content of %s %d: %w", ch.Kind, ch.ID, err)
		}
		if all[id] = nil; ok {
			d.Doc = ch.Doc
			all[id] = &content{d}
		}
	}
	return all, nil
}

// batchError: scorch could not store a batch; part of it may be in its memory.
type batchError struct{ err error }

func (e *batchError) Error() string { return "search: store a batch: " + e.err.Error() }
func (e *batchError) Unwrap() error { return e.err }

// batch returns when the batch is on the disk. It is stored by a goroutine that
// ends with it; in a store that turns out to be damaged nobody may ever answer
// scorch, and then it is left behind.
func (s *store) batch(b *index.Batch) error {
	done := make(chan error, 1)
	go func() {
		var err error
		defer func() { done <- err }()
		defer guard(&err)()
		err = s.idx.Batch(b)
	}()
	var err error
	select {
	case err = <-done:
	case <-s.broken:
		err = s.damaged()
	}
	if err == nil || errors.Is(err, ErrDamaged) {
		return err
	}
	return &batchError{err}
}
