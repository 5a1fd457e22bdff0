package redact

import (
	"bytes"
	"cmp"
	"slices"
)

// span is a secret in a text.
type span struct {
	start, end int
	kind       string
	weight     int // of two that touch, the heavier names the kind
}

const (
	guessed = iota // by the name before it
	shaped         // by its own shape
	users          // by the user's pattern
)

// marker is what stands for a secret.
func marker(kind string) []byte { return []byte("[redacted:" + kind + "]") }

// secrets replaces what the user's patterns and the built-in rules find. What
// touches is one secret, so nothing of it is left between two markers.
func (r *Redactor) secrets(s []byte, sum *tally) []byte {
	for range maxRounds {
		spans := r.find(s)
		if len(spans) == 0 {
			return s
		}
		s = cutOut(s, spans, sum)
	}
	return s
}

func (r *Redactor) find(s []byte) []span {
	var spans []span
	for _, p := range r.user {
		for _, m := range p.re.FindAllIndex(s, -1) {
			if m[1] > m[0] && !inMark(s, m[0], m[1]) {
				spans = append(spans, span{m[0], m[1], p.kind, users})
			}
		}
	}
	if scan(s)&findSecret != 0 {
		at := spot{text: s}
		theFinder().each(s, func(l *literal, end int) {
			if l.rule == nil {
				return
			}
			at.start, at.end = end-len(l.text), end
			if start, stop, kind := l.rule.match(&at, l.rule); stop > start {
				spans = append(spans, span{start, stop, kind, l.rule.weight})
			}
		})
	}
	slices.SortStableFunc(spans, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	return spans
}

func cutOut(s []byte, spans []span, sum *tally) []byte {
	out := make([]byte, 0, len(s))
	last := 0
	for i := 0; i < len(spans); {
		group := spans[i]
		for i++; i < len(spans) && spans[i].start < group.end; i++ {
			group.end = max(group.end, spans[i].end)
			if spans[i].weight > group.weight {
				group.kind, group.weight = spans[i].kind, spans[i].weight
			}
		}
		sum.add(group.kind, group.end-group.start)
		out = append(append(out, s[last:group.start]...), marker(group.kind)...)
		last = group.end
	}
	return append(out, s[last:]...)
}

// spot is a literal found in a text, and what the search remembers.
type spot struct {
	text       []byte
	start, end int

	pemEnd  int // first "-----END " at or after the last block found; see pemClose
	pemStop int // end of that block, or of the last line that ends one
	// valueStart and valueEnd are where the bare values looked at last begin and
	// end, and values how many of them did: see bareEnd.
	valueStart, valueEnd, values int
	cookieEnd                    int // end of the last cookie
}

// secretRule is one shape. match is told where a literal was found and gives
// the secret's bounds; stop <= start means none.
type secretRule struct {
	kind     string
	literals []string
	match    func(at *spot, rule *secretRule) (start, stop int, kind string)
	weight   int

	// For prefixed: what follows the literal.
	chars    func(byte) bool
	min, max int  // number of those; max 0 no limit
	alone    bool // no letter or digit may stand before it
	mixed    bool // must have a digit and a letter
}

// prefixed matches literal + a run of chars. The literal counts in its exact case.
func prefixed(at *spot, rule *secretRule) (start, stop int, kind string) {
	text := at.text
	if !exactly(text[at.start:at.end], rule.literals) || rule.alone && !startsAlone(text, at.start) {
		return 0, 0, ""
	}
	stop = at.end
	for stop < len(text) && rule.chars(text[stop]) {
		stop++
	}
	body := text[at.end:stop]
	if len(body) < rule.min || rule.max > 0 && len(body) > rule.max || rule.mixed && !mixed(body) {
		return 0, 0, ""
	}
	return at.start, stop, rule.kind
}

func exactly(got []byte, want []string) bool {
	return slices.ContainsFunc(want, func(w string) bool { return string(got) == w })
}

// startsAlone says that nothing of a word stands before i. The letter of a \n
// in JSON that came as text is no word.
func startsAlone(text []byte, i int) bool {
	if i == 0 || !isAlnum(text[i-1]) {
		return true
	}
	return i > 1 && text[i-2] == '\\' && bytes.IndexByte([]byte("nrtbf"), text[i-1]) >= 0
}

// The classes of bytes. A table, because some texts consist of literals and
// every one of them has its surroundings looked at.
const (
	cDigit = 1 << iota
	cLower
	cUpper
	cHex
	cToken  // . ~ + / = beside what a word has
	cJoin   // _ -
	cURL    // ends a URL
	cValue  // ends a bare value
	cCookie // ends a cookie's value
	cPEM    // beside letters and digits in a PEM body
)

var classOf = func() (t [256]uint16) {
	mark := func(chars string, class uint16) {
		for i := range len(chars) {
			t[chars[i]] |= class
		}
	}
	for c := range 256 {
		switch {
		case c <= ' ':
			t[c] = cURL | cValue | cCookie
		case c >= 0x80:
			t[c] = cPEM
		case c >= '0' && c <= '9':
			t[c] = cDigit | cHex
		case c >= 'a' && c <= 'z':
			t[c] = cLower
		case c >= 'A' && c <= 'Z':
			t[c] = cUpper
		}
	}
	mark("abcdefABCDEF", cHex)
	mark(".~+/=", cToken)
	mark("_-", cJoin)
	mark("\"'`<>\\|", cURL)
	mark("\"'`&|<>(){}[]\\", cValue)
	mark("\"'`;,<>\\", cCookie)
	// Base64, line ends (escaped ones too), header lines, and the arrows and bars
	// that tools put before numbered lines.
	mark("+/=\\ \t\r\n:,-|", cPEM)
	return t
}()

const (
	cLetter = cLower | cUpper
	cAlnum  = cLetter | cDigit
	cWord   = cAlnum | cJoin
)

func is(c byte, class uint16) bool { return classOf[c]&class != 0 }

func isLetter(c byte) bool     { return is(c, cLetter) }
func isAlnum(c byte) bool      { return is(c, cAlnum) }
func isWord(c byte) bool       { return is(c, cWord) }
func isUpperDigit(c byte) bool { return is(c, cUpper|cDigit) }
func isHex(c byte) bool        { return is(c, cHex) }
func isTokenChar(c byte) bool  { return is(c, cWord|cToken) }
func isPathChar(c byte) bool   { return is(c, cWord) || c == '/' }

func mixed(s []byte) bool { return hasDigit(s) && has(s, cLetter) }

func hasDigit(s []byte) bool { return has(s, cDigit) }

func has(s []byte, class uint16) bool {
	for _, c := range s {
		if is(c, class) {
			return true
		}
	}
	return false
}
