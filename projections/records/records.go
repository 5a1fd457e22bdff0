// Package records is the read model that others read.
package records

import (
	"errors"
	"io"
	"log/slog"
	"time"

	"cmem/projections"
	"cmem/streams"
	"cmem/streams/event"
)

// What Open and readers can say; compare with errors.Is.
var (
	// ErrLocked: another process holds the file. Nothing was touched.
	ErrLocked = errors.New("records: the file is held by another process")
	// ErrForeign: the file is not one of records. Nothing was touched.
	ErrForeign = errors.New("records: not a records file")
	// ErrDamaged: the file is empty, cut short or unreadable. Build a new one.
	ErrDamaged = errors.New("records: the file is damaged")
	// ErrVersion: another schema or other versions of decoders and rules made
	// it. Build a new one.
	ErrVersion = errors.New("records: made by another version")
	// ErrNewer: a newer cmem made it (errors.Is it is ErrVersion too).
	ErrNewer = errors.New("records: made by a newer version")
	// ErrClosed: the model was closed.
	ErrClosed = errors.New("records: closed")
	// ErrNoProject: no project has this name or key.
	ErrNoProject = errors.New("no such project")
)

// AmbiguousError: a bare name matches several projects.
type AmbiguousError struct {
	Name       string
	Candidates []Project
}

func (e *AmbiguousError) Error() string { return e.Name }

// Config says what a model is made from.
type Config struct {
	Rules    func(event.Turn) event.Memory // nil: no rules
	Versions string                        // of decoders and rules together; another one is ErrVersion
	Log      string                        // identity of the log; "" accepts any
	Bulk     bool                          // a build that nobody was promised: synced at Close only
	LockWait time.Duration                 // 0 is one second
	Logger   *slog.Logger                  // nil discards
}

// Store is an open model.
type Store struct{}

var errEarly = errors.New("records: being built")

// Open opens or makes the model at path.
func Open(path string, c Config) (*Store, error) { return nil, errEarly }

// Close closes.
func (s *Store) Close() error { return nil }

// Name implements projections.Projection.
func (s *Store) Name() string { return "records" }

// Checkpoint implements projections.Projection.
func (s *Store) Checkpoint() (streams.Checkpoint, error) { return streams.Checkpoint{}, errEarly }

// Apply implements projections.Projection.
func (s *Store) Apply(batch []projections.Entry, upto streams.Checkpoint) error { return errEarly }

// Reset implements projections.Projection.
func (s *Store) Reset() error { return errEarly }

// Lookup answers for envelope ids.
func (s *Store) Lookup(ids []string) ([]streams.Held, streams.Checkpoint, error) {
	return nil, streams.Checkpoint{}, errEarly
}

// Captures gives hook captures of a session in a range of times.
func (s *Store) Captures(session string, from, to time.Time) ([]streams.Capture, error) {
	return nil, errEarly
}

// Observations lists the newest observations first.
func (s *Store) Observations(f Filter) ([]Observation, error) { return nil, errEarly }

// Summaries lists the newest summaries first.
func (s *Store) Summaries(f Filter) ([]Summary, error) { return nil, errEarly }

// Prompts lists the newest prompts first.
func (s *Store) Prompts(f Filter) ([]Prompt, error) { return nil, errEarly }

// Texts lists the newest texts first.
func (s *Store) Texts(f Filter) ([]Text, error) { return nil, errEarly }

// ToolUses lists the newest tool uses first.
func (s *Store) ToolUses(f Filter) ([]ToolUse, error) { return nil, errEarly }

// Turns lists the newest turns first.
func (s *Store) Turns(f Filter) ([]Turn, error) { return nil, errEarly }

// Sessions lists the newest sessions first.
func (s *Store) Sessions(f Filter) ([]Session, error) { return nil, errEarly }

// ObservationsByID gives those that exist, in the order of ids.
func (s *Store) ObservationsByID(ids ...int64) ([]Observation, error) { return nil, errEarly }

// SummariesByID gives those that exist, in the order of ids.
func (s *Store) SummariesByID(ids ...int64) ([]Summary, error) { return nil, errEarly }

// PromptsByID gives those that exist, in the order of ids.
func (s *Store) PromptsByID(ids ...int64) ([]Prompt, error) { return nil, errEarly }

// TextsByID gives those that exist, in the order of ids.
func (s *Store) TextsByID(ids ...int64) ([]Text, error) { return nil, errEarly }

// ToolUsesByID gives those that exist, in the order of ids.
func (s *Store) ToolUsesByID(ids ...int64) ([]ToolUse, error) { return nil, errEarly }

// TurnsByID gives those that exist, in the order of ids.
func (s *Store) TurnsByID(ids ...int64) ([]Turn, error) { return nil, errEarly }

// SessionsByID gives those that exist, in the order of ids.
func (s *Store) SessionsByID(ids ...int64) ([]Session, error) { return nil, errEarly }

// SessionView gives a session by the host's id, with its turns.
func (s *Store) SessionView(session string) (SessionView, bool, error) {
	return SessionView{}, false, errEarly
}

// TurnView gives a turn by its id, with all that belongs to it.
func (s *Store) TurnView(id int64) (TurnView, bool, error) { return TurnView{}, false, errEarly }

// Timeline gives prompts, observations and summaries in log order: at most
// before entries before the anchor, the anchor, and after entries after it.
func (s *Store) Timeline(a Anchor, before, after int, f Filter) ([]Item, error) { return nil, errEarly }

// Projects lists all projects, the most recently used first.
func (s *Store) Projects() ([]Project, error) { return nil, errEarly }

// Project finds one by key, shown name or bare name. ErrNoProject, or an
// *AmbiguousError with the candidates.
func (s *Store) Project(name string) (Project, error) { return Project{}, errEarly }

// Document gives what there is to index and show.
func (s *Store) Document(d Doc) (Document, bool, error) { return Document{}, false, errEarly }

// Changed gives the documents whose latest change is after a position.
func (s *Store) Changed(after streams.Position, limit int) ([]Change, streams.Position, error) {
	return nil, 0, errEarly
}

// Changes is Changed as a feed for a projector.
func (s *Store) Changes() projections.Feed[Change] { return nil }

// Stats gives totals.
func (s *Store) Stats() (Stats, error) { return Stats{}, errEarly }

// Digest is a hash over all that can be read.
func (s *Store) Digest() (string, error) { return "", errEarly }

// Dump writes all that can be read, one JSON object a line.
func (s *Store) Dump(w io.Writer, o DumpOptions) error { return errEarly }
