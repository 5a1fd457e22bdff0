package codex

import (
	"strings"

	"cmem/ingest/host/adapter"
	"cmem/ingest/host/jsonscan"
)

// answer gives what the host prints to its model and its user. The host drops an
// answer with one field it does not know, so these are all. What ends a turn is
// never answered: any word could make the agent go on.
func answer(event string, r adapter.Reply) []byte {
	if !answers(event) {
		return nil
	}
	var members [][]byte
	if context := strings.TrimSpace(r.Context); context != "" {
		m := []byte(`"hookSpecificOutput":{"hookEventName":"` + event + `","additionalContext":`)
		members = append(members, append(jsonscan.AppendText(m, context), '}'))
	}
	if notice := strings.TrimSpace(r.Notice); notice != "" {
		members = append(members, jsonscan.AppendText([]byte(`"systemMessage":`), notice))
	}
	if len(members) == 0 {
		return nil
	}
	out := []byte{'{'}
	for i, m := range members {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, m...)
	}
	return append(out, '}', '\n')
}

func answers(event string) bool {
	switch event {
	case "SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse":
		return true
	}
	return false
}
