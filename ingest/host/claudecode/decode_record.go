package claudecode

import (
	"strings"

	"cmem/ingest/host/jsonscan"
	"cmem/streams/event"
)

func (d *decoder) record() {
	r := readRecord(d.env.Body)
	if d.head.Session == "" {
		d.head.Session = text(r.session)
	}
	if d.head.Time.IsZero() {
		d.head.Time = parseTime(text(r.time))
	}
	if agent := text(r.agent); agent != "" {
		d.head.Agent = agent
	} else if d.head.Agent == "" && r.sidechain {
		d.head.Agent = sidechain
	}
	if turn := text(r.promptID); turn != "" {
		d.head.Turn = turn
	}
	d.recordType(&r)
}

func (d *decoder) recordType(r *record) {
	switch typ := text(r.typ); typ {
	case "user", "assistant":
		if r.sidechain {
			d.add("", event.Counted{What: "sidechain_message"})
		}
		if typ == "user" {
			d.user(r)
		} else {
			d.assistant(r, readMessage(r.message))
		}
	case "system":
		d.system(r)
	case "attachment":
		d.attachment(r)
	case "progress":
		d.progress(r)
	case "queue-operation":
		d.add("", event.PromptQueued{Op: text(r.operation), Text: text(r.content)})
	default:
		d.unknown(r, typ)
	}
}

func (d *decoder) unknown(r *record, name string) {
	if skips(r) == "" {
		d.add("", event.Counted{What: "unknown:" + name})
	}
}

// message is the host's message inside a record.
type message struct{ content, model, id []byte }

func readMessage(raw []byte) message {
	var m message
	for key, value := range jsonscan.Fields(raw) {
		switch {
		case string(key) == "content" && m.content == nil:
			m.content = value
		case string(key) == "model" && m.model == nil:
			m.model = value
		case string(key) == "id" && m.id == nil:
			m.id = value
		}
	}
	return m
}

// block is one content block of a message.
type block struct {
	typ, text, id, name, input, use, content []byte
	failed                                   bool
}

func readBlock(raw []byte) block {
	var b block
	set := func(field *[]byte, value []byte) {
		if *field == nil {
			*field = value
		}
	}
	for key, value := range jsonscan.Fields(raw) {
		switch string(key) {
		case "type":
			set(&b.typ, value)
		case "text":
			set(&b.text, value)
		case "id":
			set(&b.id, value)
		case "name":
			set(&b.name, value)
		case "input":
			set(&b.input, value)
		case "tool_use_id":
			set(&b.use, value)
		case "content":
			set(&b.content, value)
		case "is_error":
			b.failed = jsonscan.True(value)
		}
	}
	return b
}

// assistant: one fact for each text and each tool call. Records of one answer
// share its id.
func (d *decoder) assistant(r *record, m message) {
	if jsonscan.Kind(m.content) == '"' {
		d.said(r, m, text(m.content), 0)
		return
	}
	texts := 0
	for raw := range jsonscan.Elements(m.content) {
		b := readBlock(raw)
		switch string(b.typ) {
		case `"text"`:
			if d.said(r, m, text(b.text), texts) {
				texts++
			}
		case `"tool_use"`:
			t := translate(text(b.name), b.input)
			d.addCall(text(b.id), t, !atLeast(d.version(r), 2, 0, 76))
			d.todos(text(b.id), text(b.name), b.input)
		}
	}
}

// said adds a text of the agent; not what the host itself says in its place.
func (d *decoder) said(r *record, m message, s string, n int) bool {
	if strings.TrimSpace(s) == "" || r.apiError || string(m.model) == `"<synthetic>"` {
		return false
	}
	d.add(d.own(text(r.uuid), n), event.AssistantSaid{Text: s, Message: text(m.id)})
	return true
}

func (d *decoder) version(r *record) string {
	if v := text(r.version); v != "" {
		return v
	}
	return d.env.HostVersion
}

// system: a compaction is told by the summary that follows its boundary, an away
// summary is the host's own retelling of what is there already.
func (d *decoder) system(r *record) {
	switch kind := text(r.subtype); kind {
	case "compact_boundary", "away_summary":
	default:
		d.unknown(r, "system:"+kind)
	}
}

// attachment: a prompt typed while the agent worked reaches it this way.
func (d *decoder) attachment(r *record) {
	var kind, mode, prompt []byte
	for key, value := range jsonscan.Fields(r.attachment) {
		switch string(key) {
		case "type":
			kind = value
		case "commandMode":
			mode = value
		case "prompt":
			prompt = value
		}
	}
	if string(kind) != `"queued_command"` {
		d.unknown(r, "attachment:"+text(kind))
		return
	}
	said, images := promptText(prompt)
	if mode != nil && string(mode) != `"prompt"` || marker(said) != notMarker || d.head.Agent != "" {
		return
	}
	d.prompt(d.own(text(r.uuid), 0), event.PromptSubmitted{Text: said, Origin: event.Queued, Images: images}, true)
}

// progress: the messages of a sub-agent inside its parent's file.
func (d *decoder) progress(r *record) {
	var kind, agent, inner []byte
	for key, value := range jsonscan.Fields(r.data) {
		switch string(key) {
		case "type":
			kind = value
		case "agentId":
			agent = value
		case "message":
			inner = value
		}
	}
	if string(kind) != `"agent_progress"` {
		d.unknown(r, "progress:"+text(kind))
		return
	}
	if d.head.Agent = text(agent); d.head.Agent == "" {
		d.head.Agent = sidechain
	}
	d.head.ParentCall = d.key(text(r.call))
	for raw := range jsonscan.Elements(readMessage(jsonscan.Get(inner, "message")).content) {
		d.nested(readBlock(raw))
	}
}

func (d *decoder) nested(b block) {
	switch string(b.typ) {
	case `"tool_use"`:
		t := translate(text(b.name), b.input)
		t.Nested = true
		d.addCall(text(b.id), t, false)
	case `"tool_result"`:
		result := toolResult(&b, &response{}, "")
		result.Tool.Nested = true
		d.addReturn(text(b.use), result)
	}
}
