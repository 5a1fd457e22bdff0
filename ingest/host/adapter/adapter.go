// Package adapter is what a host's package tells about its host: facts and pure
// functions, no I/O, no clock. Two tables are kept apart, because the hook
// publisher must link only the first: Hook for the live side, Transcript for
// files; Decode serves whoever reads the log.
package adapter

import (
	"time"

	"cmem/streams/envelope"
	"cmem/streams/event"
)

// Hook is the live side of a host.
type Hook struct {
	Name string // "claude-code"
	// Identify reads what the publisher needs from one payload. It never fails:
	// what cannot be read stays empty. event is the name from the command line.
	Identify func(event string, payload []byte) Said
	// Noise says that events of this name are counted and not stored.
	Noise func(event string) bool
	// Known says that this version knows events of this name; of others at most
	// 64 KiB are kept. nil: all are known.
	Known func(event string) bool
	// Answer gives the bytes for standard output; nil prints nothing.
	Answer func(event string, r Reply) []byte
	// ContextBytes caps Reply.Context.
	ContextBytes int
}

// Said is what one hook payload says of itself.
type Said struct {
	Event      string // the payload's own name, else the argument
	Session    string
	ID         string // host id that names this event within Event ("" none): tool_use_id, prompt_id
	Tool       string
	Cwd        string
	Prompt     string // UserPromptSubmit: its text, to see a wholly private one
	IsPrompt   bool
	Agent      string
	Transcript string   // path of the session's file
	Source     string   // overrules the adapter's name (a mark in the payload), "" no
	Paths      []string // files named by the tool's input, for filters
}

// Reply is what cmem has to say to the host.
type Reply struct {
	Context string // for the model, plain text
	Notice  string // for the user
}

// Transcript is the file side of a host.
type Transcript struct {
	Name string
	// Detect says whether head, the first 64 KiB of path, is such a file.
	Detect func(path string, head []byte) bool
	// NewReader starts a file. state is what State gave for the same file
	// earlier, nil at its beginning.
	NewReader func(path string, state []byte) Reader
	// Normal gives the canonical bytes of a value for its digest: without what
	// a fork or a re-serialised copy changes.
	Normal func(value []byte) []byte
}

// Reader is told every JSON value of one file, in order, and says what it is.
type Reader interface {
	Value(raw []byte) Value
	State() []byte
}

// Value is what one transcript value says of itself.
type Value struct {
	Type        string // record type, with its subtype where that matters
	ID          string // stable record id, "" none: the occurrence counts
	Session     string
	Turn        string
	HostVersion string
	Agent       string
	Time        time.Time
	Cwd, Branch string
	// Skip names the rule that keeps it out of the log: noise:<type>, copied.
	Skip string
	// Parent: the session a copied value belongs to.
	Parent string
}

// Decode turns one envelope of this host into facts. Pure.
type Decode func(envelope.Envelope) []event.Fact
