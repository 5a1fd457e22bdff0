package jsontext

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// Decode gives the text of a Key or String token. Lone surrogates and bytes
// that are not UTF-8 become U+FFFD, a raw control byte stays, an unknown escape
// stays as it is written. The result shares memory with src where it can.
func Decode(src []byte, t Token) []byte {
	body := src[t.Start+1 : t.End-1]
	if t.Marks&Escaped == 0 {
		if t.Marks&High == 0 {
			return body
		}
		return valid(body)
	}
	out := make([]byte, 0, len(body))
	for len(body) > 0 {
		i := bytes.IndexByte(body, '\\')
		if i < 0 {
			out = append(out, body...)
			break
		}
		out = append(out, body[:i]...)
		var n int
		out, n = unescape(out, body[i:])
		body = body[i+n:]
	}
	if t.Marks&High != 0 {
		return valid(out)
	}
	return out
}

// valid puts U+FFFD in the place of each byte that is not UTF-8.
func valid(text []byte) []byte {
	if utf8.Valid(text) {
		return text
	}
	out := make([]byte, 0, len(text)+8)
	for _, r := range string(text) {
		out = utf8.AppendRune(out, r)
	}
	return out
}

// unescape appends what the escape at the start of src means and gives its length.
func unescape(out, src []byte) ([]byte, int) {
	switch src[1] {
	case '"', '\\', '/':
		return append(out, src[1]), 2
	case 'b':
		return append(out, '\b'), 2
	case 'f':
		return append(out, '\f'), 2
	case 'n':
		return append(out, '\n'), 2
	case 'r':
		return append(out, '\r'), 2
	case 't':
		return append(out, '\t'), 2
	case 'u':
		if r, n := CodePoint(src); n > 0 {
			return utf8.AppendRune(out, r), n
		}
	}
	return append(out, '\\'), 1
}

// CodePoint reads the \uXXXX escape that src begins with, or a surrogate pair of
// two, and gives its length; a lone half is U+FFFD. n is 0 if src begins otherwise
// or there are no four digits.
func CodePoint(src []byte) (r rune, n int) {
	r, ok := hex4(src)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if low, ok := hex4(src[6:]); ok {
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return utf8.RuneError, 6
}

// hex4 reads the digits of one \uXXXX.
func hex4(src []byte) (rune, bool) {
	if len(src) < 6 || src[0] != '\\' || src[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range src[2:6] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

const hexDigits = "0123456789abcdef"

// Quote appends text as a JSON string with no escape that is not needed. Bytes
// that are not UTF-8 become U+FFFD.
func Quote(out, text []byte) []byte {
	out = append(out, '"')
	last := 0
	for i := 0; i < len(text); {
		c := text[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRune(text[i:])
			if r == utf8.RuneError && n == 1 {
				out = append(append(out, text[last:i]...), "\uFFFD"...)
				last = i + 1
			}
			i += n
			continue
		}
		if c >= 0x20 && c != '"' && c != '\\' {
			i++
			continue
		}
		out = append(out, text[last:i]...)
		out = quoteByte(out, c)
		i++
		last = i
	}
	return append(append(out, text[last:]...), '"')
}

func quoteByte(out []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(out, '\\', c)
	case '\n':
		return append(out, '\\', 'n')
	case '\r':
		return append(out, '\\', 'r')
	case '\t':
		return append(out, '\\', 't')
	}
	return append(out, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}

// Sound says that a Key or String token may stay as it stands: valid JSON,
// valid UTF-8 and no lone surrogate.
func Sound(src []byte, t Token) bool {
	if t.Marks&Raw != 0 {
		return false
	}
	body := src[t.Start+1 : t.End-1]
	if t.Marks&High != 0 && !utf8.Valid(body) {
		return false
	}
	return t.Marks&Unicode == 0 || !loneSurrogate(body)
}

func loneSurrogate(body []byte) bool {
	for {
		i := bytes.IndexByte(body, '\\')
		if i < 0 {
			return false
		}
		body = body[i:]
		n := 2
		if body[1] == 'u' {
			var r rune
			if r, n = CodePoint(body); r == utf8.RuneError && !isFFFD(body) {
				return true
			}
		}
		body = body[n:]
	}
}

func isFFFD(escape []byte) bool {
	return bytes.EqualFold(escape[2:6], []byte("fffd"))
}
