// Package identity names things: envelopes by what was said, facts by what they
// are about, never by their delivery. Two deliveries of one thing get one name;
// two things get two. Standard library only.
//
//	hook, host gives an id     <host>/<event>/<id>
//	hook, host gives none      <host>/<event>/<content hash>@<capture ns>
//	transcript, record has id  <host>/<type>/<id>
//	transcript, record has none <host>/<type>/<content hash>#<occurrence>
//	fact, id of random form    <host>/<id>
//	fact, any other            <host>/<session>/<tool>/<hash of arguments>, then the ordinal
//
// Content hashes are HMACs over raw bytes under id.key, so a name neither
// reveals private text nor changes when redaction improves. No name holds text
// of the user's: an id that is no plain word of at most 200 bytes goes in as a
// hash.
package identity

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"cmem/streams/durable"
)

// Key is the content of id.key.
type Key [32]byte

// LoadKey reads the key at path and makes it if there is none. Many processes
// may come at once: one key wins, and all return that one. On return the key is
// on the disk, name and bytes. A file of the wrong size is an error and stays:
// a new key would give every known event a new name.
func LoadKey(path string) (Key, error) {
	key, err := readKey(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = makeKey(path); err == nil {
			key, err = readKey(path)
		}
	}
	if err != nil {
		return Key{}, fmt.Errorf("identity key: %w", err)
	}
	return key, nil
}

func readKey(path string) (key Key, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return key, err
	}
	if len(data) != len(key) {
		return key, fmt.Errorf("%s has %d bytes, not %d; put it back from a backup", path, len(data), len(key))
	}
	copy(key[:], data)
	return key, nil
}

// makeKey leaves a key at path, ours or that of whoever was faster. A link
// never replaces, so a reader sees no file or a whole one.
func makeKey(path string) (err error) {
	dir := filepath.Dir(path)
	temp, err := os.CreateTemp(dir, filepath.Base(path)+".*") // 0600
	if err != nil {
		return err
	}
	// A crash before the link leaves only this temporary file.
	defer func() { err = errors.Join(err, os.Remove(temp.Name())) }()
	var key Key
	rand.Read(key[:])
	_, err = temp.Write(key[:])
	err = errors.Join(err, temp.Sync(), temp.Close())
	if err != nil {
		return err
	}
	if err := durable.Failpoint("key.link"); err != nil {
		return err
	}
	if err := os.Link(temp.Name(), path); errors.Is(err, fs.ErrExist) {
		durable.Reached("key.another-was-faster")
	} else if err != nil {
		return err
	}
	// The loser of the race syncs too: its events may be on the disk before the
	// winner's sync, and would be nameless without the key.
	return errors.Join(durable.SyncDir(dir), durable.Failpoint("key.linked"))
}

// ContentHash is the keyed hash of raw words, 32 hex digits.
func (k Key) ContentHash(raw []byte) string { return k.sum(16, raw) }

// Digest is the keyed hash of host-normalised bytes, 16 hex digits: enough to
// see that two values of one name differ.
func (k Key) Digest(normalised []byte) string { return k.sum(8, normalised) }

func (k Key) sum(bytes int, parts ...[]byte) string {
	h := hmac.New(sha256.New, k[:])
	for _, p := range parts {
		h.Write(p)
	}
	return hex.EncodeToString(h.Sum(nil)[:bytes])
}
