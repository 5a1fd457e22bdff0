package records

import (
	"fmt"
	"slices"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// Missing says what Lookup says, whichever half of the table an id is in, and also
// of an id that was taken away again.
func TestMissingAgreesWithLookup(t *testing.T) {
	s, err := Open(t.TempDir()+"/records.db", Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var ids []string
	err = s.db.Update(func(tx *bolt.Tx) error {
		main, fresh := tx.Bucket([]byte(pIDs)), tx.Bucket(freshOf(pIDs))
		for n := range 3000 {
			id := fmt.Sprint("claude-code/assistant/", n)
			ids = append(ids, id)
			key, value := hashOf(id), appendValue(nil, &held{position: uint64(n + 1)})
			for half, in := range map[*bolt.Bucket][]byte{
				main:  [][]byte{nil, value, nil, value, value}[n%5],
				fresh: [][]byte{nil, nil, value, {}, value}[n%5], // an empty value: taken away
			} {
				if in == nil {
					continue
				}
				if err := half.Put(key[:], in); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []int{1, 7, 400, 2999} {
		var some, want []string
		for i := 0; i < len(ids); i += step {
			some = append(some, ids[i])
		}
		held, _, err := s.Lookup(some)
		if err != nil {
			t.Fatal(err)
		}
		for i, h := range held {
			if !h.OK {
				want = append(want, some[i])
			}
		}
		got, err := s.Missing(some)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("every %d-th: %d missing, want %d, %v", step, len(got), len(want), err)
		}
	}
	if got, err := s.Missing(nil); err != nil || len(got) > 0 {
		t.Errorf("of none: %v, %v", got, err)
	}
}
