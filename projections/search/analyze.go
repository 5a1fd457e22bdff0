package search

import (
	"unicode"
	"unicode/utf8"
)

// How text is cut into tokens, for documents and queries alike.
//
// A unit is a run of letters, digits, marks and '_', with '-', '.' between
// them: ask-codex, foo.bar, v1.10.0, get_user_by_id, HookSpoolDrainer.ts.
// Slashes, colons and all else end it. Its parts are what '-', '.', '_' and
// camel case separate; they stand at consecutive positions. A unit of more than
// one part is a token itself, and so is each identifier between '-' and '.'.
//
// Scripts that put no space between words are cut into overlapping pairs, and
// the last character of a run stands alone, so that each character begins a token.
//
// An English contraction is one word without its apostrophe (don't: dont), a
// possessive 's is dropped. No word is left out as too common. Terminal escape
// sequences, control bytes and invalid UTF-8 separate and are not indexed.

// Limits that keep one odd text from flooding the index.
const (
	maxTerm  = 64  // bytes of a token; longer ones are cut
	maxIdent = 100 // bytes; a longer run of letters is not split by case
	maxParts = 32  // of a unit; the next part begins another
)

type tokenKind uint8

const (
	part  tokenKind = iota // a word, or the finest piece of a unit
	whole                  // a unit or identifier made of more than one part
	gram                   // two characters of a script without spaces
	tail                   // the last character of such a run
)

type token struct {
	term       string
	start, end int // bytes of the text
	pos        int
	unit       int
	kind       tokenKind
}

// analyzer cuts one text after another; tokens are those of the last one.
type analyzer struct {
	text, lower string
	tokens      []token
	pos         int // next position
	unit        int // next unit
	i           int // next byte
}

// scan cuts text. Positions go on from pos.
func (a *analyzer) scan(text string, pos int) {
	a.text, a.lower = text, lowerASCII(text)
	a.tokens, a.pos, a.unit, a.i = a.tokens[:0], pos, 0, 0
	for a.i < len(text) {
		switch r, w := a.rune(a.i); class(r) {
		case wordRune:
			a.scanUnit()
		case denseRune:
			a.scanDense()
		case symbolRune:
			a.step(a.term(a.i, a.i+w), a.i, a.i+w, part)
			a.i += w
			a.unit++
		case escapeRune:
			a.i = skipEscape(text, a.i+1)
		default:
			a.i += w
		}
	}
}

func (a *analyzer) rune(i int) (rune, int) {
	if c := a.text[i]; c < utf8.RuneSelf {
		return rune(c), 1
	}
	return utf8.DecodeRuneInString(a.text[i:])
}

// step makes a token of text[s:e] and goes on to the next position. Text that
// folds to nothing (a mark alone) takes none.
func (a *analyzer) step(term string, s, e int, k tokenKind) {
	if term != "" {
		a.tokens = append(a.tokens, token{term, s, e, a.pos, a.unit, k})
		a.pos++
	}
}

// term folds text[s:e] and cuts it to maxTerm. ASCII costs no allocation.
func (a *analyzer) term(s, e int) string {
	ascii := true
	for i := s; i < e && ascii; i++ {
		ascii = a.text[i] < utf8.RuneSelf
	}
	if ascii {
		return a.lower[s:min(e, s+maxTerm)]
	}
	b := make([]byte, 0, e-s)
	for _, r := range a.text[s:e] {
		if b = foldRune(b, r); len(b) >= maxTerm {
			break
		}
	}
	return string(b)
}

// scanDense reads a run of a script without spaces.
func (a *analyzer) scanDense() {
	prev, n := -1, 0
	for a.i < len(a.text) {
		r, w := a.rune(a.i)
		if class(r) != denseRune {
			break
		}
		if prev >= 0 {
			a.step(a.term(prev, a.i+w), prev, a.i+w, gram)
		}
		prev = a.i
		a.i += w
		n++
	}
	k := tail
	if n == 1 {
		k = part
	}
	a.step(a.term(prev, a.i), prev, a.i, k)
	a.unit++
}

// skipEscape returns the end of the terminal escape sequence whose ESC is
// before i.
func skipEscape(s string, i int) int {
	if i >= len(s) {
		return i
	}
	switch s[i] {
	case '[': // control sequence: to its final byte
		for i++; i < len(s); i++ {
			if c := s[i]; c >= 0x40 && c <= 0x7e {
				return i + 1
			} else if c < 0x20 || c >= 0x7f {
				return i
			}
		}
	case ']': // operating system command: to BEL or ESC, on this line
		for i++; i < len(s) && s[i] != '\n'; i++ {
			if s[i] == 0x07 {
				return i + 1
			} else if s[i] == 0x1b {
				return i
			}
		}
	}
	return i
}

type runeClass uint8

const (
	otherRune runeClass = iota
	wordRune
	denseRune  // script without spaces between words
	symbolRune // emoji and other pictures
	escapeRune
)

func class(r rune) runeClass {
	if r < utf8.RuneSelf {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r >= 'A' && r <= 'Z', r == '_':
			return wordRune
		case r == 0x1b:
			return escapeRune
		}
		return otherRune
	}
	switch {
	case r == utf8.RuneError:
		return otherRune
	case isDense(r):
		return denseRune
	case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r) && !isSelector(r):
		return wordRune
	case r >= 0x2190 && unicode.Is(unicode.So, r):
		return symbolRune
	}
	return otherRune
}

// isSelector: marks that only say how the character before is drawn.
func isSelector(r rune) bool {
	return r >= 0xFE00 && r <= 0xFE0F || r >= 0xE0100 && r <= 0xE01EF || r == 0x20E3
}

func isDense(r rune) bool {
	switch {
	case r < 0x0E00:
		return false
	case r < 0x0F00: // Thai, Lao
		return unicode.IsLetter(r) || unicode.IsMark(r)
	case r < 0x1000:
		return false
	case r < 0x10A0, r >= 0x1780 && r < 0x1800: // Burmese, Khmer
		return unicode.IsLetter(r) || unicode.IsMark(r)
	case r < 0x2E80:
		return false
	case r == 0x30FC, r == 0xFF70: // Japanese long vowel
		return true
	}
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}
