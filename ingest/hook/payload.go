package hook

import (
	"bytes"
	"encoding/json"
)

// fit says how surely an object is a host's payload.
type fit byte

const (
	stranger fit = iota // it has no member of one
	likely
	sure // it names its session and its event: nothing better comes
)

// finder looks for the host's JSON object in bytes that arrive in pieces. There
// may be noise before it (a shell profile that prints, a line of some tool's
// JSON log, a byte order mark), raw control bytes inside its strings, an encoding
// with zeros between, and the pipe may stay open behind it.
type finder struct {
	fit    func(value []byte) fit
	buf    []byte
	start  int // of the candidate object, -1: none yet
	at     int // next byte to look at
	depth  int
	quoted bool
	escape bool
	failed int  // candidates that were none
	wide   bool // the candidate has zeros between: read when it is whole
	narrow bool // … and was none

	second  []byte // the first likely object
	before  int    // where it began
	only    []byte // a stranger's object that began where all began …
	onlyEnd int    // … and where it ended
}

// newFinder makes a finder of objects that fit; nil: any does.
func newFinder(judge func([]byte) fit) *finder {
	if judge == nil {
		judge = func([]byte) fit { return sure }
	}
	return &finder{fit: judge, start: -1}
}

// add takes more bytes and says whether an object is complete that surely is
// the host's.
func (f *finder) add(p []byte) (value []byte, ok bool) {
	f.buf = append(f.buf, p...)
	for f.failed < maxCandidates && f.next() {
		fixed := repair(f.buf[f.start:f.at])
		if !json.Valid(fixed) {
			f.restart()
			continue
		}
		switch f.fit(fixed) {
		case sure:
			return fixed, true
		case likely:
			if f.second == nil {
				f.second, f.before = bytes.Clone(fixed), f.start
			}
		default:
			if f.only == nil && f.blank(f.buf[:f.start]) {
				f.only, f.onlyEnd = bytes.Clone(fixed), f.at
			}
		}
		f.begin(f.at)
	}
	return nil, false
}

// begin looks for the next candidate from i on.
func (f *finder) begin(i int) {
	f.at, f.start, f.depth, f.quoted, f.escape, f.narrow = i, -1, 0, false, false, false
}

// restart goes on behind the brace that began no object.
func (f *finder) restart() {
	f.failed++
	f.begin(f.start + 1)
}

// rescue is asked when nothing more comes: an object may hide behind a brace in
// the noise that was never closed, or between zeros.
func (f *finder) rescue() (value []byte, ok bool) {
	for f.start >= 0 && f.failed < maxCandidates {
		if f.wide {
			if in := fromWide(f.buf, f.start, f.fit); in.value != nil {
				return in.value, true
			}
			f.wide, f.narrow = false, true // it has some stray zeros only
		} else {
			f.restart()
		}
		if value, ok = f.add(nil); ok {
			return value, true
		}
	}
	return nil, false
}

// blank says that nothing is in b but a byte order mark, spaces and zeros.
func (f *finder) blank(b []byte) bool { return len(trim(b)) == 0 }

// maxCandidates bounds the work on bytes that are nothing but braces: each may
// mean one more look at all of them.
const maxCandidates = 64

// next moves on to the end of a bracketed candidate; false: more is needed.
func (f *finder) next() bool {
	if f.wide || marked(f.buf) != nil {
		return false // it is read when it is whole
	}
	if f.start < 0 {
		n := bytes.IndexByte(f.buf[f.at:], '{')
		if n < 0 {
			f.at = len(f.buf)
			return false
		}
		f.start = f.at + n
		f.at = f.start
	}
	if f.at == f.start && !f.narrow {
		var known bool
		if f.wide, known = zerosBetween(f.buf[f.start:]); f.wide || !known {
			return false
		}
	}
	for f.at < len(f.buf) {
		c := f.buf[f.at]
		f.at++
		switch {
		case f.escape:
			f.escape = false
		case f.quoted:
			f.quoted, f.escape = c != '"', c == '\\'
		case c == '"':
			f.quoted = true
		case c == '{' || c == '[':
			f.depth++
		case c == '}' || c == ']':
			if f.depth--; f.depth == 0 {
				return true
			}
		}
	}
	return false
}

// rest is what arrived when no object was found, without marks, spaces and
// zeros around it.
func (f *finder) rest() []byte { return trim(f.buf) }

func trim(b []byte) []byte {
	return bytes.Trim(bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")), " \t\r\n\x00")
}

// repair escapes what must not stand raw in a JSON string: control bytes, and a
// backslash before a letter that is no escape (a Windows path written by hand).
// Control bytes between values become spaces. Without any it returns b itself.
func repair(b []byte) []byte {
	if !needsRepair(b) {
		return b
	}
	out := make([]byte, 0, len(b)+64)
	quoted := false
	for i := 0; i < len(b); i++ {
		c := b[i]
		switch {
		case c == '"':
			quoted = !quoted
			out = append(out, c)
		case c == '\\' && quoted:
			out = append(out, c)
			if i+1 < len(b) && escapable(b[i+1:]) {
				i++
				out = append(out, b[i])
			} else {
				out = append(out, '\\')
			}
		case c < 0x20 && quoted:
			out = appendControl(out, c)
		case c < 0x20 && c != '\n' && c != '\r' && c != '\t':
			out = append(out, ' ')
		default:
			out = append(out, c)
		}
	}
	return out
}

func needsRepair(b []byte) bool {
	quoted := false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && quoted:
			if i+1 == len(b) || !escapable(b[i+1:]) {
				return true
			}
			i++
		case c < 0x20 && (quoted || c != '\n' && c != '\r' && c != '\t'):
			return true
		}
	}
	return false
}

// escapable: may these bytes follow a backslash?
func escapable(b []byte) bool {
	if b[0] != 'u' {
		return bytes.IndexByte([]byte(`"\/bfnrt`), b[0]) >= 0
	}
	if len(b) < 5 {
		return false
	}
	for _, c := range b[1:5] {
		if !('0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f') {
			return false
		}
	}
	return true
}

const hexDigits = "0123456789abcdef"

func appendControl(out []byte, c byte) []byte {
	switch c {
	case '\n':
		return append(out, `\n`...)
	case '\r':
		return append(out, `\r`...)
	case '\t':
		return append(out, `\t`...)
	}
	return append(out, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}
