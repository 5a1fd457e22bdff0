package records

import (
	"time"

	bolt "go.etcd.io/bbolt"

	"cmem/streams"
)

// Remembered is how far the model at path has come, and with which log, read
// without opening it for use: whatever keeps it from being used, what it saw of the
// log is still worth knowing. It is zero where there is no model or it cannot be
// read.
func Remembered(path string) (at streams.Checkpoint) {
	size, err := check(path)
	if err != nil || size < 0 {
		return streams.Checkpoint{}
	}
	if err := remember(path, &at); err != nil {
		return streams.Checkpoint{}
	}
	return at
}

func remember(path string, at *streams.Checkpoint) (err error) {
	defer guard(&err)()
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true, Timeout: 200 * time.Millisecond, NoStatistics: true})
	if err != nil {
		return err
	}
	defer db.Close()
	return db.View(func(tx *bolt.Tx) (err error) {
		if tx.Bucket(bMeta) == nil {
			return ErrForeign
		}
		*at, err = readCheckpoint(tx)
		return err
	})
}
