package codex

import (
	"strings"

	"cmem/ingest/host/adapter"
	"cmem/ingest/host/jsonscan"
)

// skip names the rule that keeps a value out of the log, if there is one.
func (r *reader) skip(rec *record, v *adapter.Value) {
	switch {
	case rec.typ == "session_meta":
		if id := text(rec.body.id); id != r.Thread && id != "" {
			v.Skip, v.Parent = "noise:session_meta", id
		} else {
			v.Parent = r.Parent
		}
		return
	case r.copied(rec):
		v.Skip, v.Parent = "copied", r.Parent
		return
	}
	if rule := r.noise(rec); rule != "" {
		v.Skip = "noise:" + rule
	}
}

func (r *reader) noise(rec *record) string {
	kind := text(rec.body.typ)
	switch rec.typ {
	case "turn_context", "world_state", "token_usage_record", "state":
		return rec.typ
	case "inter_agent_communication_metadata":
		return rec.typ
	case "event_msg":
		return r.noiseEvent(rec, kind)
	case "response_item":
		return r.noiseItem(rec, kind)
	}
	return ""
}

// noiseEvent: states, progress, and what other records tell better.
func (r *reader) noiseEvent(rec *record, kind string) string {
	switch kind {
	case "agent_message":
		r.Said = hashOf(text(rec.body.message))
		return ""
	case "item_completed":
		switch item := text(jsonscan.Get(rec.body.item, "type")); item {
		case "Reasoning", "ContextCompaction", "Plan", "HookPrompt":
			return kind + "." + item
		}
		return ""
	case "token_count", "thread_settings_applied", "task_started", "turn_started", "item_started",
		"agent_reasoning", "agent_reasoning_raw_content", "agent_reasoning_section_break",
		"context_compacted", "plan_update", "turn_diff", "background_event", "thread_name_updated",
		"exec_command_begin", "patch_apply_begin", "mcp_tool_call_begin", "web_search_begin",
		"web_search_end", "view_image_tool_call", "session_configured", "mcp_startup_update",
		"mcp_startup_complete", "exec_approval_request", "apply_patch_approval_request":
		return kind
	}
	if strings.HasPrefix(kind, "collab_") && kind != "collab_agent_spawn_end" || strings.HasSuffix(kind, "_delta") {
		return kind
	}
	return ""
}

// noiseItem: the host's own words to its model, the model's thoughts, and what
// is told twice.
func (r *reader) noiseItem(rec *record, kind string) string {
	switch kind {
	case "reasoning", "ghost_snapshot", "additional_tools", "compaction", "compaction_summary", "other":
		return kind
	case "message":
	default:
		return ""
	}
	said, _ := parts(rec.body.content)
	switch role := text(rec.body.role); {
	case role == "developer", role == "system":
		return role
	case role == "assistant":
		if r.Items || r.Said != "" && r.Said == hashOf(said) {
			r.Said = ""
			return "told-twice"
		}
	case strings.HasPrefix(said, notification):
	case injected(said), strings.TrimSpace(said) == "":
		return "injected"
	case rec.bare: // nothing else tells of prompts
	case r.Items, r.Told, r.Turn == "":
		return "told-twice"
	}
	return ""
}
