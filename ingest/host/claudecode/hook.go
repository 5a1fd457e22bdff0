package claudecode

import (
	"strings"

	"cmem/ingest/host/adapter"
	"cmem/ingest/host/jsonscan"
	"cmem/ingest/identity"
)

// payload holds the members of one hook payload that mean something, as they
// stand. Nothing below them is read until it is asked for.
type payload struct {
	event, session, cwd, transcript         []byte
	promptID, prompt                        []byte
	tool, toolUseID, input, response        []byte
	failure, interrupt, duration            []byte
	agentID, agentType                      []byte
	source, model, reason, trigger, summary []byte
	lastMessage, stopActive, background     []byte
	commandName, commandArgs                []byte
	cursor, generation, roots               []byte
}

func readPayload(body []byte) payload {
	var p payload
	for key, value := range jsonscan.Fields(body) {
		if field := p.field(key); field != nil && *field == nil {
			*field = value
		}
	}
	return p
}

// field gives the place of an exact key, nil if it means nothing here.
func (p *payload) field(key []byte) *[]byte {
	switch string(key) {
	case "hook_event_name":
		return &p.event
	case "session_id":
		return &p.session
	case "cwd":
		return &p.cwd
	case "transcript_path":
		return &p.transcript
	case "prompt_id":
		return &p.promptID
	case "prompt":
		return &p.prompt
	case "tool_name":
		return &p.tool
	case "tool_use_id":
		return &p.toolUseID
	case "tool_input":
		return &p.input
	case "tool_response":
		return &p.response
	case "error":
		return &p.failure
	case "is_interrupt":
		return &p.interrupt
	case "duration_ms":
		return &p.duration
	case "agent_id":
		return &p.agentID
	case "agent_type":
		return &p.agentType
	}
	return p.rareField(key)
}

func (p *payload) rareField(key []byte) *[]byte {
	switch string(key) {
	case "source":
		return &p.source
	case "model":
		return &p.model
	case "reason":
		return &p.reason
	case "trigger":
		return &p.trigger
	case "compact_summary":
		return &p.summary
	case "last_assistant_message":
		return &p.lastMessage
	case "stop_hook_active":
		return &p.stopActive
	case "background_tasks":
		return &p.background
	case "command_name":
		return &p.commandName
	case "command_args":
		return &p.commandArgs
	case "cursor_version":
		return &p.cursor
	case "generation_id":
		return &p.generation
	case "workspace_roots":
		return &p.roots
	}
	return nil
}

// identify reads what the publisher needs. tool_input is not decoded, only the
// paths at its top are.
func identify(event string, body []byte) adapter.Said {
	p := readPayload(body)
	said := adapter.Said{
		Event:      text(p.event),
		Session:    text(p.session),
		Tool:       text(p.tool),
		Cwd:        text(p.cwd),
		Agent:      text(p.agentID),
		Transcript: text(p.transcript),
		Paths:      inputPaths(p.input),
	}
	if said.Event == "" {
		said.Event = event
	}
	said.ID = eventID(said.Event, &p)
	if said.Event == "UserPromptSubmit" {
		said.Prompt = text(p.prompt)
		said.IsPrompt = !strings.HasPrefix(strings.TrimSpace(said.Prompt), "<task-notification>")
	}
	if jsonscan.Kind(p.cursor) == '"' {
		fromCursor(&said, &p)
	}
	return said
}

// eventID is the host's id of the thing the event is about, where there is one
// that the host gives to no other event of that name. An id of no random form
// (models behind a proxy make "functions.bash:0" again and again) names nothing.
func eventID(event string, p *payload) string {
	var id string
	switch event {
	case "PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionDenied":
		id = text(p.toolUseID)
	case "UserPromptSubmit":
		id = text(p.promptID)
	}
	if !identity.KnownForm(id) {
		return ""
	}
	return id
}

// fromCursor: Cursor runs Claude Code's hooks beside its own and marks the
// payload; the event is Cursor's, told twice.
func fromCursor(said *adapter.Said, p *payload) {
	said.Source = "cursor"
	if said.ID == "" && said.Event == "UserPromptSubmit" {
		said.ID = text(p.generation)
	}
	if said.Cwd == "" {
		for root := range jsonscan.Elements(p.roots) {
			said.Cwd = text(root)
			break
		}
	}
}

func inputPaths(input []byte) []string {
	var paths []string
	for key, value := range jsonscan.Fields(input) {
		switch string(key) {
		case "file_path", "notebook_path", "path":
			if path := text(value); path != "" {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// noise: events that say nothing that another event or record does not say.
// Parts of a message while it is displayed, a second copy of a batch's calls,
// questions and states of the host's own screen.
func noise(event string) bool {
	switch event {
	case "MessageDisplay", "PostToolBatch", "InstructionsLoaded",
		"PreModelSwitch", "PostModelSwitch", "Notification", "PermissionRequest",
		"Setup", "TaskCreated", "TaskCompleted", "TeammateIdle",
		"ConfigChange", "CwdChanged", "FileChanged", "DirectoryAdded":
		return true
	}
	return false
}

// known: events that Decode understands, and noise.
func known(event string) bool {
	switch event {
	case "SessionStart", "SessionEnd", "UserPromptSubmit", "UserPromptExpansion",
		"PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionDenied",
		"Stop", "StopFailure", "SubagentStart", "SubagentStop", "PreCompact", "PostCompact":
		return true
	}
	return noise(event)
}
