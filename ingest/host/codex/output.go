package codex

import (
	"strconv"
	"strings"
	"time"

	"cmem/ingest/host/jsonscan"
	"cmem/streams/event"
)

// output is what a call answered: the text, and what the host wrote above it.
type output struct {
	text     string
	exit     *int
	running  string // shell session of a command that goes on
	outcome  event.Outcome
	cut      bool
	duration time.Duration
}

// readOutput reads the output of a call in any of its forms: text, a list of
// parts, {"output", "metadata"} (also as JSON in a string), or a server's
// {"content"}.
func readOutput(raw []byte) output {
	o := output{outcome: event.OK}
	switch jsonscan.Kind(raw) {
	case '"':
		o.text = text(raw)
	case '[':
		o.text, _ = parts(raw)
	case '{':
		if o.object(raw) {
			return o
		}
		if content := jsonscan.Get(raw, "content"); content != nil {
			o.text, _ = parts(content)
		} else {
			o.text = string(raw)
		}
		return o
	}
	if strings.HasPrefix(o.text, `{"output"`) && o.object([]byte(o.text)) {
		return o
	}
	o.header()
	return o
}

// object reads {"output":…,"metadata":{"exit_code":…}}.
func (o *output) object(raw []byte) bool {
	said, metadata := jsonscan.Get(raw, "output"), jsonscan.Get(raw, "metadata")
	if said == nil || metadata == nil {
		return false
	}
	o.text = text(said)
	if n, err := strconv.Atoi(string(jsonscan.Get(metadata, "exit_code"))); err == nil {
		o.exit, o.outcome = &n, byExit(n)
	}
	if s, err := strconv.ParseFloat(string(jsonscan.Get(metadata, "duration_seconds")), 64); err == nil {
		o.duration = seconds(s)
	}
	return true
}

// header takes off the lines that the host writes above an output, and judges
// texts that are no output but the host's own word.
func (o *output) header() {
	head, rest, ok := cutHeader(o.text)
	if ok {
		o.text = rest
	}
	for line := range strings.SplitSeq(head, "\n") {
		o.line(line)
	}
	switch said := o.text; {
	case strings.HasPrefix(said, "aborted by user"), strings.HasSuffix(head, "\naborted by user"):
		o.outcome = event.Interrupted
	case strings.Contains(firstLine(said), "rejected by user"), strings.HasPrefix(said, "Command blocked by PreToolUse hook"):
		o.outcome = event.Refused
	case hasAnyPrefix(said, failures):
		o.outcome = event.Failed
	}
	o.cut = strings.HasPrefix(o.text, "Warning: truncated output") || strings.HasPrefix(o.text, "Total output lines:")
}

// failures are how the host begins to say that a call did not work.
var failures = []string{
	"execution error", "apply_patch verification failed", "failed to parse",
	"exec_command failed", "unsupported call", "write_stdin failed",
}

// cutHeader splits a text at its line "Output:", if what is above it is of the
// host. A header may stand alone, above the host's own word.
func cutHeader(s string) (head, rest string, ok bool) {
	const limit = 64 << 10 // a command line is in it
	if !strings.HasPrefix(s, "Chunk ID:") && !strings.HasPrefix(s, "Command:") && !strings.HasPrefix(s, "Wall time") &&
		!strings.HasPrefix(s, "Exit code:") && !strings.HasPrefix(s, "Script ") && !strings.HasPrefix(s, "Process ") {
		return "", s, false
	}
	top := s[:min(len(s), limit)]
	if i := strings.Index(top, "\nOutput:\n"); i >= 0 {
		return s[:i], s[i+len("\nOutput:\n"):], true
	}
	if head, ok := strings.CutSuffix(s, "\nOutput:"); ok {
		return head, "", true
	}
	return top, s, false
}

// line reads one line of a header.
func (o *output) line(line string) {
	for _, prefix := range []string{"Exit code: ", "Process exited with code "} {
		if rest, ok := strings.CutPrefix(line, prefix); ok {
			if n, err := strconv.Atoi(rest); err == nil {
				o.exit, o.outcome = &n, byExit(n)
			}
			return
		}
	}
	if session, ok := strings.CutPrefix(line, "Process running with session ID "); ok {
		o.running, o.outcome = session, event.Unknown
	} else if rest, ok := strings.CutPrefix(line, "Wall time"); ok {
		rest = strings.TrimSuffix(strings.TrimLeft(rest, ": "), " seconds")
		if s, err := strconv.ParseFloat(rest, 64); err == nil {
			o.duration = seconds(s)
		}
	} else if strings.HasPrefix(line, "Script failed") || strings.HasPrefix(line, "Script error") {
		o.outcome = event.Failed
	}
}

func seconds(s float64) time.Duration {
	if !(s > 0 && s < 1e8) {
		return 0
	}
	return time.Duration(s * float64(time.Second))
}

// fill puts what is known into a fact.
func (o *output) fill(r *event.ToolReturned) {
	r.Output, r.ExitCode, r.Outcome, r.Cut, r.Duration = o.text, o.exit, o.outcome, o.cut, o.duration
	if r.Outcome != event.OK && r.Outcome != event.Unknown && o.exit == nil {
		r.Error = o.text
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

func hasAnyPrefix(s string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}
