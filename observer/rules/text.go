package rules

import (
	"path"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

var ansi = regexp.MustCompile(`\x1b\[[0-9;?]*[ -/]*[@-~]`)

// clean drops colour codes and control bytes.
func clean(s string) string {
	s = ansi.ReplaceAllString(s, "")
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, s)
}

// one puts a text on one line.
func one(s string) string { return strings.Join(strings.Fields(s), " ") }

// cut shortens s to at most n runes, at a word's end where one is near.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	r := []rune(s)[:n-1]
	for i := len(r) - 1; i > n*3/4; i-- {
		if unicode.IsSpace(r[i]) {
			r = r[:i]
			break
		}
	}
	return strings.TrimSpace(string(r)) + "…"
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// short names a file by its last two path segments.
func short(p string) string {
	p = strings.ReplaceAll(p, `\`, "/")
	dir, base := path.Split(strings.TrimRight(p, "/"))
	parent := path.Base(dir)
	if dir == "" || parent == "." || parent == "/" {
		return base
	}
	return parent + "/" + base
}

func base(p string) string { return path.Base(strings.ReplaceAll(p, `\`, "/")) }

var sentenceEnd = regexp.MustCompile(`([.!?。！？][)"'”’]*(\s+|$))|([。！？])|\n+`)

// sentences splits prose at its ends of sentences and lines. Abbreviations are
// not known; a wrong split only makes a sentence shorter.
func sentences(s string) []string {
	var out []string
	for {
		m := sentenceEnd.FindStringIndex(s)
		if m == nil {
			break
		}
		if t := strings.TrimSpace(s[:m[1]]); t != "" {
			out = append(out, t)
		}
		s = s[m[1]:]
	}
	if t := strings.TrimSpace(s); t != "" {
		out = append(out, t)
	}
	return out
}

var markup = regexp.MustCompile(`(?m)^\s*(#+|[-*>]|\d+[.)])\s+|\*\*|__`)

// prose drops Markdown's marks and puts it on one line.
func prose(s string) string { return one(markup.ReplaceAllString(s, "")) }

// head is the first sentences of s that fit into n runes.
func head(s string, n int) string { return cut(prose(s), n) }

func compact(parts ...string) []string {
	var out []string
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return out
}
