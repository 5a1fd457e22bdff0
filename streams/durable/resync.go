package durable

import (
	"errors"
	"os"
)

// Resync makes sure that what is read of the file at path from now on is what the
// disk has, after a writer died or its sync failed: the file is synced, and what
// memory holds of it is dropped. On an error nothing may be called saved that the
// writer had not been told of.
func Resync(path string) (err error) {
	if err := Failpoint("file.resync"); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := f.Sync(); err != nil {
		return err
	}
	if err := forgetPages(f); err != nil {
		return &os.PathError{Op: "fadvise", Path: path, Err: err}
	}
	return nil
}
