package codex

import (
	"strings"

	"cmem/ingest/host/jsonscan"
	"cmem/streams/event"
)

func (d *decoder) record() {
	r := readRecord(d.env.Body)
	b := &r.body
	if d.head.Time.IsZero() {
		d.head.Time = parseTime(r.time)
	}
	d.turn = d.head.Turn
	if own := text(b.turn); own != "" {
		if d.turn = own; d.head.Agent == "" {
			d.head.Turn = own
		}
	}
	switch r.typ {
	case "session_meta":
		d.meta(b)
	case "compacted":
		d.add(d.once("compaction"), event.CompactionDone{Summary: text(b.message)})
	case "response_item":
		d.item(&r)
	case "event_msg":
		d.event(&r)
	default:
		d.unknown(r.typ)
	}
}

// meta begins a rollout, or goes on with it.
func (d *decoder) meta(b *body) {
	parent := text(b.forkedFrom)
	source := ""
	if parent != "" {
		source = "fork"
	}
	spawn := jsonscan.Get(jsonscan.Get(b.source, "subagent"), "thread_spawn")
	if agent := d.head.Agent; agent != "" {
		nickname := text(jsonscan.Get(spawn, "agent_nickname"))
		d.add(d.agentKey(agent, "started"), event.AgentStarted{Type: nickname})
		return
	}
	for _, raw := range [][]byte{b.parentThread, jsonscan.Get(spawn, "parent_thread_id")} {
		if parent == "" {
			parent = text(raw)
		}
	}
	d.add("", event.SessionStarted{Source: source, Parent: parent})
}

// item: what the model and the host said to each other.
func (d *decoder) item(r *record) {
	b := &r.body
	switch kind := text(b.typ); kind {
	case "message":
		d.message(b)
	case "function_call":
		d.called(text(b.callID), functionTool(b), []byte(text(b.arguments)))
	case "custom_tool_call":
		t := translateText(text(b.name), text(b.input))
		d.called(text(b.callID), t, nil)
	case "local_shell_call":
		d.called(first(b.callID, b.id), translate("local_shell", b.action), nil)
	case "tool_search_call":
		d.called(first(b.callID, b.id), translate("tool_search", object(b.arguments)), nil)
	case "web_search_call":
		d.webSearch(text(b.id), b.action, nil)
	case "function_call_output", "custom_tool_call_output":
		d.returned(text(b.callID), b.output)
	case "tool_search_output":
		d.add(d.call(first(b.callID, b.id)), event.ToolReturned{Outcome: event.OK})
	default:
		d.unknown("response_item." + kind)
	}
}

func (d *decoder) message(b *body) {
	said, images := parts(b.content)
	switch role := text(b.role); {
	case role == "assistant":
		d.said(said, text(b.id))
	case role == "user" && strings.HasPrefix(said, notification):
		d.notification(said)
	case role == "user" && !injected(said):
		d.prompt(said, images)
	}
}

// notification: a sub-agent ended, told to the one that started it.
func (d *decoder) notification(said string) {
	raw := []byte(strings.TrimSpace(strings.TrimPrefix(said, notification)))
	thread := text(jsonscan.Get(raw, "agent_path"))
	if done := jsonscan.Get(jsonscan.Get(raw, "status"), "completed"); done != nil && thread != "" {
		d.add(d.agentKey(thread, "ended"), event.AgentEnded{Said: text(done)}).Agent = thread
	}
}

// functionTool reads a function_call: its arguments are JSON in a string.
func functionTool(b *body) event.Tool {
	name, space := text(b.name), text(b.namespace)
	if strings.HasPrefix(space, "mcp__") && !strings.HasPrefix(name, "mcp__") {
		name = space + "__" + name
	}
	return translate(name, object(b.arguments))
}

// object gives arguments that may be JSON in a string.
func object(raw []byte) []byte {
	if jsonscan.Kind(raw) == '"' {
		return []byte(text(raw))
	}
	return raw
}

func (d *decoder) called(id string, t event.Tool, args []byte) {
	// In code mode calls come from inside a script and are told on their own.
	t.Container = d.marked(itemsMark) && (t.Name == "exec" || t.Name == "wait")
	d.add(d.call(id), event.ToolCalled{Tool: t})
	d.plan(&t, args)
}

// marked says that the reader left a mark, see the package.
func (d *decoder) marked(mark string) bool {
	_, marks, _ := strings.Cut(d.env.HostVersion, "+")
	return marks == mark || strings.HasPrefix(marks, mark+".")
}

// returned: the output of a call, and where it ended the command of an earlier
// one, that one's end too.
func (d *decoder) returned(id string, output []byte) {
	out := readOutput(output)
	var r event.ToolReturned
	out.fill(&r)
	d.add(d.call(id), r)
	if _, started, ok := strings.Cut(d.env.HostVersion, forMark); ok {
		d.add(d.call(started), r)
	}
}

// webSearch: a search that the model's own service made; no output is told.
func (d *decoder) webSearch(id string, action, query []byte) {
	t := event.Tool{Name: "web_search", Action: event.Web, Query: text(query)}
	if t.Query == "" {
		t.Query = first(jsonscan.Get(action, "query"), jsonscan.Get(action, "url"))
	}
	key := d.call(id)
	d.add(key, event.ToolCalled{Tool: t})
	d.add(key, event.ToolReturned{Tool: t, Outcome: event.OK})
}

// first gives the first text that is not empty.
func first(raw ...[]byte) string {
	for _, r := range raw {
		if s := text(r); s != "" {
			return s
		}
	}
	return ""
}
