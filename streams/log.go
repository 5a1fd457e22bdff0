package streams

import (
	"context"
	"errors"
	"io"
	"iter"
	"log/slog"

	"cmem/streams/envelope"
)

// Config says where a log lives and how it behaves. The zero value of every
// field but Dir means its default.
type Config struct {
	Dir     string       // the log's own folder, made if absent
	Logger  *slog.Logger // nil discards
	Reserve int64        // bytes of disk that must stay free; 0 means 1 GB, negative none
}

// Log is an open log. Its methods may be called concurrently.
type Log struct{}

// Opening says what Open found.
type Opening struct {
	Created bool // the log did not exist
	Clean   bool // it was closed in order the last time, or is new
	Found   []string
}

// Gap is a run of sequences that hold no message and ought to.
type Gap struct {
	First, Last Position
	Reason      string
}

// Report is what Verify found.
type Report struct {
	Values, Messages int64
	Bytes            int64
	Abandoned        int64
	Gaps             []Gap
	Broken           []Position
}

var errEarly = errors.New("streams: being built")

// Open opens the log.
func Open(ctx context.Context, c Config) (*Log, error) { return nil, errEarly }

// Append appends.
func (l *Log) Append(ctx context.Context, envs ...envelope.Envelope) ([]Position, error) {
	return nil, errEarly
}

// Read reads.
func (l *Log) Read(ctx context.Context, after Position) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) { yield(Record{}, errEarly) }
}

// Get gets.
func (l *Log) Get(ctx context.Context, at Position) (Record, error) { return Record{}, errEarly }

// Wait returns when the head is past after.
func (l *Log) Wait(ctx context.Context, after Position) error { return errEarly }

// Dir is the log's folder.
func (l *Log) Dir() string { return "" }

// Head is the newest value's place.
func (l *Log) Head() Checkpoint { return Checkpoint{} }

// Identity names the log.
func (l *Log) Identity() string { return "" }

// Opening says what Open found.
func (l *Log) Opening() Opening { return Opening{} }

// Gaps lists what reads found missing.
func (l *Log) Gaps() []Gap { return nil }

// Export writes lines.
func (l *Log) Export(ctx context.Context, w io.Writer, after Position) error { return errEarly }

// Verify reads everything.
func (l *Log) Verify(ctx context.Context) (Report, error) { return Report{}, errEarly }

// VerifyExport checks lines.
func VerifyExport(r io.Reader) (lines int64, err error) { return 0, errEarly }

// Close closes.
func (l *Log) Close() error { return nil }
