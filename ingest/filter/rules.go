package filter

import (
	"path"
	"slices"
	"strings"
)

// ownServers are MCP servers whose answers are memory already.
var ownServers = []string{"cmem", "claude-mem", "claude_mem", "mcp-search", "mcp_search"}

// ownTool knows mcp__SERVER__tool as Claude Code and Codex write it, with
// plugin_PLUGIN_SERVER for a plugin's server, and mcp_SERVER_tool of others.
func ownTool(tool string) bool {
	rest, ok := strings.CutPrefix(strings.ToLower(tool), "mcp_")
	if !ok {
		return false
	}
	rest = strings.TrimPrefix(strings.TrimPrefix(rest, "_"), "plugin_")
	return slices.ContainsFunc(ownServers, func(server string) bool {
		after, ok := strings.CutPrefix(rest, server)
		return ok && (after == "" || after[0] == '_')
	})
}

// ownCommand says that a shell line does nothing but call cmem.
func ownCommand(line string) bool {
	if strings.ContainsAny(line, ";&|\n`") || strings.Contains(line, "$(") {
		return false
	}
	words := strings.Fields(line)
	return len(words) > 0 && path.Base(clean(words[0])) == "cmem"
}

// sessionMemory: hosts keep notes about a session in files of their own, and
// have the model read and write them behind the scenes.
func sessionMemory(e Event) bool {
	switch e.Tool {
	case "Edit", "MultiEdit", "Write", "Read", "NotebookEdit":
	default:
		return false
	}
	return slices.ContainsFunc(e.Paths, func(p string) bool {
		parts := strings.Split(clean(p), "/")
		host := slices.Index(parts, ".claude")
		return host >= 0 && slices.Contains(parts[host:], "session-memory")
	})
}

// maxNotification: a longer one carries more than protocol.
const maxNotification = 256 << 10

// isNotification says that a prompt is one <task-notification> element.
func isNotification(prompt string) bool {
	const opening, closing = "<task-notification", "</task-notification>"
	p := strings.TrimSpace(prompt)
	if len(p) > maxNotification || !strings.HasPrefix(p, opening) || !strings.HasSuffix(p, closing) {
		return false
	}
	after := p[len(opening)]
	return (after == '>' || after == ' ' || after == '\n') && strings.Index(p, closing) == len(p)-len(closing)
}
