package block

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"strconv"

	"github.com/minio/highwayhash"
)

const (
	headBytes = 22
	sumBytes  = highwayhash.Size64
	// least is the length of a record without subject, header and data.
	least = headBytes + sumBytes
	// most is where the server itself calls a length nonsense.
	most = 32 << 20

	headerBit    = 1 << 31
	erasedBit    = 1 << 63
	tombstoneBit = 1 << 62
	flagBits     = erasedBit | tombstoneBit
)

// Kind of a record.
type Kind byte

const (
	Message   Kind = iota
	Erased         // a message that was removed; its sequence is taken
	Tombstone      // says that a message of another block was removed
)

// Record is one record whose checksum holds. Its slices are the block's own.
type Record struct {
	Kind     Kind
	Sequence uint64
	Time     int64 // ns since 1970
	Subject  []byte
	Header   []byte
	Data     []byte
	Offset   int    // in the block
	Raw      []byte // all of it, as it lies there
}

// sums computes the checksums of one block's records.
type sums struct {
	hash   hash.Hash64
	buffer [sumBytes]byte
}

func newSums(stream string, number int) (*sums, error) {
	key := sha256.Sum256([]byte(stream + "-" + strconv.Itoa(number)))
	h, err := highwayhash.New64(key[:])
	return &sums{hash: h}, err
}

func (s *sums) of(parts ...[]byte) []byte {
	s.hash.Reset()
	for _, p := range parts {
		s.hash.Write(p)
	}
	return s.hash.Sum(s.buffer[:0])
}

// lengths are what a record says of itself before its checksum is looked at.
type lengths struct{ all, subject, header int }

// measure reads the lengths of the record at the start of b; ok if they can be
// those of a record that lies whole in b.
func measure(b []byte) (l lengths, ok bool) {
	if len(b) < least {
		return l, false
	}
	n := binary.LittleEndian.Uint32(b)
	hasHeader := n&headerBit != 0
	n &^= headerBit
	if n < least || n > most || int(n) > len(b) {
		return l, false
	}
	l = lengths{all: int(n), subject: int(binary.LittleEndian.Uint16(b[20:])), header: -1}
	room := l.all - least - l.subject
	if hasHeader && room >= 4 {
		l.header = int(binary.LittleEndian.Uint32(b[headBytes+l.subject:]))
		room -= 4 + l.header
	} else if hasHeader {
		return l, false
	}
	return l, room >= 0
}

// parse reads the record at the start of b if it is whole.
func (s *sums) parse(b []byte) (r Record, ok bool) {
	l, ok := measure(b)
	if !ok {
		return r, false
	}
	raw := b[:l.all:l.all]
	rest, sum := raw[headBytes:l.all-sumBytes], raw[l.all-sumBytes:]
	r.Raw, r.Subject, rest = raw, rest[:l.subject], rest[l.subject:]
	if l.header >= 0 {
		r.Header, rest = rest[4:4+l.header], rest[4+l.header:]
	}
	r.Data = rest
	if !bytes.Equal(s.of(raw[4:20], r.Subject, r.Header, r.Data), sum) {
		return Record{}, false
	}
	sequence := binary.LittleEndian.Uint64(raw[4:])
	switch {
	case sequence&tombstoneBit != 0:
		r.Kind = Tombstone
	case sequence&erasedBit != 0 || sequence == 0:
		r.Kind = Erased
	}
	r.Sequence = sequence &^ flagBits
	r.Time = int64(binary.LittleEndian.Uint64(raw[12:]))
	return r, true
}

// appendErased writes a record that takes a sequence and has nothing.
func (s *sums) appendErased(to []byte, sequence uint64, time int64) []byte {
	var head [headBytes]byte
	binary.LittleEndian.PutUint32(head[0:], least)
	binary.LittleEndian.PutUint64(head[4:], sequence|erasedBit)
	binary.LittleEndian.PutUint64(head[12:], uint64(time))
	to = append(to, head[:]...)
	return append(to, s.of(head[4:20])...)
}
