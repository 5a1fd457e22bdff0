package claudecode

import (
	"strings"
	"unicode/utf8"

	"cmem/ingest/host/adapter"
	"cmem/ingest/host/jsonscan"
)

// answer gives what the host prints to its model and its user. Only events
// whose answer cannot be taken for an order get one: no event is answered with
// a decision or a word about going on, and what ends a turn is never answered.
func answer(event string, r adapter.Reply) []byte {
	context, notice := printable(r.Context), printable(r.Notice)
	if !takesContext(event) {
		context = ""
	}
	if !takesNotice(event) {
		notice = ""
	}
	if context == "" && notice == "" {
		return nil
	}
	out := []byte{'{'}
	if context != "" {
		out = append(out, `"hookSpecificOutput":{"hookEventName":"`...)
		out = append(out, event...)
		out = append(out, `","additionalContext":`...)
		out = append(jsonscan.AppendText(out, context), '}')
	}
	if notice != "" {
		if context != "" {
			out = append(out, ',')
		}
		out = jsonscan.AppendText(append(out, `"systemMessage":`...), notice)
	}
	return append(out, '}', '\n')
}

func takesContext(event string) bool {
	return event == "SessionStart" || event == "UserPromptSubmit" || event == "PreToolUse"
}

func takesNotice(event string) bool {
	return takesContext(event) || event == "PostToolUse"
}

// printable takes out terminal sequences and control bytes other than line ends
// and tabs, and the space around it all.
func printable(s string) string {
	var out strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == 0x1b:
			i += sequence(s[i:])
			continue
		case r == '\n' || r == '\t' || r >= 0x20 && r < 0x7f || r >= 0xa0:
			out.WriteRune(r)
		}
		i += size
	}
	return strings.TrimSpace(out.String())
}

// sequence is the length of the terminal sequence that s begins with: a control
// sequence to its final byte, a command (a title, a link) to its end on the same
// line, of any other the escape alone.
func sequence(s string) int {
	switch {
	case strings.HasPrefix(s, "\x1b["):
		return controlSequence(s)
	case strings.HasPrefix(s, "\x1b]"):
		end := strings.IndexAny(s[2:], "\a\x1b\n")
		if end >= 0 && s[2+end] == '\a' {
			return 2 + end + 1
		}
		if end >= 0 && strings.HasPrefix(s[2+end:], "\x1b\\") {
			return 2 + end + 2
		}
	}
	return 1
}

func controlSequence(s string) int {
	for i := 2; i < len(s); i++ {
		if s[i] >= 0x40 && s[i] <= 0x7e {
			return i + 1
		}
		if s[i] < 0x20 || s[i] > 0x7e {
			return i
		}
	}
	return len(s)
}
