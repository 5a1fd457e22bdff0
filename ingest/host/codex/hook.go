package codex

import (
	"cmem/ingest/host/adapter"
	"cmem/ingest/host/jsonscan"
	"cmem/ingest/identity"
)

// payload holds the members of a hook payload as they stand. The old notify
// mechanism writes its keys with dashes.
type payload struct {
	event, session, turn, transcript, cwd, model    []byte
	tool, input, response, toolUseID, prompt        []byte
	source, reason, trigger, lastMessage            []byte
	agentID, agentType, request                     []byte
	notifyType, thread, notifyTurn, inputs, notLast []byte
}

func readPayload(data []byte) payload {
	var p payload
	for key, value := range jsonscan.Fields(data) {
		if field := p.field(key); field != nil && *field == nil {
			*field = value
		}
	}
	return p
}

func (p *payload) field(key []byte) *[]byte {
	switch string(key) {
	case "hook_event_name":
		return &p.event
	case "session_id":
		return &p.session
	case "turn_id":
		return &p.turn
	case "transcript_path":
		return &p.transcript
	case "cwd":
		return &p.cwd
	case "model":
		return &p.model
	case "tool_name":
		return &p.tool
	case "tool_input":
		return &p.input
	case "tool_response":
		return &p.response
	case "tool_use_id":
		return &p.toolUseID
	case "prompt":
		return &p.prompt
	case "source":
		return &p.source
	case "reason":
		return &p.reason
	case "trigger":
		return &p.trigger
	case "last_assistant_message":
		return &p.lastMessage
	case "agent_id":
		return &p.agentID
	case "agent_type":
		return &p.agentType
	case "request_id":
		return &p.request
	}
	return p.notifyField(key)
}

func (p *payload) notifyField(key []byte) *[]byte {
	switch string(key) {
	case "type":
		return &p.notifyType
	case "thread-id":
		return &p.thread
	case "turn-id":
		return &p.notifyTurn
	case "input-messages":
		return &p.inputs
	case "last-assistant-message":
		return &p.notLast
	}
	return nil
}

// notify is the name of the event that the old notify mechanism makes.
const notify = "notify"

// name gives the event's name: the payload's own, notify for a payload of that
// shape, else what the command line says.
func (p *payload) name(argument string) string {
	switch {
	case p.event != nil:
		return text(p.event)
	case p.thread != nil && p.notifyType != nil:
		return notify
	}
	return argument
}

// identify reads what the publisher needs.
func identify(event string, data []byte) adapter.Said {
	p := readPayload(data)
	s := adapter.Said{
		Event:      p.name(event),
		Session:    text(p.session),
		Tool:       text(p.tool),
		Cwd:        text(p.cwd),
		Agent:      text(p.agentID),
		Transcript: text(p.transcript),
	}
	if p.input != nil {
		t := translate(s.Tool, p.input)
		s.Paths = append(append(s.Paths, t.Reads...), t.Writes...)
	}
	switch s.Event {
	case "UserPromptSubmit":
		s.Prompt, s.IsPrompt, s.ID = text(p.prompt), s.Agent == "", text(p.turn)
	case "PreToolUse", "PostToolUse", "PermissionRequest":
		s.ID = scope(text(p.toolUseID), s.Session, text(p.turn))
	case "Stop", "Interrupt", "PreCompact", "PostCompact":
		s.ID = text(p.turn)
	case "SubagentStart":
		s.ID = s.Agent
	case "SubagentStop": // an agent that is given more work stops again
		s.ID = text(p.turn)
	case "PreModelRequest":
		s.ID = text(p.request)
	case notify:
		s.Session, s.ID = text(p.thread), text(p.notifyTurn)
	}
	return s
}

// scope makes an id unique that may repeat elsewhere.
func scope(id, session, turn string) string {
	if id == "" || identity.KnownForm(id) {
		return id
	}
	return session + ":" + turn + ":" + id
}

// noiseEvent: before each request to the model; it says nothing else.
func noiseEvent(event string) bool { return event == "PreModelRequest" }

func known(event string) bool {
	switch event {
	case "SessionStart", "SessionEnd", "UserPromptSubmit", "PreToolUse", "PostToolUse",
		"PermissionRequest", "Stop", "Interrupt", "PreCompact", "PostCompact",
		"SubagentStart", "SubagentStop", "PreModelRequest", notify:
		return true
	}
	return false
}

func text(raw []byte) string { return jsonscan.Text(raw) }
