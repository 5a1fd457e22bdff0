package records

import (
	"bytes"
	"slices"

	bolt "go.etcd.io/bbolt"
)

// Missing gives those of ids, in their order, that the id table has not. It is for
// very many at once: it goes through the table as they lie in it, at about the
// price of one look-up for every twenty ids.
func (s *Store) Missing(ids []string) (missing []string, err error) {
	want := make([]wanted, len(ids))
	for i, id := range ids {
		want[i] = wanted{key: hashOf(id), at: i}
	}
	slices.SortFunc(want, func(a, b wanted) int { return bytes.Compare(a.key[:], b.key[:]) })
	err = s.view(func(tx *bolt.Tx) error {
		missing = nil
		// A key in the small half overrules the large one, also where it stands
		// for nothing.
		left := unmet(tx.Bucket(freshOf(pIDs)), want)
		left = unmet(tx.Bucket([]byte(pIDs)), left)
		slices.SortFunc(left, func(a, b wanted) int { return a.at - b.at })
		for _, w := range left {
			missing = append(missing, ids[w.at])
		}
		return nil
	})
	return missing, err
}

// wanted is an id that is looked for.
type wanted struct {
	key  hash
	at   int
	gone bool // the small half says that there is none
}

// unmet gives those of want, which is sorted, that have no value in b.
func unmet(b *bolt.Bucket, want []wanted) (left []wanted) {
	c := b.Cursor()
	k, v := c.First()
	for _, w := range want {
		if !w.gone {
			k, v = forward(c, k, v, w.key)
		}
		met := !w.gone && bytes.Equal(k, w.key[:])
		if met && len(v) > 0 {
			continue
		}
		w.gone = w.gone || met
		left = append(left, w)
	}
	return left
}

// forward moves to the first key that is not before to: step by step where it is
// near, else through the tree.
func forward(c *bolt.Cursor, k, v []byte, to hash) ([]byte, []byte) {
	const near = 16
	for range near {
		if k == nil || bytes.Compare(k, to[:]) >= 0 {
			return k, v
		}
		k, v = c.Next()
	}
	if k == nil || bytes.Compare(k, to[:]) >= 0 {
		return k, v
	}
	return c.Seek(to[:])
}
