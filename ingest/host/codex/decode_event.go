package codex

import (
	"strconv"
	"strings"
	"time"

	"cmem/ingest/host/jsonscan"
	"cmem/ingest/identity"
	"cmem/streams/event"
)

// event: what the host tells its user.
func (d *decoder) event(r *record) {
	b := &r.body
	switch kind := text(b.typ); kind {
	case "user_message":
		d.prompt(text(b.message), elements(b.images))
	case "agent_message":
		d.said(text(b.message), "")
	case "task_complete", "turn_complete":
		d.ended(text(b.lastMessage), false)
	case "turn_aborted":
		d.ended("", true)
	case "item_completed":
		d.completed(b)
	case "exec_command_end":
		t := shellTool(b)
		d.inner(text(b.callID), t)
		d.commandEnd(text(b.callID), b, t)
	case "patch_apply_end":
		d.inner(text(b.callID), changesTool(b.changes))
		d.patchEnd(text(b.callID), b)
	case "mcp_tool_call_end":
		d.mcpEnd(b)
	case "collab_agent_spawn_end":
		d.spawned(d.call(text(b.callID)), text(b.newThread), text(b.nickname))
	case "entered_review_mode", "exited_review_mode", "thread_rolled_back", "undo_completed", "error", "warning", "stream_error":
		d.add("", event.Counted{What: kind})
	default:
		d.unknown("event_msg." + kind)
	}
}

// completed: an item_completed record tells a call and its end at once. Calls
// made inside a script of code mode are told nowhere else.
func (d *decoder) completed(outer *body) {
	b := readBody(outer.item)
	id := text(b.id)
	if at := millis(outer.completedMS); !at.IsZero() && d.head.Time.IsZero() {
		d.head.Time = at
	}
	switch kind := text(b.typ); kind {
	case "UserMessage":
		d.prompt(parts(b.content))
	case "AgentMessage":
		said, _ := parts(b.content)
		d.said(said, id)
	case "CommandExecution":
		d.command(id, &b)
	case "FileChange":
		t := changesTool(b.changes)
		d.begun(id, t, outer)
		d.patchEnd(id, &b)
	case "McpToolCall":
		t := translate(mcpName(text(b.server), text(b.tool)), b.arguments)
		d.begun(id, t, outer)
		d.mcpResult(id, t, &b, b.result, b.err)
	case "ImageView":
		t := translate("view_image", jsonscan.AppendText([]byte(`{"path":`), filePath(text(b.path))))
		d.begun(id, t, outer)
		d.add(d.call(id), event.ToolReturned{Tool: t, Outcome: event.OK})
	case "CollabAgentToolCall":
		d.collab(id, &b, outer)
	case "WebSearch":
		d.webSearch(id, b.action, b.query)
	default:
		d.unknown("event_msg.item_completed." + kind)
	}
}

// inner adds the call of an end that a script made.
func (d *decoder) inner(id string, t event.Tool) {
	if d.marked(innerMark) {
		t.Container = true
		d.add(d.call(id), event.ToolCalled{Tool: t})
	}
}

// begun adds the call of an item that has ended.
func (d *decoder) begun(id string, t event.Tool, outer *body) {
	f := d.add(d.call(id), event.ToolCalled{Tool: t})
	if at := millis(outer.startedMS); !at.IsZero() {
		f.Time = at
	}
}

// command: a command of the agent, or one that the user typed.
func (d *decoder) command(id string, b *body) {
	t := shellTool(b)
	if text(b.source) == "user_shell" {
		d.add(d.env.ID, event.CommandRun{Name: "!", Args: t.Command})
		return
	}
	d.add(d.call(id), event.ToolCalled{Tool: t})
	d.commandEnd(id, b, t)
}

func (d *decoder) commandEnd(id string, b *body, t event.Tool) {
	r := event.ToolReturned{
		Tool: t, Outcome: outcome(text(b.status)), Duration: duration(b.duration),
		Output: text(b.aggregated),
	}
	if r.Output == "" {
		r.Output = text(b.stdout) + text(b.stderr)
	}
	if n, err := strconv.Atoi(string(b.exitCode)); err == nil {
		r.ExitCode = &n
		if r.Outcome == event.OK || r.Outcome == event.Unknown {
			r.Outcome = byExit(n)
		}
	}
	d.add(d.call(id), r)
}

