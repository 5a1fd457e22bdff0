package redact

import (
	"bytes"
	"unicode/utf8"
)

// The tags that hide. Names compare in any letter case, '_' as '-'. private is
// the user's; the others are words that hosts and memory tools put around texts
// that are not the user's.
var tagNames = [...]string{
	"private", "claude-mem-context", "cmem-context", "system-reminder", "system-instruction", "persisted-output",
}

const private = 0 // index of the user's own tag

// form is how a tag's bracket is written. A tag is closed only in the form it
// was opened in: hidden text that speaks of &lt;/private&gt; stays hidden.
type form byte

const (
	bracket form = iota // <
	entity              // &lt; &#60; &#x3c; &amp;lt;
	escape              // \u003c \x3c \u{3c} \074: a string's source
	percent             // %3C %253C: a URL
	wide                // ＜ ﹤: of an input method
	forms
)

type role byte

const (
	opens role = iota
	closes
	empty // <private/>
)

type tag struct {
	name       int
	form       form
	role       role
	start, end int // of an opening tag with attributes: end of the name
}

// maxRounds bounds the search for tags that only the removal of others made
// (<pri<private>…</private>vate>); nobody writes those but to get around us.
const maxRounds = 8

// removeTags takes out all tags and what they hide. left is told what private
// region is open at the end; it may be nil.
func removeTags(s []byte, sum *tally, left *carry) []byte {
	for range maxRounds {
		out := removeOnce(s, sum, left)
		if len(out) == len(s) {
			return s
		}
		s = out
	}
	if t, ok := nextTag(s, 0); ok {
		sum.add(tagNames[t.name], len(s)-t.start)
		s = s[:t.start]
		if left != nil && t.name == private && t.role == opens {
			left[t.form]++
		}
	}
	return s
}

func removeOnce(s []byte, sum *tally, left *carry) []byte {
	var out []byte
	last, pos := 0, 0
	for {
		t, ok := nextTag(s, pos)
		if !ok {
			break
		}
		pos = t.end
		if t.role == opens {
			r := region{own: t, hidden: 1}
			r.depth[t.name][t.form] = 1
			if pos, ok = r.end(s, t.end); !ok && left != nil {
				*left = r.depth[private]
			}
		}
		sum.add(tagNames[t.name], pos-t.start)
		out = append(out, s[last:t.start]...)
		last = pos
	}
	if last == 0 {
		return s
	}
	return append(out, s[last:]...)
}

// region is text inside tags: how many are open, of each name and form.
type region struct {
	own    tag // the one that opened it; of others only private ones count
	depth  [len(tagNames)][forms]int
	hidden int // sum of depth
}

// end finds where the region ends that s is inside of from pos on: where its own
// tag and every private one opened inside are closed. false: it does not, and the
// end of s is given.
func (r *region) end(s []byte, pos int) (int, bool) {
	for {
		t, ok := nextTag(s, pos)
		if !ok {
			return len(s), false
		}
		pos = t.end
		own := t.name == r.own.name && t.form == r.own.form
		if !own && t.name != private {
			continue
		}
		switch d := &r.depth[t.name][t.form]; {
		case t.role == opens:
			*d++
			r.hidden++
		case t.role == closes && *d > 0:
			*d--
			r.hidden--
		}
		if r.hidden == 0 {
			return t.end, true
		}
	}
}

func nextTag(s []byte, pos int) (tag, bool) {
	for i := pos; i < len(s); i++ {
		switch s[i] {
		case '<', '&', '\\', '%', 0xEF:
			if t, ok := tagAt(s, i); ok {
				return t, true
			}
		}
	}
	return tag{}, false
}

