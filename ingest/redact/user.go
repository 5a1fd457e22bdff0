package redact

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	rx "regexp/syntax"

	"cmem/ingest/home"
)

// userPattern is a secret shape from the settings.
type userPattern struct {
	kind string
	re   *regexp.Regexp
}

// Check says why a pattern cannot be used, in one line that names it; nil if it
// can.
func Check(p home.Pattern) error {
	_, err := compile(p)
	return err
}

func compile(p home.Pattern) (userPattern, error) {
	kind := kindOf(p.Kind)
	bad := func(format string, args ...any) (userPattern, error) {
		return userPattern{}, fmt.Errorf("pattern %q of kind %q cannot be used: %w", p.Pattern, kind, fmt.Errorf(format, args...))
	}
	if p.Pattern == "" {
		return bad("it is empty")
	}
	re, err := regexp.Compile(p.Pattern)
	var syntax *rx.Error
	switch {
	case errors.As(err, &syntax):
		return bad("%s in %q", syntax.Code, syntax.Expr)
	case err != nil:
		return bad("%w", err)
	case re.MatchString(""):
		return bad("it matches the empty text")
	}
	if m := marker(kind); re.Match(m) {
		return bad("it matches its own marker %s", m)
	}
	return userPattern{kind: kind, re: re}, nil
}

// kindOf makes a name fit for a marker: letters, digits, '-' and '_', at most 32.
func kindOf(name string) string {
	kind := make([]byte, 0, 32)
	for i := 0; i < len(name) && len(kind) < 32; i++ {
		if isAlnum(name[i]) || name[i] == '-' || name[i] == '_' {
			kind = append(kind, name[i])
		}
	}
	if len(kind) == 0 {
		return "custom"
	}
	return string(kind)
}

// maxMark is longer than any mark of ours.
const maxMark = 256

// inMark says that [start,end) lies in a mark of ours: a user's pattern for, say,
// four digits must not take the numbers of an image's note for secrets.
func inMark(s []byte, start, end int) bool {
	head := max(0, start-maxMark)
	open := bytes.LastIndexByte(s[head:min(start+1, len(s))], '[')
	if open < 0 {
		return false
	}
	open += head
	n := bytes.IndexByte(s[open:min(len(s), open+maxMark)], ']')
	if n < 0 || end > open+n+1 {
		return false
	}
	return isMark(s[open+1 : open+n])
}

// isMark knows "redacted:kind" and "type/subtype, 12 bytes, sha256 hex".
func isMark(s []byte) bool {
	if kind, ok := bytes.CutPrefix(s, []byte("redacted:")); ok {
		return string(kind) == kindOf(string(kind))
	}
	media, rest, _ := bytes.Cut(s, []byte(", "))
	size, sum, ok := bytes.Cut(rest, []byte(" bytes, sha256 "))
	return ok && isMediaType(media) && len(bytes.TrimFunc(size, isDigitRune)) == 0 &&
		len(sum) == 64 && !bytes.ContainsFunc(sum, notHex)
}

func isDigitRune(r rune) bool { return r >= '0' && r <= '9' }
