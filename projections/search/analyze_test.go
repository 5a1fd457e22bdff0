package search

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// tokensOf shows tokens as "term@position", wholes as "term@position*".
func tokensOf(text string) string {
	var a analyzer
	a.scan(text, 0)
	var out []string
	for _, t := range a.tokens {
		s := fmt.Sprintf("%s@%d", t.term, t.pos)
		if t.kind == whole {
			s += "*"
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

func TestAnalyzer(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"use the Go", "use@0 the@1 go@2"},
		{"getUserByID", "getuserbyid@0* get@0 user@1 by@2 id@3"},
		{"parse_json_v2", "parse_json_v2@0* parse@0 json@1 v2@2"},
		{"HTTPServer", "httpserver@0* http@0 server@1"},
		{"ask-codex", "ask-codex@0* ask@0 codex@1"},
		{"38.101", "38.101@0* 38@0 101@1"},
		{"v1.10.0.", "v1.10.0@0* v1@0 10@1 0@2"},
		{"foo.bar()", "foo.bar@0* foo@0 bar@1"},
		{"HookSpoolDrainer.ts", "hookspooldrainer.ts@0* hookspooldrainer@0* hook@0 spool@1 drainer@2 ts@3"},
		{"don't Don’t agent's", "dont@0 dont@1 agent@2"},
		{"l'ami 'quoted'", "l@0 ami@1 quoted@2"},
		{"__init__", "__init__@0* init@0"},
		{"_ __ -", ""},
		{"src/auth/login.go", "src@0 auth@1 login.go@2* login@2 go@3"},
		{"--error-on-warnings", "error-on-warnings@0* error@0 on@1 warnings@2"},
		{"C++ and C# or a#", "c@0 c++@0* and@1 c@2 c#@2* or@3 a@4 a#@4*"},
		{"Café naïve Straße ＡＢ", "cafe@0 naive@1 strasse@2 ab@3"},
		{"cafe\u0301", "cafe@0"},
		{"Ünïcode_Übung", "unicode_ubung@0* unicode@0 ubung@1"},
		{"张益唐", "张益@0 益唐@1 唐@2"},
		{"张", "张@0"},
		{"tc装订log4j", "tc@0 装订@1 订@2 log4j@3"},
		{"サーバー", "サー@0 ーバ@1 バー@2 ー@3"},
		{"데이터 연결", "데이@0 이터@1 터@2 연결@3 결@4"},
		{"🚀 done ❤️", "🚀@0 done@1 ❤@2"},
		{"\x1b[1mTests:\x1b[0m \x1b[32m31 passed\x1b[0m \x00\x07 end", "tests@0 31@1 passed@2 end@3"},
		{"\x1b]0;title\x07x \x1b", "x@0"},
		{"a\xffb", "a@0 b@1"},
		{"no not all if the who", "no@0 not@1 all@2 if@3 the@4 who@5"},
		{"https://x.org/a?b=c", "https@0 x.org@1* x@1 org@2 a@3 b@4 c@5"},
	} {
		if got := tokensOf(c.text); got != c.want {
			t.Errorf("%q:\n got %s\nwant %s", c.text, got, c.want)
		}
	}
}

func TestAnalyzerCapsOddText(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("aB", 5000), strings.Repeat("é", 5000), strings.Repeat("a_", 5000),
		strings.Repeat("a.", 5000), strings.Repeat("-", 5000), strings.Repeat("'s", 5000),
	} {
		var a analyzer
		a.scan(text, 0)
		for _, tok := range a.tokens {
			if len(tok.term) > maxTerm+utf8.UTFMax {
				t.Fatalf("%.20q…: a token of %d bytes", text, len(tok.term))
			}
		}
		if len(a.tokens) > len(text)*2 {
			t.Errorf("%.20q…: %d tokens", text, len(a.tokens))
		}
	}
}

func FuzzAnalyzer(f *testing.F) {
	for _, s := range []string{"", "getUserByID v1.10.0 don't", "张益唐 は", "\x1b[31m\x00\xff", "a-.b_-c C#", "’s x’t"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var a analyzer
		a.scan(s, 7)
		pos := 7
		for i, tok := range a.tokens {
			switch {
			case tok.term == "" || !utf8.ValidString(tok.term):
				t.Fatalf("%q: token %d is %q", s, i, tok.term)
			case len(tok.term) > maxTerm+utf8.UTFMax:
				t.Fatalf("%q: token of %d bytes", s, len(tok.term))
			case tok.start < 0 || tok.end > len(s) || tok.start >= tok.end:
				t.Fatalf("%q: token %q at %d:%d", s, tok.term, tok.start, tok.end)
			case tok.kind != whole && tok.pos != pos:
				t.Fatalf("%q: token %q at position %d, want %d", s, tok.term, tok.pos, pos)
			case tok.kind == whole && (tok.pos > pos || tok.pos < pos-1):
				t.Fatalf("%q: whole %q at position %d, want %d", s, tok.term, tok.pos, pos)
			}
			if tok.kind != whole {
				pos++
			}
		}
		if a.pos < pos {
			t.Fatalf("%q: next position %d after %d", s, a.pos, pos)
		}
	})
}
