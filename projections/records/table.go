package records

import (
	"encoding/binary"
	"maps"
	"slices"

	bolt "go.etcd.io/bbolt"
)

// table is one bucket keyed by a number, with what a batch has read and changed
// of it in memory: reducers work on values, encoding happens once a batch.
type table[V any, P interface {
	*V
	stored
}] struct {
	bucket *bolt.Bucket
	held   map[uint64]*V
	dirty  map[uint64]bool
}

func newTable[V any, P interface {
	*V
	stored
}](b *bolt.Bucket) *table[V, P] {
	return &table[V, P]{bucket: b, held: map[uint64]*V{}, dirty: map[uint64]bool{}}
}

func be64(k []byte) uint64 { return binary.BigEndian.Uint64(k) }

func key64(id uint64) []byte { return binary.BigEndian.AppendUint64(nil, id) }

// get gives the value under id, nil if there is none. The caller may change it
// only after edit.
func (t *table[V, P]) get(id uint64) (*V, error) {
	if v, ok := t.held[id]; ok {
		return v, nil
	}
	raw := t.bucket.Get(key64(id))
	if raw == nil {
		return nil, nil
	}
	v := new(V)
	if err := readValue(raw, P(v)); err != nil {
		return nil, err
	}
	t.held[id] = v
	return v, nil
}

// edit says that the value under id changes in this batch.
func (t *table[V, P]) edit(id uint64) { t.dirty[id] = true }

// put adds a value under a new id.
func (t *table[V, P]) put(id uint64, v *V) {
	t.held[id], t.dirty[id] = v, true
}

// drop deletes the value under id.
func (t *table[V, P]) drop(id uint64) {
	t.held[id] = nil
	t.dirty[id] = true
}

// changed gives the ids of changed values in order.
func (t *table[V, P]) changed() []uint64 { return slices.Sorted(maps.Keys(t.dirty)) }

// chunk is how much memory for encoded values is made at once.
const chunk = 256 << 10

// flush writes what changed, in key order. buf is memory that must stay as it is
// until the transaction ends; what is left of it is returned.
func (t *table[V, P]) flush(buf []byte) ([]byte, error) {
	for _, id := range t.changed() {
		v := t.held[id]
		if v == nil {
			if err := t.bucket.Delete(key64(id)); err != nil {
				return buf, err
			}
			continue
		}
		if cap(buf)-len(buf) < chunk/16 {
			buf = make([]byte, 0, chunk) // the old one is held by what was put
		}
		from := len(buf)
		buf = appendValue(buf, P(v))
		if err := t.bucket.Put(key64(id), buf[from:len(buf):len(buf)]); err != nil {
			return buf, err
		}
	}
	clear(t.dirty)
	return buf, nil
}
