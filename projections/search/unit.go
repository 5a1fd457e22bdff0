package search

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// span is text[s:e].
type span struct{ s, e int }

// scanUnit reads a unit: identifiers joined by '-' and '.'.
func (a *analyzer) scanUnit() {
	start, first := a.i, len(a.tokens)
	var idents [maxParts]span
	n, parts := 0, 0
	for n < len(idents) && parts < maxParts {
		id := a.ident()
		idents[n] = id
		n++
		parts += a.parts(id)
		if !a.joined() {
			break
		}
	}
	if n > 1 && parts > 1 {
		a.prepend(first, span{start, idents[n-1].e})
	}
	a.unit++
}

// ident reads letters, digits, marks and '_'.
func (a *analyzer) ident() span {
	s := a.i
	for a.i < len(a.text) {
		r, w := a.rune(a.i)
		if class(r) != wordRune {
			break
		}
		a.i += w
	}
	return span{s, a.i}
}

// joined steps over one '-' or '.' that has a word on its other side.
func (a *analyzer) joined() bool {
	if a.i+1 >= len(a.text) || a.text[a.i] != '-' && a.text[a.i] != '.' {
		return false
	}
	if r, _ := a.rune(a.i + 1); class(r) != wordRune {
		return false
	}
	a.i++
	return true
}

// parts adds the tokens of one identifier and returns how many positions it takes.
func (a *analyzer) parts(id span) int {
	if tailing := a.apostrophe(id); tailing != "" {
		a.step(a.term(id.s, id.e)+tailing, id.s, a.i, part)
		return 1
	}
	first, from := len(a.tokens), a.pos
	s := id.s
	for cut := range a.cuts(id) {
		a.addPart(s, cut)
		s = cut
	}
	a.addPart(s, id.e)
	n := a.pos - from
	if n == 0 { // nothing but '_' or marks
		return 0
	}
	if n > 1 || a.tokens[first].end-a.tokens[first].start < id.e-id.s {
		a.prepend(first, id)
	} else {
		a.symbolic(id)
	}
	return n
}

func (a *analyzer) addPart(s, e int) {
	for s < e && a.text[s] == '_' {
		s++
	}
	for s < e && a.text[e-1] == '_' {
		e--
	}
	if s < e {
		a.step(a.term(s, e), s, e, part)
	}
}

// prepend puts the token of a whole before its parts' tokens from first on, at
// the first part's position. The order keeps a unit's longest token first.
func (a *analyzer) prepend(first int, w span) {
	if first >= len(a.tokens) {
		return
	}
	t := token{a.term(w.s, w.e), w.s, w.e, a.tokens[first].pos, a.unit, whole}
	a.tokens = append(a.tokens, token{})
	copy(a.tokens[first+1:], a.tokens[first:])
	a.tokens[first] = t
}

// cuts gives the places where an identifier is split: after each run of '_',
// before a capital that follows a small letter or digit, and before the last of
// several capitals that a small letter follows (HTTPServer).
func (a *analyzer) cuts(id span) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		if id.e-id.s > maxIdent {
			return
		}
		var prev rune
		for i := id.s; i < id.e; {
			r, w := a.rune(i)
			if i > id.s && (r == '_' && prev != '_' || a.camel(prev, r, i+w, id.e)) && !yield(i) {
				return
			}
			prev = r
			i += w
		}
	}
}

func (a *analyzer) camel(prev, r rune, next, end int) bool {
	if !isUpper(r) {
		return false
	}
	if prev >= '0' && prev <= '9' || isLower(prev) {
		return true
	}
	if !isUpper(prev) || next >= end {
		return false
	}
	n, _ := a.rune(next)
	return isLower(n)
}

func isUpper(r rune) bool {
	return r >= 'A' && r <= 'Z' || r >= utf8.RuneSelf && unicode.IsUpper(r)
}

func isLower(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= utf8.RuneSelf && unicode.IsLower(r)
}

// apostrophe steps over the rest of an English contraction and returns the
// letters that belong to the word; a possessive is stepped over and gives none.
func (a *analyzer) apostrophe(id span) string {
	rest := a.text[a.i:]
	w := 0
	switch {
	case strings.HasPrefix(rest, "'"):
		w = 1
	case strings.HasPrefix(rest, "\u2019"):
		w = len("\u2019")
	default:
		return ""
	}
	n := w
	for n < len(rest) && n < w+3 && isLower(rune(rest[n]|0x20)) && rest[n] < utf8.RuneSelf {
		n++
	}
	if n < len(rest) {
		if r, _ := utf8.DecodeRuneInString(rest[n:]); class(r) == wordRune {
			return ""
		}
	}
	switch letters := a.lower[a.i+w : a.i+n]; letters {
	case "s":
		a.i += n
	case "t", "re", "ve", "ll", "d", "m":
		a.i += n
		return letters
	}
	return ""
}

// symbolic adds the names of languages and tools that end in signs: C#, C++, g++.
func (a *analyzer) symbolic(id span) {
	if id.e-id.s != 1 {
		return
	}
	for _, sign := range []string{"++", "#"} {
		if strings.HasPrefix(a.text[id.e:], sign) {
			e := id.e + len(sign)
			a.tokens = append(a.tokens, token{a.term(id.s, e), id.s, e, a.pos - 1, a.unit, whole})
			return
		}
	}
}
