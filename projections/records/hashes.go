package records

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	bolt "go.etcd.io/bbolt"
)

// hash names something by the first half of a SHA-256: two different names under
// one are not met in practice, and no name's length matters.
type hash [16]byte

// hashOf hashes parts with a mark between them.
func hashOf(parts ...string) hash {
	n := len(parts)
	for _, p := range parts {
		n += len(p)
	}
	buf := make([]byte, 0, 256)
	if n > cap(buf) {
		buf = make([]byte, 0, n)
	}
	for i, p := range parts {
		if i > 0 {
			buf = append(buf, 0)
		}
		buf = append(buf, p...)
	}
	sum := sha256.Sum256(buf)
	return hash(sum[:16])
}

// hash64 is a short hash of a text, for comparisons within one session.
func hash64(s string) uint64 {
	sum := sha256.Sum256([]byte(s))
	return binary.BigEndian.Uint64(sum[:8])
}

// hashTable is a bucket pair keyed by hashes. Random keys put into one large
// B+tree touch, and rewrite, almost a page each; so they go to a small bucket
// first, whose pages each get many, and from there into the large one in one
// sorted pass when the small one is a sixteenth of it.
type hashTable struct {
	tx          *bolt.Tx
	name        string
	fresh, main *bolt.Bucket
	held        map[hash][]byte
	dirty       map[hash]bool
	size        sizes
}

// sizes are how many keys each half has.
type sizes struct{ fresh, main uint64 }

func (s *sizes) code(c *coder) {
	c.u64(&s.fresh)
	c.u64(&s.main)
}

// minSpill is how many keys the small bucket takes before it is worth a pass.
const minSpill = 32 << 10

// freshOf is the name of the small bucket of a pair.
func freshOf(name string) []byte { return []byte(name + ".fresh") }

func newHashTable(tx *bolt.Tx, name string) (*hashTable, error) {
	t := &hashTable{
		tx: tx, name: name, fresh: tx.Bucket(freshOf(name)), main: tx.Bucket([]byte(name)),
		held: map[hash][]byte{}, dirty: map[hash]bool{},
	}
	if raw := tx.Bucket(bMeta).Get([]byte("sizes." + name)); raw != nil {
		if err := readValue(raw, &t.size); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// get gives the value under k, nil if there is none; it must not be changed.
func (t *hashTable) get(k hash) []byte {
	if v, ok := t.held[k]; ok {
		return v
	}
	return look(t.fresh, t.main, k)
}

func look(fresh, main *bolt.Bucket, k hash) []byte {
	if v := fresh.Get(k[:]); v != nil {
		return v
	}
	return main.Get(k[:])
}

// put sets the value under k for good; v is kept.
func (t *hashTable) put(k hash, v []byte) {
	t.held[k], t.dirty[k] = v, true
}

// drop takes k away. An empty value stands for that: a key may be in both halves.
func (t *hashTable) drop(k hash) { t.put(k, nil) }

func (t *hashTable) flush() error {
	if len(t.dirty) == 0 {
		return nil
	}
	keys := make([]hash, 0, len(t.dirty))
	for k := range t.dirty {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b hash) int { return bytes.Compare(a[:], b[:]) })
	for i := range keys {
		if t.fresh.Get(keys[i][:]) == nil {
			t.size.fresh++
		}
		if err := t.fresh.Put(keys[i][:], t.held[keys[i]]); err != nil {
			return err
		}
	}
	clear(t.dirty)
	clear(t.held)
	if t.size.fresh > max(minSpill, t.size.main/16) {
		if err := t.spill(); err != nil {
			return err
		}
	}
	return t.tx.Bucket(bMeta).Put([]byte("sizes."+t.name), appendValue(nil, &t.size))
}

// spill moves the small bucket's keys into the large one.
func (t *hashTable) spill() error {
	for c, k, v := first(t.fresh); k != nil; k, v = c.Next() {
		old := t.main.Get(k)
		switch {
		case len(v) == 0 && old != nil:
			t.size.main--
			if err := t.main.Delete(k); err != nil {
				return err
			}
		case len(v) > 0:
			if old == nil {
				t.size.main++
			}
			if err := t.main.Put(bytes.Clone(k), bytes.Clone(v)); err != nil {
				return err
			}
		}
	}
	t.size.fresh = 0
	if err := t.tx.DeleteBucket(freshOf(t.name)); err != nil {
		return err
	}
	fresh, err := t.tx.CreateBucket(freshOf(t.name))
	t.fresh = fresh
	return err
}

func first(b *bolt.Bucket) (*bolt.Cursor, []byte, []byte) {
	c := b.Cursor()
	k, v := c.First()
	return c, k, v
}

// each walks both halves in key order, as one.
func (t *hashTable) each(do func(k, v []byte) error) error {
	a, ak, av := first(t.fresh)
	b, bk, bv := first(t.main)
	for ak != nil || bk != nil {
		switch order := compareEnds(ak, bk); {
		case order <= 0:
			if len(av) > 0 {
				if err := do(ak, av); err != nil {
					return err
				}
			}
			ak, av = a.Next()
			if order == 0 {
				bk, bv = b.Next()
			}
		default:
			if err := do(bk, bv); err != nil {
				return err
			}
			bk, bv = b.Next()
		}
	}
	return nil
}

// compareEnds compares keys where nil is behind all.
func compareEnds(a, b []byte) int {
	switch {
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	return bytes.Compare(a, b)
}

// reference is what a name stands for: a document's number.
func reference(id uint64) []byte { return binary.AppendUvarint(nil, id) }

func referred(v []byte) (uint64, error) {
	if len(v) == 0 {
		return 0, nil
	}
	id, n := binary.Uvarint(v)
	if n <= 0 {
		return 0, fmt.Errorf("%w: reference of %d bytes", ErrDamaged, len(v))
	}
	return id, nil
}
