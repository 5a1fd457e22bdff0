// Package claudecode tells what Claude Code says: its hook payloads, its session
// files, and the answers it takes. Facts and pure functions; no I/O, no clock.
//
// Hooks of 1.0.128, 2.0.76, 2.1.197 and 2.1.332 and transcripts of 1.0.95–2.1.x
// were seen; later ones bring new events, record types and fields with every
// release, so whatever is not known is kept and counted, never an error.
//
//	hook payload                     transcript record            fact key
//	tool_use_id                      tool_use.id, tool_use_id     the id (global)
//	none (1.0.128)                   the same                     Alt: session, tool, arguments
//	prompt_id (from 2.1.197)         promptId                     the id
//	prompt                           text of the user record      Alt: session, text
//	last_assistant_message           text of the last record      none: equal text
package claudecode

import "cmem/ingest/host/adapter"

// Name is the adapter's name: what `cmem-hook` is called with, and the source
// of every envelope of this host.
const Name = "claude-code"

// contextBytes caps what is given to the model at once: from 10,001 UTF-16
// units on the host replaces it by a preview and a file.
const contextBytes = 9990

// Hook is the live side.
func Hook() adapter.Hook {
	return adapter.Hook{
		Name:         Name,
		Identify:     identify,
		Noise:        noise,
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
