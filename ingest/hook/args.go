package hook

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// args is the command line.
type args struct{ data, host, event string }

var errUsage = errors.New("usage: cmem-hook [--data DIR] HOST EVENT < payload")

// errHelp: the usage was asked for.
var errHelp = errors.New("help")

const help = `usage: cmem-hook [--data DIR] HOST EVENT < payload

Hands one event of a coding agent over to cmem, and is what the agent's settings
call. HOST is %s; EVENT is the host's name of the event, like
PostToolUse. The payload is read from standard input. The exit code is 0 whatever
happens: hosts take any other for an order. See also cmem status.
`

// parseArgs reads the command line. --data counts also when the rest is wrong,
// so that the mistake can be counted where it belongs.
func parseArgs(list []string) (args, error) {
	var a args
	var words []string
	for len(list) > 0 {
		word := list[0]
		list = list[1:]
		switch value, given := strings.CutPrefix(word, "--data="); {
		case given:
			a.data = value
		case word == "--data" && len(list) > 0:
			a.data, list = list[0], list[1:]
		case word == "--help" || word == "-h":
			return a, errHelp
		case strings.HasPrefix(word, "-"):
			return a, fmt.Errorf("cmem-hook: unknown flag %q\n%w", word, errUsage)
		default:
			words = append(words, word)
		}
	}
	if len(words) != 2 {
		return a, errUsage
	}
	a.host, a.event = words[0], words[1]
	return a, nil
}

// clip makes a word fit for an attribute: valid UTF-8 of at most 256 bytes.
func clip(s string) string {
	const limit = 256
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= limit {
		return s
	}
	n := limit
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
