package codex

import (
	"bytes"

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
		case name == "payload" && string(key) == "output":
			kept = unmeasured(kept, member)
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

// unmeasured appends an output as it stands, without the lines of its header
// that the shell tool writes anew each time.
func unmeasured(kept, output []byte) []byte {
	head, rest := output, []byte(nil)
	if i := bytes.Index(output, []byte(`\nOutput:`)); i >= 0 {
		head, rest = output[:i], output[i:]
	}
	if !bytes.HasPrefix(head, []byte(`"Chunk ID: `)) && !bytes.HasPrefix(head, []byte(`"Wall time`)) && !bytes.HasPrefix(head, []byte(`"Command: `)) {
		return append(kept, output...)
	}
	kept = append(kept, '"')
	for line := range bytes.SplitSeq(head[1:], []byte(`\n`)) {
		if bytes.HasPrefix(line, []byte("Chunk ID: ")) || bytes.HasPrefix(line, []byte("Wall time")) {
			continue
		}
		kept = append(append(kept, line...), '\\', 'n')
	}
	return append(kept, rest...)
}
