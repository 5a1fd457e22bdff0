package codex

import (
	"strings"

	"cmem/ingest/host/jsonscan"
)

// record is one value of a rollout: {timestamp, type, payload}, or a bare item
// of 2025-09 made to look like it.
type record struct {
	time, typ string
	bare      bool
	body      body
}

// body holds the members of a payload, or of an item in it, as they stand.
type body struct {
	typ, id, session, thread, forkedFrom, parentThread, source, version, cwd, git []byte
	turn, rootTurn, callID, name, namespace, arguments, input, output, role       []byte
	content, item, message, images, reason, lastMessage, action, status           []byte
	command, exitCode, aggregated, stdout, stderr, duration, changes, success     []byte
	server, tool, result, err, path, query, prompt, receivers, invocation         []byte
	newThread, nickname, completedMS, startedMS                                   []byte
}

func readRecord(raw []byte) record {
	var r record
	var payload, typ, recordType, instructions, id []byte
	for key, value := range jsonscan.Fields(raw) {
		switch string(key) {
		case "timestamp":
			r.time = text(value)
		case "type":
			typ = value
		case "payload":
			payload = value
		case "record_type":
			recordType = value
		case "instructions":
			instructions = value
		case "id":
			id = value
		}
	}
	switch {
	case payload != nil:
		r.typ, r.body = text(typ), readBody(payload)
		return r
	case recordType != nil:
		r.typ = "state"
	case typ != nil:
		r.typ = "response_item"
	case id != nil && (instructions != nil || r.time != ""):
		r.typ = "session_meta"
	}
	r.bare, r.body = true, readBody(raw)
	return r
}

func readBody(raw []byte) body {
	var b body
	for key, value := range jsonscan.Fields(raw) {
		if field := b.field(key); field != nil && *field == nil {
			*field = value
		}
	}
	return b
}

func (b *body) field(key []byte) *[]byte {
	switch string(key) {
	case "type":
		return &b.typ
	case "id":
		return &b.id
	case "session_id":
		return &b.session
	case "thread_id":
		return &b.thread
	case "forked_from_id":
		return &b.forkedFrom
	case "parent_thread_id":
		return &b.parentThread
	case "source":
		return &b.source
	case "cli_version":
		return &b.version
	case "cwd":
		return &b.cwd
	case "git":
		return &b.git
	case "turn_id":
		return &b.turn
	case "root_turn_id":
		return &b.rootTurn
	case "item":
		return &b.item
	case "message":
		return &b.message
	case "images":
		return &b.images
	case "reason":
		return &b.reason
	case "last_agent_message":
		return &b.lastMessage
	case "role":
		return &b.role
	case "content":
		return &b.content
	}
	return b.callField(key)
}

func (b *body) callField(key []byte) *[]byte {
	switch string(key) {
	case "call_id":
		return &b.callID
	case "name":
		return &b.name
	case "namespace":
		return &b.namespace
	case "arguments":
		return &b.arguments
	case "input":
		return &b.input
	case "output":
		return &b.output
	case "action":
		return &b.action
	case "status":
		return &b.status
	case "command":
		return &b.command
	case "exit_code":
		return &b.exitCode
	case "aggregated_output":
		return &b.aggregated
	case "stdout":
		return &b.stdout
	case "stderr":
		return &b.stderr
	case "duration":
		return &b.duration
	case "changes":
		return &b.changes
	case "success":
		return &b.success
	}
	return b.itemField(key)
}

func (b *body) itemField(key []byte) *[]byte {
	switch string(key) {
	case "server":
		return &b.server
	case "tool":
		return &b.tool
	case "result":
		return &b.result
	case "error":
		return &b.err
	case "path":
		return &b.path
	case "query":
		return &b.query
	case "prompt":
		return &b.prompt
	case "receiver_agents":
		return &b.receivers
	case "invocation":
		return &b.invocation
	case "new_thread_id":
		return &b.newThread
	case "new_agent_nickname":
		return &b.nickname
	case "completed_at_ms":
		return &b.completedMS
	case "started_at_ms":
		return &b.startedMS
	}
	return nil
}

// fullType is the record's type with what tells its kinds apart:
// response_item.message.user, event_msg.item_completed.FileChange.
func (r *record) fullType() string {
	name := r.typ
	if r.typ != "response_item" && r.typ != "event_msg" {
		return name
	}
	kind := text(r.body.typ)
	name += "." + kind
	switch kind {
	case "message":
		name += "." + text(r.body.role)
	case "item_completed":
		name += "." + text(jsonscan.Get(r.body.item, "type"))
	}
	return name
}

// parts joins the texts of a content list, or of a plain string, and counts
// images. Marks that stand for an image are left out.
func parts(content []byte) (said string, images int) {
	if jsonscan.Kind(content) == '"' {
		return text(content), 0
	}
	var texts []string
	for raw := range jsonscan.Elements(content) {
		var kind, s []byte
		for key, value := range jsonscan.Fields(raw) {
			switch string(key) {
			case "type":
				kind = value
			case "text":
				s = value
			}
		}
		switch text(kind) {
		case "input_image", "image", "local_image", "localImage":
			images++
			continue
		}
		if t := text(s); t != "" && !strings.HasPrefix(t, "<image") && t != "</image>" {
			texts = append(texts, t)
		}
	}
	return strings.Join(texts, "\n"), images
}

// injected says that a text in the user's role was put there by the host.
func injected(s string) bool {
	return strings.HasPrefix(s, "<") || strings.HasPrefix(s, "# AGENTS.md")
}

const notification = "<subagent_notification>"
