package records

import (
	"encoding/binary"

	bolt "go.etcd.io/bbolt"

	"cmem/streams"
)

// Names says what is known of the envelopes at positions from first to last: the
// session of each, and of hook captures the id and the time. It reads the whole
// id table, for whoever has to name what the log lost.
func (s *Store) Names(first, last streams.Position) (map[streams.Position]streams.Name, error) {
	names := map[streams.Position]streams.Name{}
	err := s.view(func(tx *bolt.Tx) error {
		r := newReader(tx)
		ids, err := newHashTable(tx, pIDs)
		if err != nil {
			return err
		}
		err = ids.each(func(_, v []byte) error {
			var h held
			if err := readValue(v, &h); err != nil {
				return err
			}
			at := streams.Position(h.position)
			if at < first || last < at {
				return nil
			}
			s, err := r.session(h.session)
			names[at] = streams.Name{Position: at, Session: s.key}
			return err
		})
		if err != nil {
			return err
		}
		return nameCaptures(tx, names)
	})
	return names, err
}

func nameCaptures(tx *bolt.Tx, names map[streams.Position]streams.Name) error {
	return tx.Bucket(bCaptures).ForEach(func(k, v []byte) error {
		at := streams.Position(binary.BigEndian.Uint64(k[16:]))
		if n, ok := names[at]; ok {
			n.ID = string(v)
			n.Time = fromNanos(int64(binary.BigEndian.Uint64(k[8:]) ^ 1<<63))
			names[at] = n
		}
		return nil
	})
}
