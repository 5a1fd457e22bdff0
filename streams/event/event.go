// Package event is the vocabulary of cmem: what happened, in the past tense,
// said the same way for every host. It does no I/O and imports only the
// standard library.
//
// An envelope (package envelope) holds a host's own words and is stored for
// ever; facts are decoded from it whenever the log is read, so a better decoder
// is a rebuild and never a migration. One envelope gives zero or more facts.
//
// The bodies with json tags are what an envelope of cmem's own type holds, as
// they stand (package ingest decodes them); a tag never changes.
//
// A Fact is a Header, equal in shape for all, and a Body, one type per kind.
package event

import "time"

// Channel says by which way a fact reached us. Within one channel the order of
// facts of a session is the order in which they happened.
type Channel string

// The channels.
const (
	Hook       Channel = "hook"       // the host's live hooks
	Transcript Channel = "transcript" // the host's session file
	Observer   Channel = "observer"   // a model's reply
	Person     Channel = "person"     // the user, through a command or the API
	Worker     Channel = "worker"     // cmem itself (idle marks, forks)
)

// Header is what every fact carries.
type Header struct {
	// Key names the thing the fact is about; facts with equal keys are about
	// one thing. It is global: host ids of a known random form are used as they
	// are ("claude-code/toolu_…"), any other id is scoped by session. Empty
	// where the host gives no id; then Alt is set or the fact needs none.
	Key string
	// Alt is a second name for hosts that give one side an id and the other
	// none: session, tool and canonical arguments, without the ordinal. The
	// n-th Alt of one channel is the same thing as the n-th of the other. Set
	// only where it is needed (it costs a look-up).
	Alt     string
	Channel Channel
	Host    string // adapter name: "claude-code", "codex"
	Session string // the host's session id
	// Agent is the sub-agent that acted, empty for the main one. ParentCall is
	// the key of the tool call that started it, where known.
	Agent      string
	ParentCall string
	// Turn is the host's own id of the turn (prompt_id, turn_id), empty if it
	// gives none; then the fact belongs to the channel's current turn.
	Turn string
	// File is where the host keeps the session's transcript, as its hooks say; ""
	// where they do not.
	File string
	// Time is the source's time, for display and ranges only; order is the log's.
	Time time.Time
}

// Fact is one thing that happened.
type Fact struct {
	Header
	Body Body
}

// Body is one of the types below that have a Kind.
type Body interface{ Kind() Kind }

// Kind is a fact's stable name.
type Kind string

// SessionStarted: a session began, was resumed, cleared, compacted or forked.
type SessionStarted struct {
	Source string // startup, resume, clear, compact, fork or the host's own word
	Model  string
	Parent string // session it was forked or spawned from, "" none
}

// SessionEnded: the host said the session is over.
type SessionEnded struct{ Reason string }

// SessionIdled: nothing came for a while or the transcript ended; the open
// turn is closed, later facts open it again.
type SessionIdled struct{}

// SessionForked: Session repeats records that From owns.
type SessionForked struct {
	From        string `json:"from"`
	FirstShared string `json:"first_shared,omitempty"` // envelope id of the first shared record
}

// PromptOrigin says how a prompt was given.
type PromptOrigin string

// The origins.
const (
	Typed  PromptOrigin = ""       // typed, pasted, sent by an SDK
	Queued PromptOrigin = "queued" // typed while the agent worked, delivered mid-turn
)

// PromptSubmitted: the user asked for something; a turn begins (Queued: none does).
type PromptSubmitted struct {
	Text    string // after redaction; empty for a wholly private prompt
	Private bool   // nothing but private text: the turn is not observed
	Origin  PromptOrigin
	Images  int
}

// PromptQueued: the host's input queue changed; it only matters for a prompt
// that appears nowhere else. Op is enqueue, dequeue, remove or popAll.
type PromptQueued struct {
	Op   string
	Text string
}

// CommandRun: a slash command or a shell line of the user ("!").
type CommandRun struct {
	Name string // "/compact", "!"
	Args string
}

// AssistantSaid: a text of the agent to the user.
type AssistantSaid struct {
	Text string
	// Last: the host gave it as the turn's last message (Stop hook); it may be
	// equal to a text the transcript brings under its own key.
	Last bool
	// Message is the host's id of the answer this text is a part of, "" if it
	// gives none. Hosts may write a growing answer down again and again: a text
	// that begins with an earlier text of the same answer replaces it.
	Message string
}

