package jsonscan

import (
	"bytes"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
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
		if in[n+1] == 'u' {
			var r rune
			if r, in = escapedRune(in[n:]); r >= 0 {
				out = utf8.AppendRune(out, r) // a lone surrogate is appended as U+FFFD
				continue
			}
			out, in = append(out, 'u'), in[2:]
			continue
		}
		out = append(out, plain(in[n+1]))
		in = in[n+2:]
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

// escapedRune reads the \uXXXX that in begins with, or a pair of them, and
// gives what is left; -1 and in itself if the digits are missing.
func escapedRune(in []byte) (rune, []byte) {
	r := hex4(in)
	if r < 0 {
		return -1, in
	}
	if utf16.IsSurrogate(r) {
		if both := utf16.DecodeRune(r, hex4(in[6:])); both != utf8.RuneError {
			return both, in[12:]
		}
	}
	return r, in[6:]
}

// hex4 reads \uXXXX at the beginning of in, -1 if it is not there.
func hex4(in []byte) rune {
	if len(in) < 6 || in[0] != '\\' || in[1] != 'u' {
		return -1
	}
	var r rune
	for _, c := range in[2:6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}
