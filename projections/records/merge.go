package records

import (
	"bytes"
	"encoding/binary"

	bolt "go.etcd.io/bbolt"
)

// merge walks the lists of several projects and kinds as one, in log order:
// by id, and of one id prompts before observations before summaries.
type merge struct {
	runs      []*run
	ascending bool
}

// run is one list; k is nil at its end.
type run struct {
	cursor *bolt.Cursor
	prefix []byte
	kind   kind
	rank   uint64
	id     uint64
	at     int64
	done   bool
}

// place is where something stands in log order.
type spot struct{ id, rank uint64 }

func (s spot) before(o spot) bool { return s.id < o.id || s.id == o.id && s.rank < o.rank }

func rankOf(k kind) uint64 {
	switch k {
	case kindPrompt:
		return 0
	case kindObservation:
		return 1
	case kindSummary:
		return 2
	}
	return 3
}

// newMerge walks all, from the newest or the oldest.
func newMerge(tx *bolt.Tx, kinds []kind, projects []uint64, ascending bool) *merge {
	from := spot{id: 1<<64 - 1, rank: 9}
	if ascending {
		from = spot{}
	}
	return newMergeAt(tx, kinds, projects, ascending, from)
}

// newMergeAt walks what is before from, newest first; or from it on, oldest first.
func newMergeAt(tx *bolt.Tx, kinds []kind, projects []uint64, ascending bool, from spot) *merge {
	m := &merge{ascending: ascending}
	for _, k := range kinds {
		for _, no := range projects {
			r := &run{cursor: tx.Bucket(bLists).Cursor(), prefix: listKey(k, no, 0)[:5], kind: k, rank: rankOf(k)}
			r.seek(from, ascending)
			if !r.done {
				m.runs = append(m.runs, r)
			}
		}
	}
	return m
}

func (r *run) seek(from spot, ascending bool) {
	key, value := r.cursor.Seek(binary.BigEndian.AppendUint64(bytes.Clone(r.prefix), from.id))
	if ascending {
		r.set(key, value)
		for !r.done && (spot{r.id, r.rank}).before(from) {
			r.step(true)
		}
		return
	}
	if key == nil {
		key, value = r.cursor.Last()
	}
	// The first key at or behind; what is before from is there or before it.
	for key != nil && bytes.Compare(key, r.prefix) >= 0 {
		if bytes.HasPrefix(key, r.prefix) && (spot{binary.BigEndian.Uint64(key[5:]), r.rank}).before(from) {
			break
		}
		key, value = r.cursor.Prev()
	}
	r.set(key, value)
}

func (r *run) set(key, value []byte) {
	if r.done = !bytes.HasPrefix(key, r.prefix); r.done {
		return
	}
	r.id, r.at = binary.BigEndian.Uint64(key[5:]), 0
	if len(value) == 8 {
		r.at = int64(binary.BigEndian.Uint64(value))
	}
}

func (r *run) step(ascending bool) {
	if ascending {
		r.set(r.cursor.Next())
	} else {
		r.set(r.cursor.Prev())
	}
}

// nextOf gives the next one with its kind.
func (m *merge) nextOf() (c candidate, k kind, ok bool) {
	var best *run
	at := 0
	for i, r := range m.runs {
		if best == nil || (spot{r.id, r.rank}).before(spot{best.id, best.rank}) == m.ascending {
			best, at = r, i
		}
	}
	if best == nil {
		return c, 0, false
	}
	c, k = candidate{best.id, best.at}, best.kind
	if best.step(m.ascending); best.done {
		m.runs[at] = m.runs[len(m.runs)-1]
		m.runs = m.runs[:len(m.runs)-1]
	}
	return c, k, true
}

func (m *merge) next() (candidate, bool) {
	c, _, ok := m.nextOf()
	return c, ok
}
