package records

import (
	"bytes"
	"context"
	"fmt"

	bolt "go.etcd.io/bbolt"
)

// Check reads all that the file holds, a bucket in each transaction so that none
// lasts long, and says ErrDamaged if a page, the order of keys or a value is not
// what it should be. It does not tell values that can be read from those that
// were written: for that, build the model again and compare digests.
func (s *Store) Check(ctx context.Context) error {
	for _, name := range buckets() {
		err := s.view(func(tx *bolt.Tx) error { return checkBucket(ctx, tx.Bucket(name), valueOf(name)) })
		if err != nil {
			return fmt.Errorf("records %s: bucket %s: %w", s.path, name, err)
		}
	}
	return nil
}

// valueOf makes a value of those a bucket holds; nil if it has no form to check.
func valueOf(bucket []byte) func() stored {
	switch string(bucket) {
	case string(bSessions):
		return func() stored { return &session{} }
	case string(bProjects):
		return func() stored { return &project{} }
	case string(bAgents):
		return func() stored { return &agent{} }
	case string(bTurns):
		return func() stored { return &turn{} }
	case string(bPrompts):
		return func() stored { return &prompt{} }
	case string(bTexts):
		return func() stored { return &text{} }
	case string(bTools):
		return func() stored { return &tool{} }
	case string(bObservations):
		return func() stored { return &observation{} }
	case string(bSummaries):
		return func() stored { return &summary{} }
	}
	return nil
}

func checkBucket(ctx context.Context, b *bolt.Bucket, value func() stored) error {
	if b == nil {
		return fmt.Errorf("%w: it is missing", ErrDamaged)
	}
	var last []byte
	read := 0
	c := b.Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		if read++; read%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if last != nil && bytes.Compare(last, k) >= 0 {
			return fmt.Errorf("%w: keys are not in order", ErrDamaged)
		}
		last = k
		if value == nil {
			continue
		}
		if err := readValue(v, value()); err != nil {
			return err
		}
	}
	return nil
}
