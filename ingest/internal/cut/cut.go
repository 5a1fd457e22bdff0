// Package cut shortens what is too long to keep: the middle goes, and what stays
// says how much is gone and its hash. Standard library and its neighbours only.
package cut

import (
	"strconv"
	"unicode/utf8"

	"cmem/ingest/internal/jsontext"
	"cmem/ingest/redact"
)

// Limits in bytes on what is kept of one thing said.
const (
	MaxText    = 1 << 20  // a string of a JSON value, or what is no JSON
	MaxUnknown = 64 << 10 // of a kind that this version does not know
)

// Digest names bytes by a keyed hash.
type Digest func([]byte) string

// Strings cuts the middle out of string values over limit bytes; every other
// byte stays. It comes after redaction: a cut must not part a private tag from
// its end. raw is JSON; without any long string it is returned itself.
func Strings(raw []byte, limit int, d Digest) (out []byte, removed []redact.Removal) {
	if len(raw) <= limit {
		return raw, nil
	}
	copied := 0
	s := jsontext.Scanner{Src: raw}
	for {
		t, err := s.Next()
		if err != nil || t.Kind == jsontext.EOF {
			break
		}
		if t.Kind != jsontext.String || t.End-t.Start-2 <= limit {
			continue
		}
		text, r := Text(jsontext.Decode(raw, t), limit, d)
		if r == nil {
			continue // long by its escapes only
		}
		out = jsontext.Quote(append(out, raw[copied:t.Start]...), text)
		copied, removed = t.End, append(removed, r...)
	}
	if removed == nil {
		return raw, nil
	}
	return append(out, raw[copied:]...), removed
}

// Text keeps the first 60 % and the last 30 % of limit bytes, and between
// them says how much is gone and its hash.
func Text(text []byte, limit int, d Digest) ([]byte, []redact.Removal) {
	if len(text) <= limit {
		return text, nil
	}
	head, tail := limit/10*6, len(text)-limit/10*3
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	gone := text[head:tail]
	mark := "\n[" + strconv.Itoa(len(gone)) + " of " + strconv.Itoa(len(text)) + " bytes cut, hash " + d(gone) + "]\n"
	out := append(make([]byte, 0, limit+len(mark)), text[:head]...)
	out = append(append(out, mark...), text[tail:]...)
	return out, []redact.Removal{{Kind: "cut", Bytes: len(gone)}}
}
