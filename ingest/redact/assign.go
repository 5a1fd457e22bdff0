package redact

import "bytes"

// style is how a value stands behind its name; it says how much is needed to
// take it for a secret.
type style byte

const (
	bare     style = iota // name: value: may be code
	direct                // name=value: a form, a setting, may be code
	quoted                // name = "value": a literal
	environs              // NAME=value: a setting
	element               // <name>value<
)

// assignment matches the value in NAME=value, "name": "value", --name value,
// <name>value</name> and key="name" value="value".
func assignment(at *spot, rule *secretRule) (start, stop int, kind string) {
	text := at.text
	from, to := identifier(text, at.start, at.end)
	p := promiseOf(text[from:to])
	if p == nothing || p >= aCookie || from > 2 && string(text[from-3:from]) == "://" { // a URL's user
		return 0, 0, ""
	}
	i, how := separator(text, from, to)
	if i < 0 {
		if i, how = pairValue(text, from, to); i < 0 {
			return 0, 0, ""
		}
	}
	start, stop, how = at.valueAt(i, how)
	if p == aPass && how == bare && shouted(text[from:to]) {
		return 0, 0, "" // --- PASS: TestName2
	}
	value := text[start:stop]
	if how != quoted && stop < len(text) && (text[stop] == '(' || text[stop] == '[') {
		return 0, 0, "" // a call or an index: code
	}
	if !confident(value, p, how) {
		return 0, 0, ""
	}
	return start, stop, p.kind()
}

// identifier widens [start,end) to the whole name, at most 64 bytes each way.
func identifier(text []byte, start, end int) (from, to int) {
	for from = start; from > 0 && start-from < 64 && (is(text[from-1], cWord) || text[from-1] == '.'); {
		from--
	}
	for to = end; to < len(text) && to-end < 64 && (is(text[to], cWord) || text[to] == '.'); {
		to++
	}
	if from < start && from > 0 && text[from-1] == '\\' { // the n of \nNAME, the u0026 of \u0026name
		if from++; text[from-1] == 'u' && from+4 <= start && !bytes.ContainsFunc(text[from:from+4], notHex) {
			from += 4
		}
	}
	return from, to
}

func notHex(r rune) bool { return r >= 128 || !isHex(byte(r)) }

// separator gives where the value begins after the name [from,to), -1 if none does.
func separator(text []byte, from, to int) (i int, how style) {
	i = skipQuote(text, to)
	plain := i == to
	option := bytes.HasPrefix(text[from:], []byte("--"))
	j := skipBlanks(text, i)
	if j >= len(text) {
		return -1, bare
	}
	k := j + mark(text[j:])
	switch {
	case k > j:
	case plain && j == to && closeBracket(text[j:]) > 0 && inElement(text, from):
		return j + closeBracket(text[j:]), element
	case plain && j > to && (option || shouted(text[from:to]) && inDockerfile(text, from)):
		return j, environs
	case !plain && option && text[j] == ',': // "--name", "value"
		if k = skipBlanks(text, j+1); skipQuote(text, k) > k {
			return k, environs
		}
		return -1, bare
	default:
		return -1, bare
	}
	single := k == j+1
	for k < len(text) && (text[k] == '=' || text[k] == '>') {
		k, single = k+1, false
	}
	if plain && j == to && single && text[j] == '=' {
		if shouted(text[from:to]) || option {
			return k, environs
		}
		if skipBlanks(text, k) == k {
			return k, direct
		}
	}
	return skipBlanks(text, k), bare
}

// mark is the length of the sign between a name and its value; input methods
// give the wide ones.
func mark(s []byte) int {
	switch {
	case s[0] == '=' || s[0] == ':':
		return 1
	case bytes.HasPrefix(s, []byte("\uFF1A")) || bytes.HasPrefix(s, []byte("\uFF1D")):
		return len("\uFF1A")
	}
	return 0
}

