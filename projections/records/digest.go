package records

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	stdhash "hash"

	bolt "go.etcd.io/bbolt"
)

// Digest is a hash over all that readers see, ids, positions and lists included,
// with times in UTC; hex. It is equal for two models of one log and version,
// however they were batched, resumed or rebuilt. What depends on batches is left
// out: where a document stands among changes, and the two halves of a pair.
func (s *Store) Digest() (string, error) {
	h := sha256.New()
	err := s.view(func(tx *bolt.Tx) error {
		for _, name := range documents() {
			if err := digestBucket(h, tx, name, 8); err != nil {
				return err
			}
		}
		for _, name := range [][]byte{bProjects, bAgents, bLists, bCaptures} {
			if err := digestBucket(h, tx, name, 0); err != nil {
				return err
			}
		}
		for _, name := range pairs() {
			t, err := newHashTable(tx, name)
			if err != nil {
				return err
			}
			if err := t.each(func(k, v []byte) error { return digestPair(h, []byte(name), k, v) }); err != nil {
				return err
			}
		}
		return digestMeta(h, tx)
	})
	return hex.EncodeToString(h.Sum(nil)), err
}

func digestBucket(h stdhash.Hash, tx *bolt.Tx, name []byte, skip int) error {
	return tx.Bucket(name).ForEach(func(k, v []byte) error {
		return digestPair(h, name, k, v[min(skip, len(v)):])
	})
}

func digestMeta(h stdhash.Hash, tx *bolt.Tx) error {
	at, err := readCheckpoint(tx)
	if err != nil {
		return err
	}
	return digestPair(h, bMeta, binary.AppendUvarint([]byte(at.Log+" "), uint64(at.Position)), tx.Bucket(bMeta).Get(kStats))
}

// digestPair hashes parts with their lengths, so that no two models meet.
func digestPair(h stdhash.Hash, parts ...[]byte) error {
	for _, p := range parts {
		if _, err := h.Write(binary.AppendUvarint(nil, uint64(len(p)))); err != nil {
			return err
		}
		if _, err := h.Write(p); err != nil {
			return err
		}
	}
	return nil
}
