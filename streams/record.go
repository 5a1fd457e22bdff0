package streams

import (
	"time"

	"cmem/streams/envelope"
)

// Position is a place in the log: JetStream's sequence of a value's (last)
// message. Positions grow, are never given twice and never change; they have
// gaps. 0 is before the first.
type Position uint64

// Digest is a link of the chain: SHA-256.
type Digest [32]byte

// Record is one envelope at its place.
type Record struct {
	Position Position
	Chain    Digest // over this and everything before it
	Envelope envelope.Envelope
}

// Checkpoint says up to where, of which log, something was read.
type Checkpoint struct {
	Log      string   // the log's identity
	Position Position // last one applied
	Chain    Digest   // the chain there
}

// Held is what a table of envelope ids knows of one id: whether the log has it,
// which session showed it first, and the digest it had.
type Held struct {
	OK      bool
	Session string
	Digest  string
}

// Capture is one delivery by a hook that is in the log: its envelope's id and
// the time it was captured.
type Capture struct {
	ID   string
	Time time.Time
}
