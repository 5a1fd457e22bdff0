package search

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"slices"
	"strings"

	"cmem/projections/records"

	index "github.com/blevesearch/bleve_index_api"
)

// IDs gives every document of the index, in no order, from one moment: what is
// applied meanwhile is not seen. After an error, which comes with a zero Doc, it
// ends.
func (x *Index) IDs() iter.Seq2[records.Doc, error] {
	return func(yield func(records.Doc, error) bool) {
		stopped := false
		err := x.each(func(id string, _ order) (bool, error) {
			d, err := parseID(id)
			if err == nil {
				stopped = !yield(d, nil)
			}
			return !stopped, err
		})
		if err != nil && !stopped {
			yield(records.Doc{}, err)
		}
	}
}

// Digest is a hash over all documents: their ids, positions and contents. Two
// indexes with equal digests answer alike, however they came to be.
func (x *Index) Digest() (string, error) {
	var all []string
	err := x.each(func(id string, o order) (bool, error) {
		all = append(all, fmt.Sprintf("%s %d %d %014x\n", id, o.position, o.milli, o.hash))
		return true, nil
	})
	if err != nil {
		return "", fmt.Errorf("search: digest: %w", err)
	}
	slices.Sort(all)
	sum := sha256.Sum256([]byte(strings.Join(all, "")))
	return hex.EncodeToString(sum[:]), nil
}

// each calls f with every document until it returns false.
func (x *Index) each(f func(id string, o order) (bool, error)) (err error) {
	s, done, err := x.use()
	if err != nil {
		return err
	}
	defer done()
	defer guard(&err)()
	r, err := s.idx.Reader()
	if err != nil {
		return err
	}
	defer r.Close()
	docs, err := r.DocIDReaderAll()
	if err != nil {
		return err
	}
	defer docs.Close()
	orders, err := r.DocValueReader([]string{orderName})
	if err != nil {
		return err
	}
	for {
		number, err := docs.Next()
		if err != nil || number == nil {
			return err
		}
		if more, err := one(r, orders, number, f); err != nil || !more {
			return err
		}
	}
}

func one(r index.IndexReader, orders index.DocValueReader, number index.IndexInternalID, f func(string, order) (bool, error)) (bool, error) {
	id, err := r.ExternalID(number)
	if err != nil {
		return false, err
	}
	o, ok := order{}, false
	err = orders.VisitDocValues(number, func(_ string, term []byte) { o, ok = decodeOrder(term) })
	if err == nil && !ok {
		err = fmt.Errorf("%w: %s has no order", ErrDamaged, id)
	}
	if err != nil {
		return false, err
	}
	return f(id, o)
}
