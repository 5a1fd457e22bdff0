package ingest

import (
	"context"
	"iter"
	"time"

	"cmem/streams"
	"cmem/streams/envelope"
)

// Table is the lasting half of what the Ingester knows about ids; the records
// read model is one. It may lag behind the log by any amount: the Ingester
// holds what lies between the table's checkpoint and the head itself.
//
// An id enters the table together with the effect of its envelope, for every
// envelope of the log whatever its type; the first envelope of an id wins.
type Table interface {
	// Lookup answers for each id, in the order of ids, and says up to which
	// checkpoint it speaks: an id whose first envelope is at or before that
	// position is OK, all others are not. Answers and checkpoint come from one
	// read transaction. An empty table gives a zero checkpoint.
	Lookup(ids []string) ([]streams.Held, streams.Checkpoint, error)
	// Captures gives the captures of one session with from ≤ Time ≤ to, at or
	// before the checkpoint, in any order: one for each envelope of type
	// envelope.HookReceived or envelope.EventSkipped. The session is the
	// envelope's Subject, which may be empty; ID and Time are its own.
	Captures(session string, from, to time.Time) ([]streams.Capture, error)
}

// Log is what the Ingester needs of the log.
type Log interface {
	// Append stores envelopes in order and returns when all are durable. On
	// error any number of them may be stored.
	Append(ctx context.Context, envs ...envelope.Envelope) ([]streams.Position, error)
	// Read gives the records after a position in order, up to the head as it
	// was when Read was called.
	Read(ctx context.Context, after streams.Position) iter.Seq2[streams.Record, error]
	// Head is the place of the last record.
	Head() streams.Checkpoint
}
