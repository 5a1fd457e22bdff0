package jsontext

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// kinds gives the kinds of all tokens as one word, "!" at an error.
func kinds(src string) string {
	s := Scanner{Src: []byte(src)}
	var out []byte
	for {
		t, err := s.Next()
		if err != nil {
			return string(append(out, '!'))
		}
		if t.Kind == EOF {
			return string(out)
		}
		out = append(out, byte(t.Kind))
	}
}

func TestTokens(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{`{"a":[1,"b",{}],"c":null}`, `{k[0"{}]k0}`}, {BOM + ` [ ] `, `[]`}, {`"x"`, `"`}, {`-1.5e+3`, `0`},
		{``, `!`}, {`{`, `{!`}, {`{"a"`, `{!`}, {`{"a":`, `{k!`}, {`{"a":1`, `{k0!`}, {`{"a":1,}`, `{k0!`}, {`{,}`, `{!`}, {`{1:2}`, `{!`},
		{`[1,]`, `[0!`}, {`[1 2]`, `[0!`}, {`[1}`, `[0!`}, {`1 2`, `0!`}, {`01`, `!`}, {`1.`, `!`}, {`-`, `!`}, {`nul`, `!`}, {`"x`, `!`}, {`"x\`, `!`}, {`]`, `!`},
	} {
		if got := kinds(c.src); got != c.want {
			t.Errorf("%s: got %s, want %s", c.src, got, c.want)
		}
	}
}

func TestDecode(t *testing.T) {
	for _, c := range []struct {
		src, want string
		sound     bool
	}{
		{`"a\"\\\/\b\f\n\r\t\u00e9"`, "a\"\\/\b\f\n\r\té", true},
		{`"\ud83d\ude80"`, "\U0001F680", true}, {`"\ud83d"`, "\uFFFD", false}, {`"\ude80\ud83d"`, "\uFFFD\uFFFD", false}, {`"\ud83d\u0041"`, "\uFFFDA", false},
		{`"\ufffd"`, "\uFFFD", true}, {"\"\xff\xfe\"", "\uFFFD\uFFFD", false}, {"\"a\tb\"", "a\tb", false}, {`"\q"`, `\q`, false}, {`"\u12"`, `\u12`, false}, {`"\u12zz"`, `\u12zz`, false},
	} {
		src := []byte(c.src)
		s := Scanner{Src: src}
		tok, err := s.Next()
		if err != nil {
			t.Fatal(err)
		}
		if got := string(Decode(src, tok)); got != c.want {
			t.Errorf("%s: got %q, want %q", c.src, got, c.want)
		}
		if got := Sound(src, tok); got != c.sound {
			t.Errorf("%s: sound %v, want %v", c.src, got, c.sound)
		}
	}
}

// A copy of the scanner looks ahead without moving the original.
func TestLookAhead(t *testing.T) {
	s := Scanner{Src: []byte(`{"a":1,"b":[{"c":2}],"d":3}`)}
	s.Next()
	ahead := s
	for ahead.Depth() > 0 {
		if _, err := ahead.Next(); err != nil {
			t.Fatal(err)
		}
	}
	rest := ""
	for tok, err := s.Next(); tok.Kind != EOF; tok, err = s.Next() {
		if err != nil {
			t.Fatal(err)
		}
		rest += string(rune(tok.Kind))
	}
	if want := `k0k[{k0}]k0}`; rest != want {
		t.Errorf("got %s, want %s", rest, want)
	}
}

// What encoding/json takes, the scanner takes, and it reads the same strings;
// what it takes beyond, only strings explain.
func FuzzScanner(f *testing.F) {
	for _, s := range []string{`{"a":[1,"\u00e9\ud83d"],"b":{}}`, `[[]`, "\"\x01\xff\\q\"", `{"a":-0.0e-1}`, strings.Repeat("[", 50)} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		s := Scanner{Src: src}
		loose := bytes.HasPrefix(src, []byte(BOM))
		for {
			tok, err := s.Next()
			if err != nil {
				if json.Valid(src) {
					t.Fatalf("%q is refused", src)
				}
				return
			}
			if tok.Kind == EOF {
				break
			}
			if tok.Kind != Key && tok.Kind != String {
				continue
			}
			text := Decode(src, tok)
			if !utf8.Valid(text) {
				t.Fatalf("%q: %q is no UTF-8", src, text)
			}
			loose = loose || tok.Marks&Raw != 0
			var want string
			if raw := src[tok.Start:tok.End]; json.Valid(raw) {
				if err := json.Unmarshal(raw, &want); err != nil || want != string(text) {
					t.Fatalf("%q: %s reads as %q, want %q", src, raw, text, want)
				}
			}
			var back string
			if err := json.Unmarshal(Quote(nil, text), &back); err != nil || back != string(text) {
				t.Fatalf("%q: quoted and read: %q, want %q (%v)", src, back, text, err)
			}
		}
		if !loose && !json.Valid(src) && s.Depth() < 10_000 {
			t.Fatalf("%q is taken", src)
		}
	})
}
