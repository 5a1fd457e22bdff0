package claudecode

import (
	"bytes"

	"cmem/ingest/host/jsonscan"
	"cmem/ingest/identity"
)

// normal gives a record's canonical bytes without what a fork, a resumed
// session or a copy of the file changes while the record stays the same one:
// whose session it is, where the session runs, its place in the tree, and the
// promptId (see fork).
func normal(value []byte) []byte {
	if jsonscan.Kind(value) != '{' {
		return identity.CanonicalJSON(value)
	}
	kept := make([]byte, 0, len(value))
	kept = append(kept, '{')
	for key, member := range jsonscan.Fields(value) {
		if varies(key) {
			continue
		}
		if len(kept) > 1 {
			kept = append(kept, ',')
		}
		kept = append(jsonscan.AppendText(kept, string(key)), ':')
		if string(key) == "message" {
			member = words(member)
		}
		kept = append(kept, member...)
	}
	return identity.CanonicalJSON(append(bytes.TrimSpace(kept), '}'))
}

// words are what a message says; usage, stop reasons and the like are filled in
// or left out by whoever writes the record again.
func words(message []byte) []byte {
	content := jsonscan.Get(message, "content")
	if content == nil {
		return message
	}
	return content
}

func varies(key []byte) bool {
	switch string(key) {
	case "sessionId", "session_id", "requestSessionId", "sessionKind", "forkedFrom",
		"cwd", "gitBranch", "slug", "entrypoint", "version",
		"parentUuid", "logicalParentUuid", "promptId":
		return true
	}
	return false
}