// ToolCalled: the agent asked for a tool.
type ToolCalled struct{ Tool Tool }

// ToolReturned: a tool call ended. Tool repeats what this side knows of the
// call (a PostToolUse has name and input); it fills blanks only, except that
// Updated says the host changed the input.
type ToolReturned struct {
	Tool     Tool
	Updated  bool
	Outcome  Outcome
	ExitCode *int   // nil: not known
	Output   string // what the tool answered, as text
	Cut      bool   // the host gave us a part only
	Error    string // the host's own error text
	Duration time.Duration
}

// Outcome is how a tool call ended.
type Outcome string

// The outcomes.
const (
	OK          Outcome = "ok"
	Failed      Outcome = "error"
	Refused     Outcome = "refused"
	Interrupted Outcome = "interrupted"
	Unknown     Outcome = "unknown" // called, and no end is known
)

// TurnEnded: the agent stopped. Interrupted: the user stopped it. Background:
// work goes on, so the turn stays open.
type TurnEnded struct {
	Interrupted bool
	Background  bool
}

// CompactionDone: the host replaced its history by a summary.
type CompactionDone struct {
	Trigger string
	Summary string
}

// AgentStarted and AgentEnded: a sub-agent's life; Header.Agent names it.
type AgentStarted struct{ Type string }

// AgentEnded: see AgentStarted.
type AgentEnded struct{ Type, Said string }

// TodoChanged: the agent's task list.
type TodoChanged struct{ Items []string }

// EventSkipped: a filter kept an event out, by name and without its text.
type EventSkipped struct {
	Event       string `json:"event"`
	Tool        string `json:"tool,omitempty"`
	Rule        string `json:"rule"`
	RuleVersion int    `json:"rule_version"`
	Bytes       int64  `json:"bytes"`
}

// Unreadable: bytes that are no value of the host's format; they are kept.
type Unreadable struct {
	File   string
	Offset int64
	Bytes  int64
}

// Counted: something that is only counted: "sidechain_message", "unknown:<type>".
type Counted struct{ What string }

// MemorySaved: a person saved a note.
type MemorySaved struct {
	Title   string `json:"title,omitempty"`
	Text    string `json:"text"`
	Project string `json:"project,omitempty"`
}

// MemoryForgotten: a person took something out.
type MemoryForgotten struct {
	IDs []string `json:"ids"`
}

// ProjectMoved: what was stored under From belongs to To; Session limits it to one.
type ProjectMoved struct {
	Session string `json:"session,omitempty"`
	From    string `json:"from"`
	To      string `json:"to"`
}

// LogDamaged: positions of the log hold nothing any more. The ids that were there
// name nothing: what they named may be said again, and is new then.
type LogDamaged struct {
	Lost    []Lost `json:"lost"`
	Spoiled []Lost `json:"spoiled,omitempty"` // values of which only a part is lost
}

// Lost is a run of positions.
type Lost struct {
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
}

func (SessionStarted) Kind() Kind  { return "session.started" }
func (SessionEnded) Kind() Kind    { return "session.ended" }
func (SessionIdled) Kind() Kind    { return "session.idled" }
func (SessionForked) Kind() Kind   { return "session.forked" }
func (PromptSubmitted) Kind() Kind { return "prompt.submitted" }
func (PromptQueued) Kind() Kind    { return "prompt.queued" }
func (CommandRun) Kind() Kind      { return "command.run" }
func (AssistantSaid) Kind() Kind   { return "assistant.said" }
func (ToolCalled) Kind() Kind      { return "tool.called" }
func (ToolReturned) Kind() Kind    { return "tool.returned" }
func (TurnEnded) Kind() Kind       { return "turn.ended" }
func (CompactionDone) Kind() Kind  { return "compaction.done" }
func (AgentStarted) Kind() Kind    { return "agent.started" }
func (AgentEnded) Kind() Kind      { return "agent.ended" }
func (TodoChanged) Kind() Kind     { return "todo.changed" }
func (EventSkipped) Kind() Kind    { return "event.skipped" }
func (Unreadable) Kind() Kind      { return "value.unreadable" }
func (Counted) Kind() Kind         { return "counted" }
func (MemorySaved) Kind() Kind     { return "memory.saved" }
func (MemoryForgotten) Kind() Kind { return "memory.forgotten" }
func (ProjectMoved) Kind() Kind    { return "project.moved" }
func (LogDamaged) Kind() Kind      { return "log.damaged" }
