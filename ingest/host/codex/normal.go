package codex

import (
	"bytes"
	"regexp"

	"cmem/ingest/host/jsonscan"
	"cmem/ingest/identity"
)

// stamps are members that a fork, a resumed thread or a repeated call stamps
// anew while what was said stays the same: time, place in the file, turn, and
// the identity of the delivery. What names the record is in its envelope's id.
var stamps = map[string][]string{
	"":        {"timestamp", "ordinal", "metadata"},
	"payload": {"id", "status", "thread_id", "turn_id", "started_at_ms", "completed_at_ms", "internal_chat_message_metadata_passthrough"},
	"item":    {"process_id", "duration", "cwd"},
}

// measured are the lines that the shell tool puts before every output.
var measured = regexp.MustCompile(`(Chunk ID: [0-9a-f]+|Wall time: [0-9.]+ seconds)(\\n)?`)

// normal gives a value's canonical bytes without its stamps.
func normal(value []byte) []byte {
	if jsonscan.Kind(value) != '{' {
		return identity.CanonicalJSON(value)
	}
	return identity.CanonicalJSON(trimmed(nil, value, ""))
}

// trimmed appends the object value, named name, without its stamps.
func trimmed(kept, value []byte, name string) []byte {
	kept = append(kept, '{')
	first := true
	for key, member := range jsonscan.Fields(value) {
		if stamped(name, key) {
			continue
		}
		if !first {
			kept = append(kept, ',')
		}
		first = false
		kept = append(jsonscan.AppendText(kept, string(key)), ':')
		switch {
		case stamps[string(key)] != nil && jsonscan.Kind(member) == '{':
			kept = trimmed(kept, member, string(key))
		case name == "payload" && string(key) == "output" && bytes.HasPrefix(member, []byte(`"`)):
			kept = append(kept, measured.ReplaceAll(member, nil)...)
		default:
			kept = append(kept, member...)
		}
	}
	return append(kept, '}')
}

func stamped(name string, key []byte) bool {
	for _, s := range stamps[name] {
		if s == string(key) {
			return true
		}
	}
	return false
}
