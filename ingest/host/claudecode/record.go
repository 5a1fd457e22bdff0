package claudecode

import (
	"strconv"
	"strings"

	"cmem/ingest/host/jsonscan"
)

// sidechain names the sub-agent of old inline records that have no agent id.
const sidechain = "sidechain"

// record holds the members of one transcript record that mean something, as
// they stand.
type record struct {
	typ, subtype, uuid, parent, session, time []byte
	version, cwd, branch, promptID, agent     []byte
	message, result, denial, origin           []byte
	attachment, data, content, operation      []byte
	call, leaf, snapshot                      []byte
	sidechain, meta, compact, apiError        bool
}

func readRecord(raw []byte) record {
	var r record
	for key, value := range jsonscan.Fields(raw) {
		if field := r.field(key); field != nil {
			if *field == nil {
				*field = value
			}
			continue
		}
		r.flag(key, value)
	}
	return r
}

func (r *record) field(key []byte) *[]byte {
	switch string(key) {
	case "type":
		return &r.typ
	case "subtype":
		return &r.subtype
	case "uuid":
		return &r.uuid
	case "parentUuid":
		return &r.parent
	case "sessionId":
		return &r.session
	case "timestamp":
		return &r.time
	case "version":
		return &r.version
	case "cwd":
		return &r.cwd
	case "gitBranch":
		return &r.branch
	case "promptId":
		return &r.promptID
	case "agentId":
		return &r.agent
	case "message":
		return &r.message
	case "toolUseResult":
		return &r.result
	}
	return r.rareField(key)
}

func (r *record) rareField(key []byte) *[]byte {
	switch string(key) {
	case "toolDenialKind":
		return &r.denial
	case "origin":
		return &r.origin
	case "attachment":
		return &r.attachment
	case "data":
		return &r.data
	case "content":
		return &r.content
	case "operation":
		return &r.operation
	case "parentToolUseID":
		return &r.call
	case "leafUuid":
		return &r.leaf
	case "snapshot":
		return &r.snapshot
	}
	return nil
}

func (r *record) flag(key, value []byte) {
	switch string(key) {
	case "isSidechain":
		r.sidechain = jsonscan.True(value)
	case "isMeta":
		r.meta = jsonscan.True(value)
	case "isCompactSummary":
		r.compact = jsonscan.True(value)
	case "isApiErrorMessage":
		r.apiError = jsonscan.True(value)
	}
}

// fullType is the record type with its subtype: "system:compact_boundary".
func (r *record) fullType() string {
	typ, sub := text(r.typ), r.kind()
	if sub == "" {
		return typ
	}
	return typ + ":" + sub
}

// kind is the subtype, wherever the record keeps it.
func (r *record) kind() string {
	switch string(r.typ) {
	case `"system"`:
		return text(r.subtype)
	case `"attachment"`:
		return text(jsonscan.Get(r.attachment, "type"))
	case `"progress"`:
		return text(jsonscan.Get(r.data, "type"))
	}
	return ""
}

// skips names the type of a record that is known to say nothing worth keeping,
// "" for any other. Unknown types are kept.
func skips(r *record) string {
	switch typ := text(r.typ); typ {
	case "user", "assistant", "queue-operation":
		return ""
	case "progress":
		if kind := r.kind(); kind != "agent_progress" {
			return "progress"
		}
	case "system":
		if kind := r.kind(); quietSystem(kind) {
			return "system:" + kind
		}
	case "attachment":
		if kind := r.kind(); quietAttachment(kind) {
			return "attachment:" + kind
		}
	case "summary", "file-history-snapshot", "file-history-delta", "last-prompt",
		"custom-title", "agent-name", "ai-title", "permission-mode", "mode",
		"bridge-session", "pr-link", "frame-link", "tag",
		"api-request", "api-request-shape", "api-request-blob",
		"atis-latch", "tools-used", "cost-state":
		return typ
	}
	return ""
}

func quietSystem(kind string) bool {
	switch kind {
	case "stop_hook_summary", "turn_duration", "microcompact_boundary", "api_error",
		"bridge_status", "informational", "model_refusal_fallback", "local_command":
		return true
	}
	return false
}

// quietAttachment: what the host or a hook put beside a prompt. hook_* hold our
// own words coming back.
func quietAttachment(kind string) bool {
	switch kind {
	case "hook_success", "hook_additional_context", "hook_system_message",
		"hook_blocking_error", "hook_non_blocking_error", "hook_cancelled",
		"hook_error_during_execution", "hook_stopped_continuation",
		"hook_permission_decision", "async_hook_response",
		"task_reminder", "todo_reminder", "task_status", "edited_text_file", "file", "directory",
		"nested_memory", "invoked_skills", "skill_listing", "deferred_tools_delta",
		"mcp_instructions_delta", "agent_listing_delta", "compact_file_reference",
		"goal_status", "command_permissions", "date", "environment", "instructions",
		"model", "prompt_snapshot", "remote_session_change", "session_context":
		return true
	}
	return strings.HasPrefix(kind, "plan_mode") || strings.HasPrefix(kind, "auto_mode")
}

// atLeast says whether version is major.minor.patch or later. A version that
// cannot be read is late: only old ones need help.
func atLeast(version string, major, minor, patch int) bool {
	want := [3]int{major, minor, patch}
	parts := strings.SplitN(version, ".", 3)
	for i := range parts {
		n, err := strconv.Atoi(parts[i])
		if err != nil || n > want[i] {
			return true
		}
		if n < want[i] {
			return false
		}
	}
	return true
}
