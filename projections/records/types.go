package records

import (
	"time"

	"cmem/streams"
	"cmem/streams/event"
)

// IDs that clients see are first position × 1024 + ordinal, below 2^53.

// Session is one session of a host.
type Session struct {
	ID                   int64
	Session              string // host's id
	Host                 string
	Project              string // project key (package project)
	Parent               string // session it was forked or spawned from
	FirstShared          string
	Started, Seen, Ended time.Time // source times; Ended zero while open
	Cwd, Branch          string
	Counts               Counts
}

// Counts are a session's totals; DESIGN's counting rules (docs/COUNTING.md).
type Counts struct {
	Prompts, QueuedOnly, Commands, Interrupts, Compactions      int
	ToolUses, Paired, Unpaired, Orphans, ToolErrors, NestedUses int
	SidechainMessages, Texts                                    int
}

// Prompt is one thing the user asked for.
type Prompt struct {
	ID                     int64
	Session, Host, Project string
	Turn                   string // turn key
	Number                 int
	Text                   string
	Private                bool
	Time                   time.Time
	Position               streams.Position
}

// Text is one text of the agent.
type Text struct {
	ID                                  int64
	Session, Host, Project, Turn, Agent string
	Text                                string // excerpt; the whole is in the log
	Time                                time.Time
	Position                            streams.Position
}

// ToolUse is one tool call with its end.
type ToolUse struct {
	ID                           int64
	Session, Host, Project, Turn string
	event.ToolUse
	Time           time.Time
	Position       streams.Position // of the call, or of the end if no call is known
	ReturnPosition streams.Position
}

// Turn is what one search document for tools is made of.
type Turn struct {
	ID                           int64
	Session, Host, Project       string
	Key                          string
	PromptNumber                 int
	Started, Ended               time.Time
	Closed, Interrupted, Private bool
	Tools                        []int64
}

// Observation is a memory as readers see it.
type Observation struct {
	ID                                  int64
	Session, Host, Project, Turn, Agent string
	event.Observation
	Origin   string // rules, model, person
	Time     time.Time
	Position streams.Position
}

// Summary is a turn's (later: a session's) summary; the newest of a session is current.
type Summary struct {
	ID                           int64
	Session, Host, Project, Turn string
	event.Summary
	Origin   string
	Time     time.Time
	Position streams.Position
}

// Project is a project with the name shown for it.
type Project struct {
	Key                                        string
	Name                                       string // unique
	Parent                                     string // key of the repository a worktree belongs to
	Observations, Sessions, Prompts, Summaries int
	Last                                       time.Time
}

// Doc names a document that search or a context may show.
type Doc struct {
	Kind DocKind
	ID   int64
}

// DocKind is a kind of document.
type DocKind string

// The kinds.
const (
	PromptDoc      DocKind = "prompt"
	TextDoc        DocKind = "text"
	TurnDoc        DocKind = "turn" // a turn's tool uses
	ObservationDoc DocKind = "observation"
	SummaryDoc     DocKind = "summary"
)

// Change says that a document changed or went away at a position.
type Change struct {
	Doc
	Position streams.Position
	Project  string
	Deleted  bool
}

// Filter limits a list. Zero values do not limit.
type Filter struct {
	Projects      []string // keys; a worktree's parent is not implied
	Host          string
	Session       string
	Types         []string  // observations: any of
	Concepts      []string  // observations: any of
	Files         []string  // observations, summaries: any of; a path suffix of whole segments matches
	Folder        bool      // Files name folders: direct children only
	From, To      time.Time // From ≤ t < To
	Offset, Limit int
	Ascending     bool
}
