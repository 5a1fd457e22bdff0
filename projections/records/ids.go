package records

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"time"

	bolt "go.etcd.io/bbolt"

	"cmem/streams"
	"cmem/streams/envelope"
)

// held is what the id table keeps of an envelope.
type held struct {
	session, position uint64 // session number, 0 none
	digest            string
}

// code packs a digest of hex digits to half its length.
func (h *held) code(c *coder) {
	packed, plain := "", h.digest
	if raw, err := hex.DecodeString(h.digest); !c.reading && err == nil && hex.EncodeToString(raw) == h.digest {
		packed, plain = string(raw), ""
	}
	c.u64(&h.session)
	c.u64(&h.position)
	c.str(&packed)
	c.str(&plain)
	if c.reading {
		h.digest = plain + hex.EncodeToString([]byte(packed))
	}
}

// hold enters the envelope's id.
func (b *batch) hold(id hash, s *session) {
	h := held{position: b.position, digest: b.envelope.Digest}
	if s != nil {
		h.session = s.no
	}
	b.ids.put(id, appendValue(make([]byte, 0, 24), &h))
}

// Lookup answers for each envelope id, in the order of ids, and says up to which
// checkpoint it speaks; both come from one read transaction. An empty model
// gives a zero checkpoint.
func (s *Store) Lookup(ids []string) ([]streams.Held, streams.Checkpoint, error) {
	out := make([]streams.Held, len(ids))
	var at streams.Checkpoint
	err := s.view(func(tx *bolt.Tx) error {
		var err error
		if at, err = readCheckpoint(tx); err != nil {
			return err
		}
		r := newReader(tx)
		fresh, main := tx.Bucket(freshOf(pIDs)), tx.Bucket([]byte(pIDs))
		for i, id := range ids {
			if out[i], err = r.heldUnder(look(fresh, main, hashOf(id))); err != nil {
				return fmt.Errorf("id %q: %w", id, err)
			}
		}
		return nil
	})
	return out, at, err
}

func (r *reader) heldUnder(raw []byte) (streams.Held, error) {
	if len(raw) == 0 {
		return streams.Held{}, nil
	}
	var h held
	if err := readValue(raw, &h); err != nil {
		return streams.Held{}, err
	}
	s, err := r.session(h.session)
	if err != nil {
		return streams.Held{}, err
	}
	return streams.Held{OK: true, Session: s.key, Digest: h.digest}, nil
}

// captureKey sorts captures of a session by time. The times of before 1970 come
// first because the sign bit is turned.
func captureKey(session string, at int64, position uint64) []byte {
	k := hashOf(session)
	out := binary.BigEndian.AppendUint64(k[:8:8], uint64(at)^1<<63)
	return binary.BigEndian.AppendUint64(out, position)
}

// captured notes a delivery by a hook.
func (b *batch) captured() error {
	e := b.envelope
	if e.Type != envelope.HookReceived && e.Type != envelope.EventSkipped {
		return nil
	}
	return b.tx.Bucket(bCaptures).Put(captureKey(e.Subject, nanos(e.Time), b.position), []byte(e.ID))
}

// Captures gives the hook captures of one session with from ≤ Time ≤ to: one for
// each hook envelope, skipped ones too.
func (s *Store) Captures(session string, from, to time.Time) ([]streams.Capture, error) {
	var out []streams.Capture
	err := s.view(func(tx *bolt.Tx) error {
		first, last := captureKey(session, nanos(from), 0), captureKey(session, nanos(to), 1<<63)
		c := tx.Bucket(bCaptures).Cursor()
		for k, v := c.Seek(first); k != nil && string(k) < string(last); k, v = c.Next() {
			at := int64(binary.BigEndian.Uint64(k[8:]) ^ 1<<63)
			out = append(out, streams.Capture{ID: string(v), Time: fromNanos(at)})
		}
		return nil
	})
	return out, err
}
