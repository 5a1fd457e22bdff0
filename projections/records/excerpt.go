package records

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"cmem/streams/event"
)

// Sizes of what is kept here; the whole is in the log.
const (
	maxText   = 4 << 10 // a prompt, a text of the agent
	maxOutput = 2 << 10 // a tool's output: head, error lines, tail
	maxInput  = 2 << 10 // a tool's arguments, a command
	maxSide   = 512     // one side of an edit, an error, a note
	maxEdits  = 16      // edits of one call
	maxPaths  = 64      // paths of one call
	maxPath   = 1 << 10
)

const cutMark = "\n[…]\n"

// head keeps the first n bytes at most, whole runes, with a mark if cut.
func head(s string, n int) string {
	if len(s) <= n {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	return strings.ToValidUTF8(s[:floor(s, n-len(cutMark))], "\uFFFD") + cutMark[:len(cutMark)-1]
}

// floor is the largest rune start at or below n.
func floor(s string, n int) int {
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return n
}

// output keeps the head (3/8), lines that tell an error (1/4) and the tail of a
// long answer: enough for rules to see what failed and how it ended.
func output(s string) string {
	if len(s) <= maxOutput {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	h := floor(s, maxOutput*3/8)
	t := floor(s, len(s)-maxOutput*5/16)
	parts := []string{s[:h]}
	if lines := errorLines(s[h:t], maxOutput/4); lines != "" {
		parts = append(parts, lines)
	}
	return strings.ToValidUTF8(strings.Join(append(parts, s[t:]), cutMark), "\uFFFD")
}

// errorWords are what a line that tells a failure holds, in small letters.
var errorWords = []string{"error", "fail", "fatal", "panic", "exception", "not found", "undefined", "cannot", "denied", "traceback", "assert"}

const maxScan = 256 << 10 // of a huge output only so much is looked through

// errorLines gives the first lines that tell a failure, n bytes at most.
func errorLines(s string, n int) string {
	var b strings.Builder
	for line := range strings.SplitSeq(s[:floorIn(s, maxScan)], "\n") {
		if len(line) < 4 || !tellsError(line) {
			continue
		}
		line = line[:floorIn(line, 200)]
		if b.Len()+len(line)+1 > n {
			break
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(line)
	}
	return b.String()
}

func floorIn(s string, n int) int {
	if n >= len(s) {
		return len(s)
	}
	return floor(s, n)
}

func tellsError(line string) bool {
	line = strings.ToLower(line[:floorIn(line, 400)])
	for _, w := range errorWords {
		if strings.Contains(line, w) {
			return true
		}
	}
	return false
}

// edits are what is kept of a call's changes.
func edits(all []event.Change) []event.Change {
	out := make([]event.Change, min(len(all), maxEdits))
	for i := range out {
		e := all[i]
		out[i] = event.Change{Path: head(e.Path, maxPath), Old: head(e.Old, maxSide), New: head(e.New, maxSide)}
	}
	return out
}

func paths(all []string) []string {
	if len(all) == 0 {
		return nil
	}
	out := make([]string, min(len(all), maxPaths))
	for i := range out {
		out[i] = head(all[i], maxPath)
	}
	return out
}

// normal is a text as two channels agree on it: blanks are one space.
func normal(s string) string { return strings.Join(strings.Fields(s), " ") }

// shownAlt is a name by content and occurrence, for people and tests.
func shownAlt(h hash, n int) string { return fmt.Sprintf("%x#%d", h[:], n+1) }
