package streams

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"cmem/streams/durable"
)

// maxCuts is of how many findings that lost nothing the copies of blocks are kept.
const maxCuts = 4

// thinEvidence removes the copies of blocks of which only the end of an append that
// was never finished was cut off, but those of the newest findings: every kill may
// leave one of 8 MB. That they were found is kept, and so is every copy of a block
// that lost something.
func (l layout) thinEvidence() error {
	all, err := l.findings()
	if err != nil {
		return err
	}
	cuts := slices.DeleteFunc(all, func(f Finding) bool { return !f.Mended || len(f.Lost)+len(f.Spoiled) > 0 })
	var errs []error
	for _, f := range cuts[:max(0, len(cuts)-maxCuts)] {
		for _, name := range f.Blocks {
			durable.Reached("evidence.thinned")
			if err := os.Remove(filepath.Join(f.Evidence, filepath.Base(name))); !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// sameEvidence finds a folder that holds the blocks as they are, left by a start
// that came no further; "" if there is none. Without it, each of many starts that
// are refused would add a copy.
func (l layout) sameEvidence(blocks []surveyed) (string, error) {
	entries, err := os.ReadDir(l.evidence())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	for _, e := range entries {
		dir := filepath.Join(l.evidence(), e.Name())
		if _, err := os.Lstat(filepath.Join(dir, findingName)); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		differs := slices.ContainsFunc(blocks, func(b surveyed) bool {
			return !sameBytes(filepath.Join(dir, b.name), l.block(b.name))
		})
		if !differs {
			durable.Reached("evidence.same")
			return dir, nil
		}
	}
	return "", nil
}

func sameBytes(one, other string) bool {
	a, err := os.ReadFile(one)
	if err != nil {
		return false
	}
	b, err := os.ReadFile(other)
	return err == nil && bytes.Equal(a, b)
}
