package envelope

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Encode writes an attribute's value so that it is safe in a header: space,
// quote, percent and all outside U+0021…U+007E become %XX of their UTF-8
// (CloudEvents HTTP binding 3.1.3.2). Invalid UTF-8 becomes U+FFFD.
func Encode(s string) string {
	for i := range len(s) {
		if !plain(s[i]) {
			return string(appendEncoded(make([]byte, 0, len(s)+16), s))
		}
	}
	return s
}

func plain(c byte) bool { return c > ' ' && c < 0x7f && c != '"' && c != '%' }

func appendEncoded(to []byte, s string) []byte {
	const hex = "0123456789ABCDEF"
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	for i := range len(s) {
		if c := s[i]; plain(c) {
			to = append(to, c)
		} else {
			to = append(to, '%', hex[c>>4], hex[c&15])
		}
	}
	return to
}

// Decode is the way back from Encode. A quoted value, which older writers of
// CloudEvents send, is unquoted first. The result is valid UTF-8.
func Decode(s string) (string, error) {
	if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
		s = unquote(s[1 : len(s)-1])
	}
	if strings.IndexByte(s, '%') < 0 {
		return strings.ToValidUTF8(s, "\uFFFD"), nil
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			out = append(out, s[i])
			continue
		}
		if i+2 >= len(s) {
			return "", fmt.Errorf("%q ends in an incomplete escape: %w", s, ErrMalformed)
		}
		hi, lo := unhex(s[i+1]), unhex(s[i+2])
		if hi < 0 || lo < 0 {
			return "", fmt.Errorf("%q has the escape %q: %w", s, s[i:i+3], ErrMalformed)
		}
		out = append(out, byte(hi<<4|lo))
		i += 2
	}
	return strings.ToValidUTF8(string(out), "\uFFFD"), nil
}

func unquote(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		out = append(out, s[i])
	}
	return string(out)
}

func unhex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	}
	return -1
}
