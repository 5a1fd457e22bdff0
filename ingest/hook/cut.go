package hook

import (
	"strconv"
	"unicode/utf8"

	"cmem/ingest/internal/jsontext"
	"cmem/ingest/redact"
)

// Limits on what is kept of a payload.
const (
	maxText    = 1 << 20  // a string of a payload, or a payload that is no JSON
	maxUnknown = 64 << 10 // an event whose name this version does not know
)

// digest names bytes by a keyed hash.
type digest func([]byte) string

// cutLong cuts the middle out of string values over limit bytes; every other
// byte stays. It comes after redaction: a cut must not part a private tag from
// its end. raw is JSON; without any long string it is returned itself.
func cutLong(raw []byte, limit int, d digest) (out []byte, removed []redact.Removal) {
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
		text, r := cutText(jsontext.Decode(raw, t), limit, d)
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

// cutText keeps the first 60 % and the last 30 % of limit bytes, and between
// them says how much is gone and its hash.
func cutText(text []byte, limit int, d digest) ([]byte, []redact.Removal) {
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
