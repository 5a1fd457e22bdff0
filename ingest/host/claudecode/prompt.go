package claudecode

import (
	"strings"

	"cmem/streams/event"
)

// mark says what a user text that nobody typed is.
type mark int

const (
	notMarker mark = iota
	commandMark
	bashMark
	interruptMark
	hostMark // the host's or our own words
)

// marker looks at how a user text begins.
func marker(s string) mark {
	s = strings.TrimLeft(s, " \t\r\n")
	switch {
	case strings.HasPrefix(s, "[Request interrupted by user"):
		return interruptMark
	case strings.HasPrefix(s, "Caveat: The messages below"):
		return hostMark
	case !strings.HasPrefix(s, "<"):
		return notMarker
	}
	tag, _, _ := strings.Cut(s[1:], ">")
	tag, _, _ = strings.Cut(tag, " ")
	switch tag {
	case "command-name", "command-message", "command-args":
		return commandMark
	case "bash-input":
		return bashMark
	case "bash-stdout", "bash-stderr", "local-command-stdout", "local-command-stderr",
		"local-command-caveat", "task-notification", "ci-monitor-event", "system-reminder",
		"session-start-hook", "user-prompt-submit-hook":
		return hostMark
	}
	return notMarker
}

// beside says that a text block is context the host puts before the typed one.
func beside(s string) bool {
	return strings.HasPrefix(s, "<ide_") || strings.HasPrefix(s, "<system-reminder>")
}

// prompt adds what the user asked for. byText: there is no id that both
// channels have, so the text names it too.
func (d *decoder) prompt(key string, p event.PromptSubmitted, byText bool) {
	said := normalText(p.Text)
	if said == "" && p.Images == 0 {
		if !strings.Contains(d.env.Redactions, `"private"`) {
			return
		}
		p.Private = true
	}
	if said == "" {
		p.Text = ""
	}
	f := d.add(key, p)
	if byText || key == "" {
		f.Alt = d.scoped("prompt", []byte(said))
	}
}

// normalText is a prompt as both channels have it: they differ in line ends and
// in the space around it.
func normalText(s string) string {
	if strings.IndexByte(s, '\r') >= 0 {
		s = strings.ReplaceAll(s, "\r\n", "\n")
		s = strings.ReplaceAll(s, "\r", "\n")
	}
	return strings.TrimSpace(s)
}

// slashCommand splits "/name args". A path ("/usr/bin") is no command.
func slashCommand(s string) (name, args string, ok bool) {
	s = strings.TrimSpace(s)
	if !strings.HasPrefix(s, "/") {
		return "", "", false
	}
	end := strings.IndexAny(s, " \t\n")
	if end < 0 {
		end = len(s)
	}
	name = s[:end]
	if len(name) < 2 || strings.IndexFunc(name[1:], notCommandRune) >= 0 {
		return "", "", false
	}
	return name, strings.TrimSpace(s[end:]), true
}

func notCommandRune(r rune) bool {
	return r == '/' || r == '\\' || r < 0x21 || r == '<' || r == '>'
}

// tagged gives the text inside the first <tag> of s.
func tagged(s, tag string) (string, bool) {
	_, rest, ok := strings.Cut(s, "<"+tag+">")
	if !ok {
		return "", false
	}
	inside, _, _ := strings.Cut(rest, "</"+tag+">")
	return strings.TrimSpace(inside), true
}
