package redact

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
)

const (
	// minMedia: shorter base64 under a key "data" with a media type may be text.
	minMedia = 32
	// minUnnamed: base64 this long is no text, whatever is or is not said of it.
	minUnnamed = 4096
	// minInline: a data URL inside a longer text, an icon in a style sheet, stays
	// if it is shorter.
	minInline = 256
)

// mediaNote gives what stands for base64 bytes, or nil if text is none. media
// is asked only for what looks like base64; its answer may be nil.
func mediaNote(text []byte, media func() []byte) (note []byte, kind string) {
	if len(text) < minMedia || base64Run(text) != len(text) {
		return nil, ""
	}
	m := media()
	if m == nil || string(m) == "base64" {
		sniffed := sniff(text)
		switch {
		case sniffed != "":
			m = []byte(sniffed)
		case m != nil || len(text) >= minUnnamed:
			m = []byte("application/octet-stream")
		default:
			return nil, ""
		}
	}
	return describe(m, text)
}

func describe(media, text []byte) (note []byte, kind string) {
	content := text
	packed := bytes.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == ' ' || r == '=' {
			return -1
		}
		return r
	}, text)
	coding := base64.RawStdEncoding
	if bytes.ContainsAny(packed, "-_") {
		coding = base64.RawURLEncoding
	}
	if decoded, err := coding.AppendDecode(nil, packed); err == nil {
		content = decoded
	}
	kind = "media"
	if bytes.HasPrefix(media, []byte("image/")) {
		kind = "image"
	}
	return fmt.Appendf(nil, "[%s, %d bytes, sha256 %x]", media, len(content), sha256.Sum256(content)), kind
}

// isMediaType says that a member's value is a media type, or names base64.
func isMediaType(text []byte) bool {
	if string(text) == "base64" {
		return true
	}
	slash := bytes.IndexByte(text, '/')
	if slash <= 0 || len(text) > 100 {
		return false
	}
	for i, c := range text {
		if i != slash && !isAlnum(c) && c != '-' && c != '+' && c != '.' {
			return false
		}
	}
	return true
}

// sniff knows the formats hosts send, by the base64 of their first bytes.
func sniff(text []byte) string {
	for _, f := range [...]struct{ head, media string }{
		{"iVBORw0KGgo", "image/png"}, {"/9j/", "image/jpeg"}, {"R0lGOD", "image/gif"},
		{"UklGR", "image/webp"}, {"JVBERi0", "application/pdf"},
	} {
		if bytes.HasPrefix(text, []byte(f.head)) {
			return f.media
		}
	}
	return ""
}

// base64Run is the length of the base64 text at the start of s, line ends and
// padding included.
func base64Run(s []byte) int {
	i := 0
	for i < len(s) && (isAlnum(s[i]) || bytes.IndexByte([]byte("+/-_\r\n"), s[i]) >= 0) {
		i++
	}
	for i < len(s) && s[i] == '=' {
		i++
	}
	for i < len(s) && (s[i] == '\n' || s[i] == '\r') {
		i++
	}
	return i
}

// dataURLs replaces data:TYPE;base64,BYTES.
func dataURLs(s []byte, sum *tally) []byte {
	const mark = ";base64,"
	var out []byte
	last := 0
	for pos := 0; ; {
		i := bytes.Index(s[pos:], []byte(mark))
		if i < 0 {
			break
		}
		i += pos
		pos = i + len(mark)
		head := max(last, i-100)
		start := bytes.LastIndex(s[head:i], []byte("data:"))
		if start < 0 {
			continue
		}
		start += head
		media, _, _ := bytes.Cut(s[start+len("data:"):i], []byte(";"))
		n := base64Run(s[pos:])
		whole := start == 0 && pos+n == len(s) && n >= 16
		if n < minInline && !whole || !isMediaType(media) {
			continue
		}
		note, kind := describe(media, s[pos:pos+n])
		sum.add(kind, n)
		out = append(append(out, s[last:start]...), note...)
		pos += n
		last = pos
	}
	if last == 0 {
		return s
	}
	return append(out, s[last:]...)
}