// inElement says that the name at from opens an XML element: <name, <ns:name,
// the bracket in any of its forms.
func inElement(text []byte, from int) bool {
	i := from
	if i > 0 && text[i-1] == ':' {
		for i--; i > 0 && from-i < 32 && is(text[i-1], cWord); {
			i--
		}
	}
	for _, open := range []string{"<", "&lt;", "u003c", "x3c"} {
		if i >= len(open) && hasFold(text[i-len(open):], open) {
			return true
		}
	}
	return i+5 < from && hasFold(text[i:], "u003c")
}

// inDockerfile says that the name stands in ENV NAME value.
func inDockerfile(text []byte, from int) bool {
	return from >= 4 && string(text[from-4:from]) == "ENV " && (from == 4 || text[from-5] <= ' ' || startsAlone(text, from-4))
}

// shouted says that a name is written as environment variables are.
func shouted(name []byte) bool {
	return len(name) > 0 && !bytes.ContainsFunc(name, func(r rune) bool { return r >= 'a' && r <= 'z' || r == '.' })
}

func skipBlanks(text []byte, i int) int {
	for n := 0; n < 16 && i < len(text) && (text[i] == ' ' || text[i] == '\t'); n++ {
		i++
	}
	return i
}

// skipQuote skips one quote, which may be escaped in JSON that came as text.
func skipQuote(text []byte, i int) int {
	j := i
	for j < len(text) && text[j] == '\\' && j-i < 8 {
		j++
	}
	if j < len(text) && isQuote(text[j]) {
		return j + 1
	}
	return i
}

func isQuote(c byte) bool { return c == '"' || c == '\'' || c == '`' }

// maxValue bounds a secret that only its name betrays; a longer text is none.
const maxValue = 2048

// valueAt gives the bounds of the value that begins at i.
func (at *spot) valueAt(i int, how style) (start, stop int, _ style) {
	text := at.text
	start = skipQuote(text, i)
	if start > i && how != element {
		quote := text[start-1]
		for stop = start; stop < len(text) && stop-start < maxValue; stop++ {
			if c := text[stop]; c == quote || c == '\n' || c == '\\' && stop+1 < len(text) && isQuote(text[stop+1]) {
				break
			}
		}
		if how == environs {
			return start, stop, environs
		}
		return start, stop, quoted
	}
	if how == element {
		for stop = start; stop < len(text) && stop-start < maxValue && text[stop] != '\n'; stop++ {
			if c := text[stop]; c == '<' || (c == '&' || c == '\\') && tagStart(text[stop:]) {
				break
			}
		}
		return start, stop, environs
	}
	stop = at.bareEnd(start)
	if how == bare || how == direct {
		if n := bytes.IndexAny(text[start:stop], ",;"); n >= 0 {
			stop = start + n
		}
	}
	return start, stop, how
}

// tagStart says that s begins with < in another form.
func tagStart(s []byte) bool {
	_, n := openBracket(s)
	return n > 0
}

// maxChain is how many names are followed that end in one value:
// token=https://host/?password=… has two.
const maxChain = 8

// bareEnd gives the end of the unquoted value that begins at i; i itself if it
// is too long, or one of too many that end there. So a text made of names takes
// linear time.
func (at *spot) bareEnd(i int) int {
	if i < at.valueStart { // a pair's value was read ahead
		for stop := i; stop-i <= maxValue && stop < len(at.text); stop++ {
			if is(at.text[stop], cValue) {
				return stop
			}
		}
		return i
	}
	if at.valueEnd < i || at.values == 0 {
		at.valueStart, at.valueEnd, at.values = i, i, 0
		for at.valueEnd < len(at.text) && !is(at.text[at.valueEnd], cValue) {
			at.valueEnd++
		}
	}
	if at.values++; at.values > maxChain || at.valueEnd-i > maxValue {
		return i
	}
	return at.valueEnd
}
