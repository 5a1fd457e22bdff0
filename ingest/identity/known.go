package identity

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"cmem/streams/durable"
)

// Fingerprint tells keys apart and says nothing of them: the keyed hash of a
// constant, 16 hex digits.
func (k Key) Fingerprint() string { return k.sum(8, []byte("cmem id.key")) }

// Known is a file of the fingerprints of all keys that named what is in a log,
// one a line. "!fingerprint" is of a key that took the place of a lost one before
// there was a file: any other may be the right one.
type Known struct{ path string }

// KnownKeys gives the file at path, which may be missing.
func KnownKeys(path string) Known { return Known{path} }

// The ways in which a key is not the one a log was written with; compare with
// errors.Is.
var (
	ErrKeyGone  = errors.New("id.key is gone")
	ErrOtherKey = errors.New("id.key is not the key this log was written with")
)

// Check says whether the key at path is known: nil, ErrKeyGone, ErrOtherKey, or
// what the disk says. Where no key is known yet any is. It makes nothing.
func (f Known) Check(path string) error {
	all, err := f.read()
	if err != nil || len(all) == 0 {
		return err
	}
	key, err := readKey(path)
	if errors.Is(err, fs.ErrNotExist) {
		return ErrKeyGone
	}
	if err != nil {
		return err
	}
	if !knows(all, key) {
		return ErrOtherKey
	}
	return nil
}

func knows(all []string, key Key) bool {
	sum := key.Fingerprint()
	if slices.Contains(all, sum) {
		return true
	}
	right := slices.ContainsFunc(all, func(s string) bool { return !strings.HasPrefix(s, "!") })
	return !right && !slices.Contains(all, "!"+sum)
}

// Add makes key a known one; on return that is on the disk.
func (f Known) Add(key Key) error {
	all, err := f.read()
	if err != nil || slices.Contains(all, key.Fingerprint()) {
		return err
	}
	return f.write(append(all, key.Fingerprint()))
}

// Only makes key the one that is known: the log is empty.
func (f Known) Only(key Key) error {
	if all, err := f.read(); err == nil && slices.Equal(all, []string{key.Fingerprint()}) {
		return nil
	}
	return f.write([]string{key.Fingerprint()})
}

// Instead says that key took the place of one that nobody remembered.
func (f Known) Instead(key Key) error { return f.write([]string{"!" + key.Fingerprint()}) }

// Empty says that no key is known.
func (f Known) Empty() (bool, error) {
	all, err := f.read()
	return len(all) == 0, err
}

func (f Known) read() ([]string, error) {
	b, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("known keys: %w", err)
	}
	return strings.Fields(string(b)), nil
}

func (f Known) write(all []string) error {
	if err := durable.WriteFile(f.path, []byte(strings.Join(all, "\n")+"\n"), 0o600); err != nil {
		return fmt.Errorf("known keys: %w", err)
	}
	return nil
}
