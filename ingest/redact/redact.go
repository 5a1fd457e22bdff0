// Package redact takes out what must never reach a disk of ours: text inside
// private tags and the hosts' own reminders, secrets of known shapes, and the
// bytes of images (those only because of their size).
//
// The promise:
//   - every string of a payload is looked at, whatever its key, keys included,
//     after its escapes are resolved, and JSON inside strings too;
//   - a value is judged by its place too: its name, the name of the list or object
//     it stands in, the option before it; so are numbers named as passwords, which
//     become strings;
//   - tags fail closed: an unclosed one hides all to the end of its string, and an
//     unclosed private one all to the end of the message's blocks of text;
//   - all else stays byte for byte, except that strings which are no valid JSON
//     (raw control bytes, lone surrogates, bad UTF-8) are made valid;
//   - redacting twice changes nothing the second time;
//   - time is linear in the input, whatever it is.
//
// Tags are removed without a trace, so that a hook's copy and a transcript's
// copy of one text stay equal; a secret becomes [redacted:kind]; an image
// becomes [media type, bytes, sha256]. Standard library only; nothing is
// computed before the first call.
package redact

import (
	"bytes"
	"cmp"
	"slices"

	"cmem/ingest/home"
)

// Removal says how much of one kind was taken out.
type Removal struct {
	Kind  string `json:"kind"`  // tag name, secret kind, "image" or "media"
	Bytes int    `json:"bytes"` // of decoded text
}

// Redactor is safe for concurrent use.
type Redactor struct{ user []userPattern }

// New builds a redactor with the user's patterns before the built-in ones. A
// pattern that cannot be used is named in problems and left out; the redactor
// is usable in any case.
func New(s home.Settings) (r *Redactor, problems []error) {
	r = &Redactor{}
	for _, p := range s.Redact {
		compiled, err := compile(p)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		r.user = append(r.user, compiled)
	}
	return r, problems
}

// JSON redacts one JSON value: every string in it, keys too, since a map from
// the user's own words has them as keys. A byte order mark is dropped. Bytes
// that are no JSON value are redacted as one text. The result is raw itself if
// there was nothing to do. Removals are summed by kind, in the order of kinds.
func (r *Redactor) JSON(raw []byte) (out []byte, removed []Removal) {
	var sum tally
	w := walker{Redactor: r, sum: &sum}
	out, ok := w.walk(raw)
	if !ok {
		sum = tally{}
		out = r.text(raw, 0, &sum, nil)
	}
	return out, sum.removals()
}

// Text redacts one text.
func (r *Redactor) Text(s string) (string, []Removal) {
	var sum tally
	in := []byte(s)
	out := r.text(in, 0, &sum, nil)
	return string(out), sum.removals()
}

// maxNesting is how deep JSON in strings in JSON is followed; hosts write one
// level (arguments), a quoted transcript makes it two or three.
const maxNesting = 4

// text redacts one decoded text that stands at the given depth of JSON in
// strings. It gives s itself if nothing is to be done. left: see removeTags.
func (r *Redactor) text(s []byte, nesting int, sum *tally, left *carry) []byte {
	found := scan(s)
	if found&findMedia != 0 {
		s = dataURLs(s, sum)
	}
	if found == 0 && len(r.user) == 0 {
		return s
	}
	if found&findZero != 0 && zerosBetween(s) {
		var inner tally
		if out := r.text(bytes.ReplaceAll(s, []byte{0}, nil), nesting, &inner, left); len(inner) > 0 {
			sum.merge(inner)
			return out
		}
		return s
	}
	if nesting < maxNesting && looksLikeJSON(s) {
		var inner tally
		w := walker{Redactor: r, sum: &inner, nesting: nesting + 1}
		if out, ok := w.walk(s); ok {
			sum.merge(inner)
			if len(inner) == 0 {
				return s // what is only mended outside stays as the user wrote it
			}
			return out
		}
	}
	if found&(findTag|findEscape) != 0 {
		s = removeTags(s, sum, left)
	}
	return r.secrets(s, sum)
}

// zerosBetween says that a text is UTF-16 or UTF-32 that was read byte by byte.
func zerosBetween(s []byte) bool { return bytes.Count(s, []byte{0})*3 >= len(s) }

func looksLikeJSON(s []byte) bool {
	for _, c := range s {
		switch c {
		case ' ', '\n', '\r', '\t':
		default:
			return c == '{' || c == '['
		}
	}
	return false
}

// tally sums removals by kind; there are few kinds in one payload.
type tally []Removal

func (t *tally) add(kind string, bytes int) {
	for i := range *t {
		if (*t)[i].Kind == kind {
			(*t)[i].Bytes += bytes
			return
		}
	}
	*t = append(*t, Removal{kind, bytes})
}

func (t *tally) merge(other tally) {
	for _, r := range other {
		t.add(r.Kind, r.Bytes)
	}
}

func (t tally) removals() []Removal {
	slices.SortFunc(t, func(a, b Removal) int { return cmp.Compare(a.Kind, b.Kind) })
	return t
}
