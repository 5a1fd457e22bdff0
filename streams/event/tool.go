package event

// Action is what a tool does, whatever a host calls it.
type Action string

// The actions.
const (
	Read   Action = "read"
	Edit   Action = "edit"
	Write  Action = "write"
	Search Action = "search"
	Run    Action = "run"
	Web    Action = "web"
	Spawn  Action = "agent"
	MCP    Action = "mcp"
	Plan   Action = "plan"
	Other  Action = "other"
)

// Tool is one tool call's input, translated from the host's shape so that rules
// and read models need not know it. Paths are as the host gave them.
type Tool struct {
	Name    string // the host's own name
	Action  Action
	Input   string   // the host's arguments: canonical JSON, or text
	Command string   // Run: the command line
	Query   string   // Search, Web: what was looked for
	Reads   []string // paths read, from the arguments
	Writes  []string // paths changed, from the arguments
	Edits   []Change // Edit, Write: what was changed
	Note    string   // the agent's own description of the call
	// Container: the call only wraps others that are told on their own (Codex
	// code mode's exec); it is kept and not counted as a tool use.
	Container bool
	// Nested: told by a progress record of the parent's file, not by the
	// sub-agent's own.
	Nested bool
}

// Change is one replacement in one file. For a new file Old is empty.
type Change struct{ Path, Old, New string }
