package codex

import (
	"cmem/ingest/host/jsonscan"
	"cmem/ingest/identity"
)

// normal gives a value's canonical bytes without what a fork stamps anew while
// the record stays the same one: its time, and its number in the file.
func normal(value []byte) []byte {
	kept := append(make([]byte, 0, len(value)), '{')
	for key, member := range jsonscan.Fields(value) {
		switch string(key) {
		case "timestamp", "ordinal":
			continue
		}
		if len(kept) > 1 {
			kept = append(kept, ',')
		}
		kept = append(jsonscan.AppendText(kept, string(key)), ':')
		kept = append(kept, member...)
	}
	if len(kept) == 1 {
		return identity.CanonicalJSON(value)
	}
	return identity.CanonicalJSON(append(kept, '}'))
}
