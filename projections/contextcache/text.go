package contextcache

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// oneLine makes s fit to be one line of a context: no line ends, no control
// bytes, no terminal sequences, none of the tags that redaction knows.
func oneLine(s string) string { return strings.Join(strings.Fields(plain(s)), " ") }

// lines is oneLine for each line of s that says something.
func lines(s string) []string {
	var out []string
	for l := range strings.Lines(plain(s)) {
		if l = oneLine(l); l != "" {
			out = append(out, l)
		}
	}
	return out
}

// plain drops what is no text and makes tags harmless.
func plain(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, w := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == 0x1b:
			w = sequence(s[i:])
		case r == '\t':
			b.WriteByte('\t')
		case r == '\n' || r == 0x2028 || r == 0x2029:
			b.WriteByte('\n')
		case r == utf8.RuneError && w == 1, unicode.IsControl(r), isHidden(r):
		default:
			b.WriteString(s[i : i+w])
		}
		i += w
	}
	return escapeTags(b.String())
}

// isHidden: characters that change how others are drawn or read and are not
// seen, among them those that turn the direction of text.
func isHidden(r rune) bool {
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0xfeff || r >= 0xe0000 && r <= 0xe007f
}

// sequence is the length of the terminal sequence that s begins with.
func sequence(s string) int {
	if len(s) < 2 {
		return 1
	}
	switch s[1] {
	case '[':
		for i := 2; i < len(s); i++ {
			if c := s[i]; c >= 0x40 && c <= 0x7e {
				return i + 1
			} else if c < 0x20 || c > 0x7e {
				return i
			}
		}
		return len(s)
	case ']', 'P', '_', '^', 'X': // to BEL or ESC \, on this line
		for i := 2; i < len(s) && s[i] != '\n'; i++ {
			if s[i] == 0x07 {
				return i + 1
			}
			if s[i] == 0x1b {
				return i
			}
		}
	}
	return 1
}

const tag = "cmem-context"

// tags are those that redaction takes out of what a host says.
var tags = []string{tag, "claude-mem-context", "private", "system-reminder", "system_instruction", "system-instruction", "persisted-output"}

// escapeTags writes another sign for the one that begins such a tag, also where
// it is written as an entity: redaction knows both.
func escapeTags(s string) string {
	var b strings.Builder
	for {
		i := strings.IndexAny(s, "<&")
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:i])
		s = s[i:]
		if n := opening(s); n > 0 {
			b.WriteRune('‹')
			s = s[n:]
			continue
		}
		b.WriteByte(s[0])
		s = s[1:]
	}
}

// opening is the length of the sign that begins a known tag in s, 0 if none does.
func opening(s string) int {
	for _, sign := range []string{"<", "&lt;", "&#60;", "&#x3c;"} {
		if len(s) < len(sign) || !strings.EqualFold(s[:len(sign)], sign) {
			continue
		}
		name := strings.ToLower(strings.TrimLeft(s[len(sign):min(len(s), len(sign)+40)], "/ \t\n"))
		if name == "" {
			return len(sign) // the next text may go on with a tag's name
		}
		for _, t := range tags {
			if strings.HasPrefix(name, t) {
				return len(sign)
			}
		}
	}
	return 0
}

// cut shortens s to n bytes at most, between characters and if possible between
// words, and says so with a dot.
func cut(s string, n int) string {
	const more = "…"
	if len(s) <= n {
		return s
	}
	n = max(n-len(more), 0)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	head := s[:n]
	if i := strings.LastIndexByte(head, ' '); i > n*3/4 {
		head = head[:i]
	}
	// A mark or a joiner at the end belongs to a character that is no longer there.
	return strings.TrimRightFunc(head, func(r rune) bool { return r == 0x200d || unicode.IsSpace(r) }) + more
}
