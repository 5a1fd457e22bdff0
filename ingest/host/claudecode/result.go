package claudecode

import (
	"bytes"
	"strconv"
	"strings"

	"cmem/streams/event"
)

// toolResult reads a tool_result block; extra is the host's own record of the
// result beside it, which for some tools says more than the model saw.
func toolResult(b *block, extra *response, denial string) event.ToolReturned {
	r := event.ToolReturned{Outcome: event.OK}
	if b.failed {
		failure(&r, contentText(b.content))
		if denial != "" && r.Outcome == event.Failed {
			r.Outcome = event.Refused
		}
		return r
	}
	extra.fill(&r)
	if r.Output == "" && extra.stdout == nil {
		r.Output = contentText(b.content)
	}
	r.Cut = r.Cut || bytes.HasPrefix(b.content, []byte(`"<persisted-output>`))
	return r
}

// failure tells what went wrong from the host's error text.
func failure(r *event.ToolReturned, said string) {
	said = strings.TrimPrefix(said, "Error: ")
	if inside, ok := tagged(said, "tool_use_error"); ok {
		said = strings.TrimPrefix(inside, "Error: ")
	}
	r.Error = said
	r.Outcome = failureOutcome(said)
	if code, rest, ok := exitCode(said); ok {
		r.ExitCode, r.Output = &code, rest
	}
}

// failureOutcome tells calls that were kept from running, by the user, by a rule
// or hook, or because they were malformed, and those that were stopped.
func failureOutcome(said string) event.Outcome {
	for _, begin := range []string{
		"The user doesn't want to", "User rejected tool use", "Claude requested permissions to",
		"Permission to use ", "Permission for this", "This command requires approval",
		"InputValidationError", "No such tool available", "Hook PreToolUse:", "PreToolUse:",
	} {
		if strings.HasPrefix(said, begin) {
			return event.Refused
		}
	}
	for _, begin := range []string{"[Request interrupted by user", "Sibling tool call errored",
		"Cancelled: parallel tool call", "Interrupted by user"} {
		if strings.HasPrefix(said, begin) {
			return event.Interrupted
		}
	}
	return event.Failed
}

// exitCode splits "Exit code N", the first line of a failed command.
func exitCode(said string) (code int, rest string, ok bool) {
	line, rest, _ := strings.Cut(said, "\n")
	digits, ok := strings.CutPrefix(line, "Exit code ")
	if !ok {
		return 0, "", false
	}
	code, err := strconv.Atoi(strings.TrimSpace(digits))
	return code, rest, err == nil
}

// spawned tells a sub-agent's life from the result of the call that started it.
func (d *decoder) spawned(call string, extra *response, r *event.ToolReturned) {
	id := text(extra.agentID)
	if id == "" || r.Outcome != event.OK {
		return
	}
	head := d.head
	defer func() { d.head = head }()
	d.head.Agent, d.head.ParentCall = id, call
	if string(extra.status) == `"async_launched"` {
		d.add(d.agentKey(), event.AgentStarted{Type: text(extra.agentType)})
		return
	}
	d.add(d.agentKey()+"/end", event.AgentEnded{Type: text(extra.agentType), Said: r.Output})
}