// tagAt reads a tag whose bracket is at i.
func tagAt(s []byte, i int) (tag, bool) {
	t := tag{start: i}
	n := 0
	if t.form, n = openBracket(s[i:]); n == 0 {
		return t, false
	}
	p := skipSpace(s, i+n)
	spaced := p > i+n
	if slash := slashLen(s[p:]); slash > 0 {
		t.role = closes
		p = skipSpace(s, p+slash)
	}
	name, n := tagName(s[p:])
	if n == 0 {
		return t, false
	}
	t.name = name
	p += n
	t.end = p
	q := skipSpace(s, p)
	if n := closeBracket(s[q:]); n > 0 {
		t.end = q + n
		return t, true
	}
	if slash := slashLen(s[q:]); slash > 0 && t.role == opens {
		if r := skipSpace(s, q+slash); closeBracket(s[r:]) > 0 {
			t.role = empty
			t.end = r + closeBracket(s[r:])
			return t, true
		}
	}
	// Attributes, or the text ends here. "a < private && b > c" is code and not a tag.
	return t, t.role == opens && !spaced && (q == len(s) || q > p || s[q] == '/' || s[q] == '\\' || t.form == percent)
}

// tagName finds one of the names at the start of s and its length, 0 for none.
// Characters without width inside it are looked through.
func tagName(s []byte) (name, n int) {
	for name, want := range tagNames {
		if n := nameLen(s, want); n > 0 && nameEnds(s[n:]) {
			return name, n
		}
	}
	return 0, 0
}

func nameLen(s []byte, want string) int {
	i := 0
	for j := range len(want) {
		if i < len(s) && s[i] >= utf8.RuneSelf {
			i += zeroWidth(s[i:])
		}
		if i >= len(s) {
			return 0
		}
		c, n := s[i], 1
		if c == 0xEF {
			c, n = narrow(s[i:])
		}
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		} else if c == '_' {
			c = '-'
		}
		if c != want[j] {
			return 0
		}
		i += n
	}
	return i + zeroWidth(s[i:])
}

// narrow gives the plain character of a wide one, as of ｐ, and its length.
func narrow(s []byte) (c byte, n int) {
	if r, n := utf8.DecodeRune(s); r >= '！' && r <= '～' {
		return byte(r-'！') + '!', n
	}
	return s[0], 1
}

func nameEnds(s []byte) bool {
	if len(s) == 0 {
		return true
	}
	switch s[0] {
	case ' ', '\t', '\n', '\r', '\f', '\v', '/', '>', '&', '\\', '%':
		return true
	}
	return isWideSpace(s) || closeBracket(s) > 0 || slashLen(s) > 0
}

// skipSpace skips white space and characters without width. Line ends may be
// escaped, in JSON that came as text.
func skipSpace(s []byte, i int) int {
	for i < len(s) {
		switch c := s[i]; {
		case c == ' ' || c >= '\t' && c <= '\r':
			i++
		case c == '\\' && i+1 < len(s) && (s[i+1] == 'n' || s[i+1] == 't' || s[i+1] == 'r'):
			i += 2
		case c >= utf8.RuneSelf && zeroWidth(s[i:]) > 0:
			i += zeroWidth(s[i:])
		case c >= utf8.RuneSelf && isWideSpace(s[i:]):
			_, n := utf8.DecodeRune(s[i:])
			i += n
		default:
			return i
		}
	}
	return i
}

// zeroWidth is the length of the characters without width at the start of s.
func zeroWidth(s []byte) int {
	n := 0
	for n < len(s) && s[n] >= utf8.RuneSelf {
		r, size := utf8.DecodeRune(s[n:])
		switch r {
		case 0x00AD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF, 0x180E, 0x034F:
			n += size
		default:
			return n
		}
	}
	return n
}

func isWideSpace(s []byte) bool {
	r, _ := utf8.DecodeRune(s)
	return r == 0x00A0 || r == 0x3000 || r >= 0x2000 && r <= 0x200A || r == 0x2028 || r == 0x2029 || r == 0x202F || r == 0x0085
}

func hasFold(s []byte, prefix string) bool {
	return len(s) >= len(prefix) && bytes.EqualFold(s[:len(prefix)], []byte(prefix))
}
