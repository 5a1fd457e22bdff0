package hook

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// encoding is one in which a character takes more than one byte; some Windows
// shells re-encode pipes. Between the letters of JSON stand zeros then, which
// would hide words from redaction.
type encoding struct {
	size int // bytes of a unit: 2 or 4
	big  bool
	mark string
}

// encodings, the marks that begin as others do first.
var encodings = []encoding{
	{4, false, "\xff\xfe\x00\x00"}, {4, true, "\x00\x00\xfe\xff"}, {2, false, "\xff\xfe"}, {2, true, "\xfe\xff"},
}

// marked gives the encoding whose byte order mark b begins with.
func marked(b []byte) *encoding {
	for i := range encodings {
		if bytes.HasPrefix(b, []byte(encodings[i].mark)) {
			return &encodings[i]
		}
	}
	return nil
}

// text decodes b; what is cut off at the end is left out.
func (e encoding) text(b []byte) []byte {
	units := make([]uint16, 0, len(b)/e.size)
	out := make([]byte, 0, len(b)/e.size)
	for ; len(b) >= e.size; b = b[e.size:] {
		var u uint32
		for i := range e.size {
			c := uint32(b[i])
			if e.big {
				u = u<<8 | c
			} else {
				u |= c << (8 * i)
			}
		}
		if e.size == 2 {
			units = append(units, uint16(u))
		} else {
			out = utf8.AppendRune(out, rune(min(u, utf8.MaxRune+1)))
		}
	}
	if e.size == 2 {
		return []byte(string(utf16.Decode(units)))
	}
	return out
}

// zerosBetween says whether zeros stand between the characters of an object at
// the start of b: {.".s. or {...".... known is false if more must come to tell.
func zerosBetween(b []byte) (yes, known bool) {
	if len(b) < 2 {
		return false, false
	}
	if b[1] != 0 {
		return false, true
	}
	if len(b) < 4 {
		return false, false
	}
	if b[2] == 0 {
		return b[3] == 0, true
	}
	return b[3] == 0 || b[2] >= 0x80, true
}

// fromWide reads the object whose brace is at i of b, in each encoding that it
// may be in. Without one that fits, rest is the text.
func fromWide(b []byte, i int, judge func([]byte) fit) (in input) {
	for _, e := range encodings {
		from := i
		if e.big {
			from -= e.size - 1
		}
		if from < 0 || i+e.size > len(b) || !alone(b, from, i, e) {
			continue
		}
		tail := b[from:]
		f := newFinder(judge)
		text := e.text(tail)
		if value, ok := f.add(text); ok {
			return input{value: value}
		}
		if got := f.input(); in.empty() || in.value == nil && got.value != nil {
			in = got
		}
	}
	return in
}

// alone says that the brace at i of b is one character of e.
func alone(b []byte, from, i int, e encoding) bool {
	for j := from; j < from+e.size; j++ {
		if j != i && b[j] != 0 {
			return false
		}
	}
	return true
}
