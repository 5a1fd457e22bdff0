package transcript

import "bytes"

// status says how a scan ended.
type status int

const (
	whole  status = iota // a value ends where the scan says
	cut                  // the bytes end inside a value
	broken               // no further bytes make this a value
)

// maxDepth bounds the nesting of one value, as encoding/json does.
const maxDepth = 10_000

// nesting scans JSON values. Its stack holds the open brackets.
type nesting struct{ stack []byte }

// what the grammar allows next.
type want int

const (
	wantValue want = iota
	wantFirst      // a value or ]
	wantKey
	wantFirstKey // a key or }
	wantColon
	wantNext // , or the closing bracket
)

// scan gives the index after the JSON value that data begins with. The text of
// strings is not judged beyond finding its end.
func (n *nesting) scan(data []byte) (int, status) {
	n.stack = n.stack[:0]
	for i, w := 0, wantValue; ; {
		if i = skipSpace(data, i); i == len(data) {
			return i, cut
		}
		var st status
		if i, w, st = n.step(data, i, w); st != whole {
			return i, st
		}
		if w == wantNext && len(n.stack) == 0 {
			return i, whole
		}
	}
}

// step consumes one token at i.
func (n *nesting) step(data []byte, i int, w want) (int, want, status) {
	c := data[i]
	switch w {
	case wantColon:
		if c == ':' {
			return i + 1, wantValue, whole
		}
	case wantNext:
		return n.close(c, i)
	case wantKey, wantFirstKey:
		if c == '"' {
			end, st := scanString(data, i)
			return end, wantColon, st
		}
		if c == '}' && w == wantFirstKey {
			return n.close(c, i)
		}
	default:
		if c == ']' && w == wantFirst {
			return n.close(c, i)
		}
		return n.value(data, i)
	}
	return i, w, broken
}

// close consumes a comma or a closing bracket.
func (n *nesting) close(c byte, i int) (int, want, status) {
	top := n.stack[len(n.stack)-1]
	switch {
	case c == ',' && top == '{':
		return i + 1, wantKey, whole
	case c == ',':
		return i + 1, wantValue, whole
	case c == '}' && top == '{', c == ']' && top == '[':
		n.stack = n.stack[:len(n.stack)-1]
		return i + 1, wantNext, whole
	}
	return i, wantNext, broken
}

// value consumes a scalar or an opening bracket.
func (n *nesting) value(data []byte, i int) (int, want, status) {
	switch c := data[i]; c {
	case '"':
		end, st := scanString(data, i)
		return end, wantNext, st
	case '{', '[':
		if len(n.stack) == maxDepth {
			return i, wantNext, broken
		}
		n.stack = append(n.stack, c)
		if c == '{' {
			return i + 1, wantFirstKey, whole
		}
		return i + 1, wantFirst, whole
	}
	end, st := scanScalar(data, i)
	return end, wantNext, st
}

// scanString gives the index after the closing quote of the string at i.
func scanString(data []byte, i int) (int, status) {
	for from := i + 1; ; {
		n := bytes.IndexByte(data[from:], '"')
		if n < 0 {
			return len(data), cut
		}
		quote := from + n
		first := quote // of the backslashes before it
		for first > from && data[first-1] == '\\' {
			first--
		}
		if from = quote + 1; (quote-first)%2 == 0 {
			return from, whole
		}
	}
}

// scanScalar gives the index after the literal or number at i.
func scanScalar(data []byte, i int) (int, status) {
	end := i
	for end < len(data) && scalarByte[data[end]] {
		end++
	}
	word := data[i:end]
	switch {
	case len(word) == 0:
		return i, broken
	case isLiteral(word), isNumber(word):
		return end, whole
	case end == len(data):
		return end, cut
	}
	return i, broken
}

func isLiteral(word []byte) bool {
	return string(word) == "true" || string(word) == "false" || string(word) == "null"
}

// isNumber judges loosely: digits with a sign, a point and an exponent.
func isNumber(word []byte) bool {
	if word[0] == '-' {
		word = word[1:]
	}
	if len(word) == 0 || word[0] < '0' || word[0] > '9' {
		return false
	}
	return len(bytes.Trim(word, "0123456789+-.eE")) == 0
}

var scalarByte = func() (t [256]bool) {
	for _, c := range "0123456789+-.abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" {
		t[c] = true
	}
	return t
}()

func skipSpace(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\t' || data[i] == '\r' || data[i] == '\n') {
		i++
	}
	return i
}
