package jsonscan

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"cmem/ingest/internal/jsontext"
)

// Text decodes a JSON string. Anything else gives "".
func Text(raw []byte) string {
	inner, ok := inside(raw)
	if !ok {
		return ""
	}
	if bytes.IndexByte(inner, '\\') >= 0 {
		inner = unescape(inner)
	}
	if utf8.Valid(inner) {
		return string(inner)
	}
	return strings.ToValidUTF8(string(inner), "\uFFFD")
}

// AppendText appends s as a JSON string that any strict reader accepts: control
// bytes escaped, bad UTF-8 replaced by U+FFFD.
func AppendText(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for _, r := range s { // bad bytes come as U+FFFD
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n':
			dst = append(dst, '\\', 'n')
		case r < 0x20 || r == 0x7f:
			dst = append(dst, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		case r == 0x2028 || r == 0x2029: // line ends to readers that are JavaScript
			dst = append(dst, '\\', 'u', '2', '0', '2', hex[r&15])
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}

func inside(raw []byte) ([]byte, bool) {
	if len(raw) < 2 || raw[0] != '"' || raw[len(raw)-1] != '"' {
		return nil, false
	}
	return raw[1 : len(raw)-1], true
}

func keyBytes(raw []byte) []byte {
	inner := raw[1 : len(raw)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	return unescape(inner)
}

// unescape resolves escapes; one that JSON does not know keeps its letter.
func unescape(in []byte) []byte {
	out := make([]byte, 0, len(in))
	for {
		n := bytes.IndexByte(in, '\\')
		if n < 0 || n+1 >= len(in) {
			return append(out, in...)
		}
		out = append(out, in[:n]...)
		in = in[n:]
		if r, used := jsontext.CodePoint(in); used > 0 {
			out, in = utf8.AppendRune(out, r), in[used:]
			continue
		}
		out, in = append(out, plain(in[1])), in[2:]
	}
}

func plain(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'r':
		return '\r'
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	}
	return c
}
