package records

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"cmem/streams"
	"cmem/streams/durable"
	"cmem/streams/envelope"
	"cmem/streams/event"
)

// held is what the id table keeps of an envelope.
type held struct {
	session, position uint64 // session number, 0 none; nowhere: the log lost it
	digest            string
}

// nowhere is no position: the first is 1.
const nowhere = 0

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
	if err := readValue(raw, &h); err != nil || h.position == nowhere {
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

// lost marks the ids that lay where the log holds nothing any more, so that
// whoever brings them again is not told that they are held, and lets go of their
// captures, so that nothing is taken for a second delivery of them. What was read
// there stays as it was folded. It looks at all ids, which is dear, and damage is
// rare.
func (b *batch) lost(spans []event.Lost) error {
	gone := func(position uint64) bool {
		return slices.ContainsFunc(spans, func(l event.Lost) bool { return l.First <= position && position <= l.Last })
	}
	if err := b.ids.flush(); err != nil {
		return err
	}
	marked := map[hash]held{}
	err := b.ids.each(func(k, v []byte) error {
		var h held
		if err := readValue(v, &h); err != nil {
			return err
		}
		if gone(h.position) {
			h.position = nowhere
			marked[hash(k)] = h
		}
		return nil
	})
	for id, h := range marked {
		b.ids.put(id, appendValue(nil, &h))
	}
	return errors.Join(err, b.dropCaptures(gone))
}

func (b *batch) dropCaptures(gone func(position uint64) bool) error {
	captures := b.tx.Bucket(bCaptures)
	var keys [][]byte
	for c, k, _ := first(captures); k != nil; k, _ = c.Next() {
		if gone(binary.BigEndian.Uint64(k[16:])) {
			keys = append(keys, bytes.Clone(k))
		}
	}
	for _, k := range keys {
		if err := captures.Delete(k); err != nil {
			return err
		}
	}
	return nil
}

// foldedBefore reports whether an envelope with a known id changes nothing: a
// second one with an id, or one again that was folded and then lost, whose place
// is noted.
func (b *batch) foldedBefore(id hash) (bool, error) {
	raw := b.ids.get(id)
	if len(raw) == 0 {
		return false, nil
	}
	var h held
	if err := readValue(raw, &h); err != nil {
		return false, err
	}
	if h.position != nowhere {
		b.totals.Repeated++
		return true, nil
	}
	if h.digest != b.envelope.Digest {
		return false, nil
	}
	durable.Reached("records.lost.again")
	h.position = b.position
	b.ids.put(id, appendValue(nil, &h))
	return true, b.captured()
}
