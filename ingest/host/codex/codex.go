// Package codex tells what Codex says: its hook payloads, its rollout files, and
// the answers it takes. Facts and pure functions; no I/O, no clock.
//
// Rollouts of 2025-09 (bare items), 0.39–0.145 (wrapped in {timestamp, type,
// payload}) and 0.171 (item_completed, code mode) and hooks of 0.171 were seen.
// What is not known is kept and counted, never an error.
//
//	hook payload             rollout                          fact key
//	tool_use_id              item_completed item.id; call_id  the id (global)
//	any other id             the same                         turn, id
//	turn_id and prompt       UserMessage, user_message        turn, text
//	no turn (before 0.118)   user_message                     Alt: session, text
//	turn_id of Stop          task_complete, turn_aborted      turn
//	agent_id                 session_meta.id of its rollout   the id
//
// A rollout tells most things twice. The Reader keeps the one that is there in
// every case and skips the other as noise; it knows what a single value does
// not: the thread, the turn, whether history is copied from a parent thread,
// whether the rollout has item_completed records. What Decode needs of that is
// in the envelope:
//
//	Turn         the current turn; for a sub-agent the turn of the session it serves
//	Agent        the thread, where it is not the session's own
//	HostVersion  cli_version, then "+items" if calls are told by item_completed too
//	             (then the call "exec" is only the container of inner calls), then
//	             ".for.<call_id>" (or "+for.<call_id>") on the output of write_stdin
//	             that ended the command which that call started; "+inner" on the end
//	             of a call that such a script made before there was item_completed:
//	             it is kept with what it changed, and the exec is what counts
package codex

import "cmem/ingest/host/adapter"

// Name is the adapter's name: what `cmem-hook` is called with, and the source
// of every envelope of this host.
const Name = "codex"

// contextBytes caps what is given to the model at once: of 10,000 bytes and
// more the host cuts out the middle.
const contextBytes = 9990

// Hook is the live side.
func Hook() adapter.Hook {
	return adapter.Hook{
		Name:         Name,
		Identify:     identify,
		Noise:        noiseEvent,
		Known:        known,
		Answer:       answer,
		ContextBytes: contextBytes,
	}
}

// Transcript is the file side.
func Transcript() adapter.Transcript {
	return adapter.Transcript{
		Name:      Name,
		Detect:    detect,
		NewReader: newReader,
		Normal:    normal,
	}
}
