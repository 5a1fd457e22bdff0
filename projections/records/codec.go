package records

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// coder writes or reads one stored value, field after field: one method per
// type names its fields once, for both directions. Numbers are varints, texts
// have a length before them. What a type's fields are, and their order, is part
// of schema: raise it with every change, old files are built again.
type coder struct {
	buf     []byte // writing
	src     string // reading; decoded strings share its memory
	reading bool
	err     error
}

var errShort = errors.New("value ends early")

// stored is a value of a bucket.
type stored interface{ code(*coder) }

// appendValue encodes v behind buf.
func appendValue(buf []byte, v stored) []byte {
	c := coder{buf: buf}
	v.code(&c)
	return c.buf
}

// readValue decodes raw, which may be reused afterwards, into v.
func readValue(raw []byte, v stored) error {
	c := coder{src: string(raw), reading: true}
	v.code(&c)
	if c.err != nil {
		return fmt.Errorf("%w: %T of %d bytes: %w", ErrDamaged, v, len(raw), c.err)
	}
	return nil
}

func (c *coder) u64(p *uint64) {
	if !c.reading {
		c.buf = binary.AppendUvarint(c.buf, *p)
		return
	}
	*p = c.uvarint()
}

func (c *coder) uvarint() uint64 {
	var v uint64
	for i := 0; i < len(c.src) && i < binary.MaxVarintLen64; i++ {
		b := c.src[i]
		v |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			c.src = c.src[i+1:]
			return v
		}
	}
	c.err = errShort
	c.src = ""
	return 0
}

func (c *coder) i64(p *int64) {
	u := uint64(*p<<1) ^ uint64(*p>>63)
	c.u64(&u)
	*p = int64(u>>1) ^ -int64(u&1)
}

func (c *coder) num(p *int) {
	v := int64(*p)
	c.i64(&v)
	*p = int(v)
}

func (c *coder) byte(p *uint8) {
	switch {
	case !c.reading:
		c.buf = append(c.buf, *p)
	case len(c.src) == 0:
		c.err = errShort
	default:
		*p, c.src = c.src[0], c.src[1:]
	}
}

func (c *coder) bool(p *bool) {
	var b uint8
	if *p {
		b = 1
	}
	c.byte(&b)
	*p = b != 0
}

// fixed is eight bytes, so that a reader of raw values finds what is behind it.
func (c *coder) fixed(p *uint64) {
	switch {
	case !c.reading:
		c.buf = binary.BigEndian.AppendUint64(c.buf, *p)
	case len(c.src) < 8:
		c.err = errShort
	default:
		*p, c.src = binary.BigEndian.Uint64([]byte(c.src[:8])), c.src[8:]
	}
}

func (c *coder) str(p *string) {
	if !c.reading {
		c.buf = binary.AppendUvarint(c.buf, uint64(len(*p)))
		c.buf = append(c.buf, *p...)
		return
	}
	n := c.uvarint()
	if n > uint64(len(c.src)) {
		c.err, c.src = errShort, ""
		return
	}
	*p, c.src = c.src[:n], c.src[n:]
}

// size codes a list's length; a length that cannot be is an error.
func (c *coder) size(n int) int {
	u := uint64(n)
	c.u64(&u)
	if c.reading && u > uint64(len(c.src)) {
		c.err = errShort
		return 0
	}
	return int(u)
}

func list[T any](c *coder, p *[]T, each func(*coder, *T)) {
	n := c.size(len(*p))
	if c.reading && n > 0 {
		*p = make([]T, n)
	}
	for i := range n {
		each(c, &(*p)[i])
	}
}

func (c *coder) strs(p *[]string) { list(c, p, (*coder).str) }
func (c *coder) u64s(p *[]uint64) { list(c, p, (*coder).u64) }

// word codes a named string type.
func word[S ~string](c *coder, p *S) {
	s := string(*p)
	c.str(&s)
	*p = S(s)
}

// nanos is a time as stored: nanoseconds of Unix time in UTC, 0 for none. What
// cannot be told in them is none; times are for display and ranges only.
func nanos(t time.Time) int64 {
	if y := t.Year(); y < 1700 || y > 2200 {
		return 0
	}
	return t.UnixNano()
}

func fromNanos(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}
