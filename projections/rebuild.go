package projections

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"cmem/streams/durable"
)

// Model is a projection that lives in a file or directory of its own.
type Model[T any] interface {
	Projection[T]
	Close() error
}

// Names beside a model's path. A build that is complete has the name ready for
// the moment between its end and its swap; one old build is kept.
const (
	building = ".new"
	ready    = ".ready"
	old      = ".old"
)

// Rebuild builds the model of path again beside it and puts it in its place:
// what open opens at path+".new" is filled to the end of feed, closed, and
// renamed to path; what was at path becomes path+".old". Until it returns,
// readers of the open old model are served; they should be given the returned
// one, which is open at path, and the old one should then be closed. Nothing may
// be applied to the old model meanwhile.
//
// A crash at any moment leaves the old model, or after Settle the new one. On an
// error the old model is as it was and the unfinished build is removed.
func Rebuild[T any, M Model[T]](ctx context.Context, path string, open func(path string) (M, error), feed Feed[T], c Config) (M, error) {
	var none M
	if err := build(ctx, path+building, open, feed, c); err != nil {
		return none, errors.Join(fmt.Errorf("rebuild %s: %w", path, err), os.RemoveAll(path+building))
	}
	if err := swap(path); err != nil {
		return none, fmt.Errorf("rebuild %s: %w", path, err)
	}
	return open(path)
}

func build[T any, M Model[T]](ctx context.Context, path string, open func(string) (M, error), feed Feed[T], c Config) error {
	// What is there is a build that a crash left; nobody was promised it.
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	m, err := open(path)
	if err != nil {
		return err
	}
	if _, err = New(feed, Projection[T](m), c).RunToEnd(ctx); err != nil {
		return errors.Join(err, m.Close())
	}
	return m.Close()
}

// swap is two renames; Settle finishes what a crash between them left.
func swap(path string) error {
	if err := os.RemoveAll(path + ready); err != nil {
		return err
	}
	if err := durable.Failpoint("swap.ready"); err != nil {
		return err
	}
	if err := os.Rename(path+building, path+ready); err != nil {
		return err
	}
	// From here the new build is used, now or by Settle.
	if err := errors.Join(durable.SyncDir(filepath.Dir(path)), durable.Failpoint("swap.readied")); err != nil {
		return err
	}
	return settle(path)
}

// Settle finishes or clears what a crash left beside path, and is to be called
// before the model at path is opened: a complete build takes its place, an
// incomplete one is removed.
func Settle(path string) error {
	if _, err := os.Lstat(path + building); err == nil {
		durable.Reached("model.build-dropped")
	}
	if err := os.RemoveAll(path + building); err != nil {
		return fmt.Errorf("settle %s: %w", path, err)
	}
	if _, err := os.Lstat(path + ready); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	durable.Reached("model.build-placed")
	if err := settle(path); err != nil {
		return fmt.Errorf("settle %s: %w", path, err)
	}
	return nil
}

func settle(path string) error {
	if err := retire(path); err != nil {
		return err
	}
	if err := durable.Failpoint("swap.place"); err != nil {
		return err
	}
	if err := os.Rename(path+ready, path); err != nil {
		return err
	}
	return errors.Join(durable.SyncDir(filepath.Dir(path)), durable.Failpoint("swap.placed"))
}

// retire makes what is at path, if anything, the one old build that is kept.
func retire(path string) error {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := os.RemoveAll(path + old); err != nil {
		return err
	}
	return os.Rename(path, path+old)
}
