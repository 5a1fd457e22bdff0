// Package jsontext reads JSON token by token, in place: every token says where
// it stands, so that a caller can change one string and leave every other byte
// as it is.
//
// It knows the whole grammar and is stricter than package jsonscan about
// structure (what it accepts to the end is JSON, apart from the inside of
// strings) and as forgiving about strings: raw control bytes, bytes that are
// not UTF-8, unknown escapes and lone surrogates are let through and reported,
// because hosts write them. There is no recursion and no depth limit. Linear in
// time; memory is one byte for each open bracket. Standard library only.
package jsontext

import "errors"

// Kind is what a token is.
type Kind byte

// The kinds. Commas and colons are not tokens.
const (
	EOF         Kind = 0
	BeginObject Kind = '{'
	EndObject   Kind = '}'
	BeginArray  Kind = '['
	EndArray    Kind = ']'
	Key         Kind = 'k'
	String      Kind = '"'
	Literal     Kind = '0' // number, true, false, null
)

// Token is one piece of the text: src[Start:End], quotes included.
type Token struct {
	Kind       Kind
	Start, End int
	Marks      Marks // of a Key or String
}

// Marks say what is in a string, seen while scanning it.
type Marks byte

// The marks.
const (
	Escaped Marks = 1 << iota // has a backslash
	Unicode                   // has \u or \/: may hide any character
	Raw                       // has a control byte or an unknown escape: no JSON as it stands
	High                      // has bytes over 127: may be no UTF-8
)

// ErrSyntax: the text is not one JSON value.
var ErrSyntax = errors.New("not JSON")

// BOM is the byte order mark some hosts put first.
const BOM = "\xef\xbb\xbf"

// Scanner walks one JSON value. The zero value with Src set is ready.
type Scanner struct {
	Src   []byte
	pos   int
	stack []byte
	state state
}

type state byte

const (
	wantValue      state = iota
	wantFirstValue       // after [
	wantFirstKey         // after {
	wantKey              // after , in an object
	wantMore             // after a value
)

// Depth is the number of open brackets.
func (s *Scanner) Depth() int { return len(s.stack) }

// Next gives the next token, EOF after the value and nothing but space behind
// it, or ErrSyntax, after which the scanner is of no use.
func (s *Scanner) Next() (Token, error) {
	if s.pos == 0 && len(s.Src) >= 3 && string(s.Src[:3]) == BOM {
		s.pos = 3
	}
	c := s.space()
	if s.state == wantMore {
		if len(s.stack) == 0 {
			if s.pos < len(s.Src) {
				return Token{}, ErrSyntax
			}
			return Token{Kind: EOF, Start: s.pos, End: s.pos}, nil
		}
		if c == s.stack[len(s.stack)-1]+2 { // '[' + 2 = ']', '{' + 2 = '}'
			return s.close(c)
		}
		if c != ',' {
			return Token{}, ErrSyntax
		}
		s.pos++
		c = s.space()
		s.state = wantValue
		if s.stack[len(s.stack)-1] == '{' {
			s.state = wantKey
		}
	}
	switch s.state {
	case wantFirstKey:
		if c == '}' {
			return s.close(c)
		}
		return s.key(c)
	case wantKey:
		return s.key(c)
	case wantFirstValue:
		if c == ']' {
			return s.close(c)
		}
	}
	return s.value(c)
}

// space skips white space and gives the next byte, 0 at the end.
func (s *Scanner) space() byte {
	for s.pos < len(s.Src) {
		switch c := s.Src[s.pos]; c {
		case ' ', '\n', '\r', '\t':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

func (s *Scanner) close(c byte) (Token, error) {
	s.stack = s.stack[:len(s.stack)-1]
	s.state = wantMore
	s.pos++
	return Token{Kind: Kind(c), Start: s.pos - 1, End: s.pos}, nil
}

func (s *Scanner) key(c byte) (Token, error) {
	if c != '"' {
		return Token{}, ErrSyntax
	}
	t, err := s.str()
	if err != nil {
		return t, err
	}
	t.Kind = Key
	if s.space() != ':' {
		return Token{}, ErrSyntax
	}
	s.pos++
	s.state = wantValue
	return t, nil
}

func (s *Scanner) value(c byte) (Token, error) {
	switch c {
	case '{', '[':
		s.stack = append(s.stack, c)
		s.state = wantFirstKey
		if c == '[' {
			s.state = wantFirstValue
		}
		s.pos++
		return Token{Kind: Kind(c), Start: s.pos - 1, End: s.pos}, nil
	case '"':
		s.state = wantMore
		return s.str()
	}
	n := literal(s.Src[s.pos:])
	if n == 0 {
		return Token{}, ErrSyntax
	}
	s.state = wantMore
	s.pos += n
	return Token{Kind: Literal, Start: s.pos - n, End: s.pos}, nil
}

// classes: 0 plain, 1 quote, 2 backslash, 3 control, 4 high.
var classes = func() (c [256]byte) {
	for i := range 0x20 {
		c[i] = 3
	}
	for i := 0x80; i < 256; i++ {
		c[i] = 4
	}
	c['"'], c['\\'] = 1, 2
	return c
}()

func (s *Scanner) str() (Token, error) {
	src, start := s.Src, s.pos
	var marks Marks
	for i := start + 1; i < len(src); i++ {
		switch classes[src[i]] {
		case 1:
			s.pos = i + 1
			return Token{Kind: String, Start: start, End: i + 1, Marks: marks}, nil
		case 2:
			i++
			if i < len(src) {
				marks |= escapeMarks(src, i)
			}
		case 3:
			marks |= Raw
		case 4:
			marks |= High
		}
	}
	return Token{}, ErrSyntax
}

// escapeMarks looks at the byte after a backslash.
func escapeMarks(src []byte, i int) Marks {
	switch src[i] {
	case '"', '\\', 'b', 'f', 'n', 'r', 't':
		return Escaped
	case '/':
		return Escaped | Unicode
	case 'u':
		if _, ok := hex4(src[i-1:]); ok {
			return Escaped | Unicode
		}
		return Escaped | Unicode | Raw
	}
	if src[i] >= 0x80 {
		return Escaped | Raw | High
	}
	return Escaped | Raw
}

// literal gives the length of the number or word src begins with, 0 for none.
func literal(src []byte) int {
	for _, word := range []string{"true", "false", "null"} {
		if len(src) >= len(word) && string(src[:len(word)]) == word {
			return len(word)
		}
	}
	return number(src)
}

func number(src []byte) int {
	i := 0
	if i < len(src) && src[i] == '-' {
		i++
	}
	whole := digits(src[i:])
	if whole == 0 || whole > 1 && src[i] == '0' {
		return 0
	}
	i += whole
	if i < len(src) && src[i] == '.' {
		n := digits(src[i+1:])
		if n == 0 {
			return 0
		}
		i += 1 + n
	}
	if i < len(src) && (src[i] == 'e' || src[i] == 'E') {
		j := i + 1
		if j < len(src) && (src[j] == '+' || src[j] == '-') {
			j++
		}
		n := digits(src[j:])
		if n == 0 {
			return 0
		}
		i = j + n
	}
	return i
}

func digits(src []byte) int {
	n := 0
	for n < len(src) && src[n] >= '0' && src[n] <= '9' {
		n++
	}
	return n
}