func (d *decoder) patchEnd(id string, b *body) {
	r := event.ToolReturned{
		Tool: changesTool(b.changes), Outcome: outcome(text(b.status)),
		Output: text(b.stdout), Error: text(b.stderr),
	}
	if string(b.success) == "false" {
		r.Outcome = event.Failed
	}
	d.add(d.call(id), r)
}

func (d *decoder) mcpEnd(b *body) {
	in := readBody(b.invocation)
	t := translate(mcpName(text(in.server), text(in.tool)), in.arguments)
	d.inner(text(b.callID), t)
	result, failure := jsonscan.Get(b.result, "Ok"), jsonscan.Get(b.result, "Err")
	d.mcpResult(text(b.callID), t, b, result, failure)
}

func (d *decoder) mcpResult(id string, t event.Tool, b *body, result, failure []byte) {
	r := event.ToolReturned{Tool: t, Outcome: outcome(text(b.status)), Duration: duration(b.duration)}
	if kind := jsonscan.Kind(failure); kind == '"' || kind == '{' {
		r.Outcome, r.Error = event.Failed, first(failure, jsonscan.Get(failure, "message"))
	} else {
		said, _ := parts(jsonscan.Get(result, "content"))
		r.Output = said
		if jsonscan.True(jsonscan.Get(result, "isError")) || jsonscan.True(jsonscan.Get(result, "is_error")) {
			r.Outcome, r.Error = event.Failed, said
		}
	}
	d.add(d.call(id), r)
}

// collab: a call that starts sub-agents or talks to them.
func (d *decoder) collab(id string, b, outer *body) {
	name := text(b.tool)
	t := translate(name, appendMember(nil, "message", text(b.prompt)))
	d.begun(id, t, outer)
	d.add(d.call(id), event.ToolReturned{Tool: t, Outcome: outcome(text(b.status))})
	if name != "spawn_agent" {
		return
	}
	for agent := range jsonscan.Elements(b.receivers) {
		d.spawned(d.call(id), text(jsonscan.Get(agent, "thread_id")), text(jsonscan.Get(agent, "agent_nickname")))
	}
}

// outcome reads an item's status; none is a good end.
func outcome(status string) event.Outcome {
	switch strings.ToLower(status) {
	case "failed", "errored":
		return event.Failed
	case "declined", "rejected":
		return event.Refused
	case "in_progress", "inprogress":
		return event.Unknown
	}
	return event.OK
}

func byExit(code int) event.Outcome {
	if code == 0 {
		return event.OK
	}
	return event.Failed
}

// duration reads {"secs":…,"nanos":…}.
func duration(raw []byte) time.Duration {
	secs, err := strconv.ParseInt(string(jsonscan.Get(raw, "secs")), 10, 64)
	nanos, err2 := strconv.ParseInt(string(jsonscan.Get(raw, "nanos")), 10, 64)
	if err != nil || err2 != nil || secs < 0 || secs > 1e8 || nanos < 0 || nanos > 1e9 {
		return 0
	}
	return time.Duration(secs)*time.Second + time.Duration(nanos)
}

// mcpName is the name hooks give to a server's tool.
func mcpName(server, tool string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_':
			return r
		}
		return '_'
	}, server)
	return "mcp__" + clean + "__" + tool
}

func elements(array []byte) (n int) {
	for range jsonscan.Elements(array) {
		n++
	}
	return n
}

// appendMember writes an object with one member, or one more after out's.
func appendMember(out []byte, key, value string) []byte {
	if len(out) == 0 {
		out = append(out, '{')
	} else {
		out = append(out[:len(out)-1], ',')
	}
	out = append(jsonscan.AppendText(out, key), ':')
	return append(jsonscan.AppendText(out, value), '}')
}

// canonical is the canonical form of arguments.
func canonical(raw []byte) string { return string(identity.CanonicalJSON(raw)) }
