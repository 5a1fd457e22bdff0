package hook

import (
	"bytes"
	"encoding/json"
	"unicode/utf16"
)

// finder looks for the first JSON object in bytes that arrive in pieces. Hosts
// put noise before it (a shell profile that prints, a byte order mark), raw
// control bytes inside its strings, and may keep the pipe open behind it.
type finder struct {
	buf    []byte
	start  int // of the candidate object, -1: none yet
	at     int // next byte to look at
	depth  int
	quoted bool
	escape bool
	failed int // candidates that were none
}

func newFinder() *finder { return &finder{start: -1} }

// add takes more bytes and says whether an object is complete.
func (f *finder) add(p []byte) (value []byte, ok bool) {
	f.buf = append(f.buf, p...)
	for f.failed < maxCandidates && f.next() {
		candidate := f.buf[f.start:f.at]
		if fixed := repair(candidate); json.Valid(fixed) {
			return fixed, true
		}
		f.restart()
	}
	return nil, false
}

// restart goes on behind the brace that began no object.
func (f *finder) restart() {
	f.failed++
	f.at, f.start, f.depth, f.quoted, f.escape = f.start+1, -1, 0, false, false
}

// rescue is asked when nothing more comes: an object may hide behind a brace in
// the noise that was never closed.
func (f *finder) rescue() (value []byte, ok bool) {
	for f.start >= 0 && f.failed < maxCandidates {
		f.restart()
		if value, ok = f.add(nil); ok {
			return value, true
		}
	}
	return nil, false
}

// maxCandidates bounds the work on bytes that are nothing but braces: each may
// mean one more look at all of them.
const maxCandidates = 64

// next moves on to the end of a bracketed candidate; false: more is needed.
func (f *finder) next() bool {
	if isUTF16(f.buf) {
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
func (f *finder) rest() []byte {
	return bytes.Trim(bytes.TrimPrefix(f.buf, []byte("\xef\xbb\xbf")), " \t\r\n\x00")
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

// fromUTF16 turns a payload with a UTF-16 byte order mark (some Windows shells
// re-encode pipes) into UTF-8; false: it has none.
func fromUTF16(b []byte) ([]byte, bool) {
	if !isUTF16(b) {
		return nil, false
	}
	little := b[0] == 0xff
	units := make([]uint16, 0, len(b)/2)
	for i := 2; i+1 < len(b); i += 2 {
		lo, hi := b[i], b[i+1]
		if !little {
			lo, hi = hi, lo
		}
		units = append(units, uint16(hi)<<8|uint16(lo))
	}
	return []byte(string(utf16.Decode(units))), true
}

func isUTF16(b []byte) bool {
	return bytes.HasPrefix(b, []byte{0xff, 0xfe}) || bytes.HasPrefix(b, []byte{0xfe, 0xff})
}
