package event

import "time"

// Turn is all that happened from one prompt to its end, as rules see it.
// Texts and outputs may be excerpts (head and tail).
type Turn struct {
	Host, Session, Project string
	Key                    string // names the turn within all sessions
	PromptNumber           int    // 1 for the session's first; 0 before any prompt
	Prompt                 string
	Started, Ended         time.Time
	Interrupted            bool
	Steps                  []Step // in log order
}

// Step is one text of the agent or one tool use of a turn: exactly one is set.
type Step struct {
	Time time.Time
	Said string
	Tool *ToolUse
}

// ToolUse is a tool call and what became of it.
type ToolUse struct {
	Key      string
	Agent    string
	Tool     Tool
	Outcome  Outcome
	ExitCode *int
	Output   string
	Error    string
}

// Memory is what a turn is worth remembering for.
type Memory struct {
	Observations []Observation
	Summary      *Summary
}

// Observation is one thing worth knowing later.
type Observation struct {
	Rule          string // which rule made it; "" a model or a person
	Type          string // bugfix feature refactor change discovery decision
	Title         string
	Subtitle      string
	Facts         []string
	Narrative     string
	Concepts      []string
	FilesRead     []string // from tool evidence only
	FilesModified []string
	PromptNumber  int
	FactKeys      []string // the facts it came from
}

// Summary tells a turn in five lines.
type Summary struct {
	Request, Investigated, Learned, Completed, NextSteps string
	FilesRead, FilesModified                             []string
	PromptNumber                                         int
}
