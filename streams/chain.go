package streams

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"

	"cmem/streams/envelope"
)

// nonce makes an inner digest unguessable, so that it may stay when the body is
// forgotten.
type nonce [12]byte

func newNonce() (n nonce) {
	rand.Read(n[:]) // never fails: it ends the process instead
	return n
}

// inner is the digest of one value alone.
func inner(n nonce, e *envelope.Envelope) Digest {
	var buf [1024]byte
	h := sha256.New()
	h.Write(n[:])
	h.Write(envelope.Canonical(buf[:0], e))
	h.Write(e.Body)
	var d Digest
	h.Sum(d[:0])
	return d
}

// link is the chain after a value.
func link(previous, inner Digest) Digest {
	var both [2 * len(previous)]byte
	copy(both[:], previous[:])
	copy(both[len(previous):], inner[:])
	return sha256.Sum256(both[:])
}

// text is the form of digests and nonces in headers and lines: strict, so that
// two texts never mean the same bytes.
var text = base64.RawURLEncoding.Strict()

var errDigest = errors.New("not a digest")

// String is the digest as it stands in headers and exports.
func (d Digest) String() string { return text.EncodeToString(d[:]) }

func parseDigest(s string) (d Digest, err error) {
	return d, decodeText(d[:], s)
}

func parseNonce(s string) (n nonce, err error) {
	return n, decodeText(n[:], s)
}

// decodeText fills to, neither more nor less. The package skips line breaks, so
// the length is checked in both forms.
func decodeText(to []byte, s string) error {
	var buf [64]byte
	if len(s) != text.EncodedLen(len(to)) {
		return errDigest
	}
	n, err := text.Decode(buf[:], []byte(s))
	if err != nil || n != len(to) {
		return errDigest
	}
	copy(to, buf[:n])
	return nil
}
