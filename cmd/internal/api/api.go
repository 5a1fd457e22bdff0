// Package api is cmem's HTTP interface: what travels, and the handlers.
//
// The routes keep claude-mem's names and parameters where it has them, so that
// its clients can talk to cmem. Every answer but the context and streams is
// JSON; every failure is {"error": a sentence, "code": a stable word}. Streams
// are NDJSON, one object a line.
//
// Handlers read a request, ask, and write; they keep nothing. Who may call is
// decided before (Access), and what a request may cost is bounded (plain).
package api

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"time"

	"cmem/projections/records"
	"cmem/projections/search"
)

// Models gives the read models. f gets the model or the method returns an
// *Error that says why not (Starting, Rebuilding). f must not write to a
// network: a model is not swapped while it runs. It may be called a second time,
// after an error, with another build: what it fills in, it fills in anew.
type Models interface {
	Records(f func(*records.Store) error) error
	Search(f func(*search.Index) error) error
	// ModelStates says how far each is; nothing is read for it.
	ModelStates() []Model
	// Storage says what the disk, or the rights to it, keep from working.
	Storage() []Finding
}

// Status tells about the worker.
type Status interface {
	Identity() Identity
	Phase() Progress
	// Phases tells every phase from the first until ready, failed, or ctx ends.
	Phases(ctx context.Context, tell func(Progress) error) error
	Stats(ctx context.Context) (Stats, error)
}

// Writer takes what a person did.
type Writer interface {
	Save(ctx context.Context, r SaveRequest) (SaveAnswer, error)
	Move(ctx context.Context, r MoveRequest) (MoveAnswer, error)
}

// Jobs are long work; tell gets its progress and must not block for long. The
// result is written as JSON.
type Jobs interface {
	Replay(ctx context.Context, r ReplayRequest, tell func(Line)) (any, error)
	Rebuild(ctx context.Context, r RebuildRequest, tell func(Line)) (any, error)
	// Doctor looks for what is wrong and changes nothing.
	Doctor(ctx context.Context, deep bool, tell func(Line)) (any, error)
	Nudge()
	RetrySpool(ctx context.Context) (moved int, err error)
}

// Log reads the log itself.
type Log interface {
	// Export writes the log as CloudEvents, one JSON object a line.
	Export(ctx context.Context, w io.Writer, after uint64) error
	// Tail gives the newest n records, and with follow those that come, until
	// ctx ends.
	Tail(ctx context.Context, n int, follow bool, tell func(LogRecord) error) error
	// Verify reads everything and says what does not fit.
	Verify(ctx context.Context) (LogReport, error)
	// Damage lists what was ever found damaged in the log's files.
	Damage(ctx context.Context) ([]LogDamage, error)
}

// Contexts gives what the next session of a project would be told.
type Contexts interface {
	Context(ctx context.Context, r ContextRequest) (string, error)
}

// Backend is what the handlers ask. All fields are required.
type Backend struct {
	Models
	Status
	Writer
	Jobs
	Log
	Contexts
	// Shutdown asks the worker to stop; nil where there is none to stop: then the
	// API is asked in process, by the one who may know every detail of an error.
	Shutdown func()
	// Touch is told of every request but the probes; nil: nobody asks.
	Touch func()
	// Closing ends streams: tails, progress, jobs. Required.
	Closing context.Context
	// Zone is for days and times where a request names none.
	Zone   *time.Location
	Now    func() time.Time
	Logger *slog.Logger
}

type handler struct{ Backend }

// New makes the handler of all routes.
func New(b Backend) http.Handler {
	h := &handler{b}
	r := &router{mux: http.NewServeMux(), edge: edge{log: b.Logger, inProcess: b.Shutdown == nil}, closing: b.Closing, touch: b.Touch, allowed: map[string][]string{}}
	h.probes(r)
	h.reading(r)
	h.writing(r)
	r.finish()
	return bounded(r.mux)
}

func (h *handler) probes(r *router) {
	r.probe("GET /api/identity", h.identity)
	r.probe("GET /api/health", h.health)
	r.probe("GET /health", h.health)
	r.probe("GET /healthz", h.healthz)
	r.probe("GET /api/readiness", h.readiness)
	r.probe("GET /api/version", h.version)
	r.stream("GET /api/ready", h.ready)
}

func (h *handler) reading(r *router) {
	r.plain("GET /api/search", h.search)
	r.plain("GET /api/search/observations", h.searchObservations)
	r.plain("GET /api/search/by-file", h.searchByFile)
	r.plain("GET /api/timeline", h.timeline)
	r.plain("GET /api/timeline/by-query", h.timeline)
	r.plain("GET /api/observations", h.observations)
	r.plain("GET /api/summaries", h.summaries)
	r.plain("GET /api/prompts", h.prompts)
	r.plain("GET /api/sessions", h.sessions)
	r.plain("GET /api/observations/by-file", h.observationsByFile)
	r.plain("POST /api/observations/batch", h.observationsBatch)
	r.plain("GET /api/observation/{id}", h.observation)
	r.plain("GET /api/session/{id}", h.session)
	r.plain("GET /api/prompt/{id}", h.prompt)
	r.plain("GET /api/text/{id}", h.text)
	r.plain("GET /api/turn/{id}", h.turn)
	r.plain("GET /api/projects", h.projects)
	r.plain("GET /api/context/inject", h.inject)
	r.plain("GET /api/stats", h.stats)
	r.plain("GET /api/processing-status", h.processing)
}

func (h *handler) writing(r *router) {
	r.plain("POST /api/memory/save", h.save)
	r.plain("POST /api/project/move", h.move)
	r.plain("POST /api/spool/nudge", h.nudge)
	r.plain("POST /api/spool/retry", h.retrySpool)
	r.stream("POST /api/replay", h.replay)
	r.stream("POST /api/rebuild", h.rebuild)
	r.plain("POST /api/admin/shutdown", h.shutdown)
	r.stream("GET /api/log/export", h.export)
	r.stream("GET /api/log/tail", h.tail)
	r.plain("GET /api/log/damage", h.damage)
	r.stream("POST /api/log/verify", h.verify)
	r.stream("POST /api/doctor", h.doctor)
}
