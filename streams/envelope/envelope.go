// Package envelope is the unit of the log: a host's own words with an identity.
//
// It is a CloudEvent 1.0 (https://github.com/cloudevents/spec/blob/v1.0.2).
// In the log it is in binary mode: attributes as ce-* headers, the body as it
// was said, byte for byte after redaction. In the spool and in an export it is
// structured JSON, one object a line. Standard library only: the hook publisher
// uses it.
package envelope

import "time"

// The types of envelopes. A new one is added here and to docs/ARCHITECTURE.md.
const (
	HookReceived    = "hook.received"
	TranscriptValue = "transcript.value"
	EventSkipped    = "event.skipped"
	SessionIdled    = "session.idled"
	SessionForked   = "session.forked"
	MemorySaved     = "memory.saved"
	MemoryForgotten = "memory.forgotten"
	ProjectMoved    = "project.moved"
	LogDamaged      = "log.damaged"
)

// Envelope is one thing that was said. All attributes are valid UTF-8; ID, Type
// and Source are never empty.
type Envelope struct {
	ID      string    // names the thing said, never its delivery (package ingest)
	Type    string    // one of the types above
	Source  string    // host adapter name, or "cmem"
	Subject string    // the host's session id; may be empty
	Time    time.Time // at the source; hook: capture time; zero if the source has none

	// Extension attributes. Empty ones are not stored.
	Event       string // the host's own name: hook event or transcript record type
	Turn        string // host's turn id where the body does not carry it
	HostVersion string // host's version where the body does not carry it
	Agent       string // sub-agent where the body does not carry it
	Digest      string // 16 hex digits: keyed hash of the raw words, host-normalised
	Origin      string // JSON, see package project; only where it differs from the session's previous one
	Redactions  string // JSON: what was removed, [{"kind":…,"bytes":…}]
	File        string // transcript values that are unreadable: base name of the file
	Offset      int64  // … and the byte offset of the value in it
	ContentType string // "" = application/json

	// Extra holds attributes that this version has no field for, by name
	// (lower-case letters and digits), as text. They are kept and written again.
	Extra map[string]string

	Body []byte
}
