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
	Started, Seen, Ended time.Time     // source times; Ended zero while open
	Duration             time.Duration // from Started to Ended or Seen, never negative
	Clock                bool          // a time of this session ran backwards: Duration is 0
	Cwd, Branch          string        // of its first and its newest origin
	Model                string
	File                 string // its transcript, as its hooks say; "" unknown
	Counts               Counts
	Position             streams.Position
}

// Counts are a session's totals; DESIGN's counting rules (docs/COUNTING.md).
type Counts struct {
	Prompts, QueuedOnly, Commands, Interrupts, Compactions      int
	ToolUses, Paired, Unpaired, Orphans, ToolErrors, NestedUses int
	Containers                                                  int // calls that only wrap others; no tool uses
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
	Queued                 bool // typed while the agent worked and shown nowhere else
	Images                 int
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

// ToolUse is one tool call with its end. Input, output and edits are excerpts;
// the whole is in the log at Position and ReturnPosition.
type ToolUse struct {
	ID                           int64
	Session, Host, Project, Turn string
	event.ToolUse
	ParentCall     string        // key of the call that started the agent
	Called, Ended  bool          // a call is known; an end is known
	OutputBytes    int           // of the whole output
	Cut            bool          // the host gave us a part of the output only
	Duration       time.Duration // never negative
	Clock          bool          // its times ran backwards: Duration is 0
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
	Duration                     time.Duration // never negative
	Clock                        bool          // its times ran backwards: Duration is 0
	Closed, Interrupted, Private bool
	Tools                        []int64 // in the order they were called
	Position                     streams.Position
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
	Origin     string
	Superseded bool // a newer one of the session exists
	Time       time.Time
	Position   streams.Position
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
	From     string // project it was moved from at some time, "" never
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

// Document is what there is to index and show of a Doc.
type Document struct {
	Doc
	Position               streams.Position
	Time                   time.Time
	Project, Host, Session string
	Type                   string   // observations
	Concepts               []string // observations
	Files                  []string // paths that the Files filter looks at
	Title                  string
	Facts                  []string
	Text                   string
	Paths                  []string // other paths, of tool uses
}

// Item is one entry of a timeline: exactly one of the pointers is set.
type Item struct {
	Doc
	Position    streams.Position
	Time        time.Time
	Prompt      *Prompt
	Observation *Observation
	Summary     *Summary
}

// Anchor is what a timeline is around: a document if its ID is set, else the
// last one at or before Time, else the newest.
type Anchor struct {
	Doc  Doc
	Time time.Time
}

// TurnView is a turn with all that belongs to it, in the order it happened.
type TurnView struct {
	Turn
	Prompt       *Prompt // nil before the first prompt
	Queued       []Prompt
	Texts        []Text
	ToolUses     []ToolUse
	Observations []Observation
	Summaries    []Summary
}

// SessionView is a session with its turns, and for a fork the turns of the
// sessions it was forked from that it repeats.
type SessionView struct {
	Session
	Shared []Turn // oldest first; they belong to other sessions
	Turns  []Turn // oldest first
	Forks  []string
}

// Stats are the model's totals.
type Stats struct {
	Checkpoint                                                    streams.Checkpoint
	Envelopes, Repeated                                           int // Repeated: a second envelope under an id, ignored
	Projects, Sessions, Prompts, Turns, ToolUses, Containers      int
	Nested, Texts, Observations, Summaries, Conflicts, Unreadable int
	First, Last                                                   time.Time
	Skipped                                                       map[string]int // by rule
	Counted                                                       map[string]int // by what was counted; unknown:<type>
	Kinds                                                         map[string]int // facts by kind
	Types                                                         map[string]int // envelopes by type
}

// DumpOptions says what Dump leaves out.
type DumpOptions struct {
	// Positions: with ids, positions, prompt numbers and all else that depends
	// on the order in which channels arrived. Without, two logs that tell the
	// same by the same channels in another order give the same dump.
	Positions bool
}
