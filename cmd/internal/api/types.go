package api

import (
	"encoding/json"
	"time"
)

// Identity says whose worker answers: checked before a socket is trusted.
type Identity struct {
	Data     string `json:"data"`     // absolute path of the data folder
	Version  string `json:"version"`  // of the binary
	Instance string `json:"instance"` // random, one per started worker
	PID      int    `json:"pid"`
}

// Phase is a step of a worker's start.
type Phase string

// The phases, in order; failed is final and can follow any.
const (
	PhaseStarting         Phase = "starting"
	PhaseLogReady         Phase = "log_ready"
	PhaseProjectionsReady Phase = "projections_ready"
	PhaseServing          Phase = "serving"
	PhaseReady            Phase = "ready"
	PhaseFailed           Phase = "failed"
)

// Progress is one line of /api/ready and of every other stream of progress.
type Progress struct {
	Phase   Phase  `json:"phase"`
	Message string `json:"message,omitempty"`
	Code    Code   `json:"code,omitempty"` // failed: why
}

// Model is the state of one read model.
type Model struct {
	Name      string `json:"name"`
	Position  uint64 `json:"position"`            // last position applied
	Behind    uint64 `json:"behind"`              // positions up to the head
	State     string `json:"state"`               // ready, catching up, rebuilding, failed
	Percent   int    `json:"percent"`             // while rebuilding
	Reason    string `json:"reason,omitempty"`    // why it was built again, or failed
	MovedTo   string `json:"moved_to,omitempty"`  // where the damaged one was kept
	Documents int64  `json:"documents,omitempty"` // search: how many
}

// Stats are the counts a person asks for; Worker and Database have the fields
// that claude-mem's clients read.
type Stats struct {
	Worker   WorkerStats   `json:"worker"`
	Database DatabaseStats `json:"database"`
	Log      LogStats      `json:"log"`
	Models   []Model       `json:"models"`
	Spool    SpoolStats    `json:"spool"`
	Hooks    HookStats     `json:"hooks"`
	Disk     DiskStats     `json:"disk"`
	Phase    Progress      `json:"phase"`
	Storage  []Finding     `json:"storage,omitempty"` // what the disk, or the rights to it, keep from working
	Notes    []string      `json:"notes,omitempty"`   // what a person should know
}

// WorkerStats: see Stats.
type WorkerStats struct {
	Version        string `json:"version"`
	Instance       string `json:"instance"`
	PID            int    `json:"pid"`
	Running        bool   `json:"running"` // false: answered in process, no worker runs
	Uptime         int64  `json:"uptime"`  // seconds
	ActiveSessions int    `json:"activeSessions"`
	SSEClients     int    `json:"sseClients"`
	Socket         string `json:"socket,omitempty"`
	Port           int    `json:"port"`
}

// DatabaseStats: see Stats. Sessions counts the sessions of hosts.
type DatabaseStats struct {
	Path               string  `json:"path"`
	Size               int64   `json:"size"` // bytes of all read models on the disk
	Observations       int     `json:"observations"`
	Sessions           int     `json:"sessions"`
	Summaries          int     `json:"summaries"`
	Prompts            int     `json:"prompts"`
	ToolUses           int     `json:"toolUses"`
	Texts              int     `json:"texts"`
	FirstObservationAt *string `json:"firstObservationAt"`
}

// LogStats: see Stats.
type LogStats struct {
	Identity string `json:"identity"`
	Head     uint64 `json:"head"`
	Bytes    int64  `json:"bytes"`             // of its files on the disk
	Unclean  bool   `json:"unclean,omitempty"` // the stop before this start was not a clean one
}

// DiskStats is where the bytes of the data folder are.
type DiskStats struct {
	Log      int64 `json:"log"`      // the log's own files
	Models   int64 `json:"models"`   // read models, with one old build of each
	Spool    int64 `json:"spool"`    // what waits, is held, or is no event
	Evidence int64 `json:"evidence"` // copies of damaged files as they were found
	Nets     int64 `json:"nets"`     // what the last starts kept and the log no longer shares
	Free     int64 `json:"free"`     // on the disk
}

// SpoolStats are the files that wait to enter the log, and those that could not.
type SpoolStats struct {
	Waiting int `json:"waiting"`
	Held    int `json:"held"`
	Corrupt int `json:"corrupt"`
	Foreign int `json:"foreign,omitempty"` // not the spool's, left alone
}

// HookStats say whether hosts deliver.
type HookStats struct {
	Last     []HookSeen    `json:"last"`     // of each host, among the newest events
	Counters []HookCounter `json:"counters"` // by name
}

// HookSeen is the newest event that a host's hook delivered.
type HookSeen struct {
	Host  string `json:"host"`
	Event string `json:"event"`
	Time  string `json:"time"` // UTC, RFC 3339
}

// HookCounter is what hooks counted under a name of run/counters.
type HookCounter struct {
	Name    string `json:"name"`
	Count   int64  `json:"count"`
	Last    string `json:"last,omitempty"` // UTC, RFC 3339
	Meaning string `json:"meaning"`
	Problem bool   `json:"problem"` // false: it only tells
}

// Row carries what all rows share.
type Row struct {
	ID             int64  `json:"id"`
	Project        string `json:"project"`     // the name shown
	ProjectKey     string `json:"project_key"` // the key behind it
	PlatformSource string `json:"platform_source"`
	Host           string `json:"host"`
	CreatedAt      string `json:"created_at"`       // UTC, RFC 3339
	CreatedAtEpoch int64  `json:"created_at_epoch"` // ms
}

// ObservationRow is an observation as claude-mem's clients read it: lists are
// JSON in a string, because they call JSON.parse on them.
type ObservationRow struct {
	Row
	MemorySessionID   string  `json:"memory_session_id"`
	ContentSessionID  string  `json:"content_session_id"`
	MergedIntoProject *string `json:"merged_into_project"`
	Type              string  `json:"type"`
	Title             string  `json:"title"`
	Subtitle          string  `json:"subtitle"`
	Narrative         string  `json:"narrative"`
	Text              *string `json:"text"`
	Facts             List    `json:"facts"`
	Concepts          List    `json:"concepts"`
	FilesRead         List    `json:"files_read"`
	FilesModified     List    `json:"files_modified"`
	PromptNumber      *int    `json:"prompt_number"`
	AgentID           *string `json:"agent_id"`
	Origin            string  `json:"origin"` // rules, model, person
	Rule              string  `json:"rule,omitempty"`
	FactKeys          List    `json:"fact_keys"`
}

// SummaryRow is a summary; claude-mem calls it a session.
type SummaryRow struct {
	Row
	SessionID         string  `json:"session_id"`
	MemorySessionID   string  `json:"memory_session_id"`
	MergedIntoProject *string `json:"merged_into_project"`
	Request           string  `json:"request"`
	Investigated      string  `json:"investigated"`
	Learned           string  `json:"learned"`
	Completed         string  `json:"completed"`
	NextSteps         string  `json:"next_steps"`
	FilesRead         List    `json:"files_read"`
	FilesEdited       List    `json:"files_edited"`
	Notes             string  `json:"notes"`
	PromptNumber      *int    `json:"prompt_number"`
	Origin            string  `json:"origin"`
}

// PromptRow is something the user asked for.
type PromptRow struct {
	Row
	SessionDBID      int64  `json:"session_db_id"`
	ContentSessionID string `json:"content_session_id"`
	MemorySessionID  string `json:"memory_session_id"`
	PromptNumber     int    `json:"prompt_number"`
	PromptText       string `json:"prompt_text"`
	Private          bool   `json:"private,omitempty"`
}

// TextRow is a text of the agent.
type TextRow struct {
	Row
	SessionID string `json:"session_id"`
	Agent     string `json:"agent_id,omitempty"`
	Text      string `json:"text"` // excerpt
}

// TurnRow is a turn with its tool uses.
type TurnRow struct {
	Row
	SessionID    string    `json:"session_id"`
	PromptNumber int       `json:"prompt_number"`
	StartedAt    string    `json:"started_at"`
	EndedAt      string    `json:"ended_at,omitempty"`
	Closed       bool      `json:"closed"`
	Interrupted  bool      `json:"interrupted,omitempty"`
	Tools        []ToolRow `json:"tools"`
}

// ToolRow is one tool use in short.
type ToolRow struct {
	ID       int64    `json:"id"`
	Name     string   `json:"tool_name"`
	Action   string   `json:"action"`
	Outcome  string   `json:"outcome"`
	ExitCode *int     `json:"exit_code,omitempty"`
	Command  string   `json:"command,omitempty"`
	Files    []string `json:"files,omitempty"`
	Error    string   `json:"error,omitempty"`
}

// SessionRow is a session of a host.
type SessionRow struct {
	Row
	SessionID string         `json:"session_id"`
	Parent    string         `json:"parent,omitempty"`
	SeenAt    string         `json:"seen_at"`
	EndedAt   string         `json:"ended_at,omitempty"`
	Cwd       string         `json:"cwd,omitempty"`
	Branch    string         `json:"branch,omitempty"`
	Counts    map[string]int `json:"counts"`
}

// SearchAnswer is /api/search with format=json. Sessions are summaries, as
// claude-mem names them.
type SearchAnswer struct {
	Observations  []ObservationRow `json:"observations"`
	Sessions      []SummaryRow     `json:"sessions"`
	Prompts       []PromptRow      `json:"prompts"`
	Texts         []TextRow        `json:"texts"`
	Turns         []TurnRow        `json:"turns"`
	TotalResults  int              `json:"totalResults"`
	Query         string           `json:"query"`
	InterpretedAs string           `json:"interpretedAs"`
	Limit         int              `json:"limit"`
	Offset        int              `json:"offset"`
	Notes         []string         `json:"notes,omitempty"`
	// Order names all of the above in the order asked for: "#12", "S3", "P7",
	// "T9" (text), "W5" (turn).
	Order []string `json:"order"`
}

// TimelineAnswer is /api/timeline with format=json, oldest first.
type TimelineAnswer struct {
	Anchor string         `json:"anchor"`
	Query  string         `json:"query,omitempty"`
	Before int            `json:"depth_before"`
	After  int            `json:"depth_after"`
	Items  []TimelineItem `json:"items"`
}

// TimelineItem is one thing on a timeline: exactly one of the rows is set.
type TimelineItem struct {
	Kind        string          `json:"kind"` // observation, session, prompt
	Ref         string          `json:"ref"`
	Anchor      bool            `json:"anchor,omitempty"`
	Observation *ObservationRow `json:"observation,omitempty"`
	Session     *SummaryRow     `json:"session,omitempty"`
	Prompt      *PromptRow      `json:"prompt,omitempty"`
}

// Page is one page of a list.
type Page[T any] struct {
	Items   []T  `json:"items"`
	HasMore bool `json:"hasMore"`
	Offset  int  `json:"offset"`
	Limit   int  `json:"limit"`
}

// Content is a text answer in the shape MCP tools pass through.
type Content struct {
	Content []ContentPart `json:"content"`
}

// ContentPart: see Content.
type ContentPart struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// BatchRequest asks for observations by id. IDs may be numbers, or one string
// with commas.
type BatchRequest struct {
	IDs     IDs    `json:"ids"`
	OrderBy string `json:"orderBy,omitempty"` // date_desc (default), date_asc, as_given
	Limit   int    `json:"limit,omitempty"`
	Project string `json:"project,omitempty"`
}

// SaveRequest is a note a person wants kept.
type SaveRequest struct {
	Text     string          `json:"text"`
	Title    string          `json:"title,omitempty"`
	Project  string          `json:"project,omitempty"`
	Origin   string          `json:"origin,omitempty"`   // the project's folder, in project.Origin's form: where its name comes from if nothing else of it is known
	Metadata json.RawMessage `json:"metadata,omitempty"` // accepted for claude-mem's clients, not kept
}

// SaveAnswer: ID is the observation's. Existing: the same note was there before.
type SaveAnswer struct {
	Success  bool   `json:"success"`
	ID       int64  `json:"id"`
	Title    string `json:"title"`
	Project  string `json:"project"`
	Message  string `json:"message"`
	Existing bool   `json:"existing,omitempty"`
}

// MoveRequest gives what was stored under From (a project, or one Session) to To.
type MoveRequest struct {
	From    string `json:"from,omitempty"`
	To      string `json:"to"`
	Session string `json:"session,omitempty"`
}

// MoveAnswer has the keys that the names meant.
type MoveAnswer struct {
	From    string `json:"from,omitempty"`
	To      string `json:"to"`
	Session string `json:"session,omitempty"`
	Moved   bool   `json:"moved"` // false: it was there already
}

// ProjectsAnswer is /api/projects.
type ProjectsAnswer struct {
	Projects         []string            `json:"projects"`
	Sources          []string            `json:"sources"`
	ProjectsBySource map[string][]string `json:"projectsBySource"`
}

// ReplayRequest names transcripts on the worker's machine.
type ReplayRequest struct {
	Paths   []string `json:"paths"`
	Host    string   `json:"host,omitempty"` // "" looks at the file
	DryRun  bool     `json:"dry_run,omitempty"`
	Observe string   `json:"observe,omitempty"` // none, missing
	NewKey  bool     `json:"new_key,omitempty"` // go on although id.key is not the one of the log
}

// RebuildRequest says what to build again; Only "" is all.
type RebuildRequest struct {
	Only   string `json:"only,omitempty"` // records, search, context
	Verify bool   `json:"verify,omitempty"`
}

// Line is one line of a stream of progress (NDJSON). The last line of a stream
// has Result or Error.
type Line struct {
	Stage  string          `json:"stage,omitempty"` // what is being done
	Done   int64           `json:"done,omitempty"`
	Total  int64           `json:"total,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *Error          `json:"error,omitempty"`
}

// SpoolAnswer is the answer to a nudge or a retry.
type SpoolAnswer struct {
	Status string `json:"status"` // accepted
	Moved  int    `json:"moved,omitempty"`
}

// List is a list of texts that travels as JSON inside a string.
type List []string

// MarshalJSON writes "[\"a\",\"b\"]".
func (l List) MarshalJSON() ([]byte, error) {
	if l == nil {
		l = List{}
	}
	b, err := json.Marshal([]string(l))
	if err != nil {
		return nil, err
	}
	return json.Marshal(string(b))
}

// UnmarshalJSON reads what MarshalJSON wrote, and a plain list or null.
func (l *List) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) == nil {
		b = []byte(text)
	}
	if len(b) == 0 {
		*l = nil
		return nil
	}
	return json.Unmarshal(b, (*[]string)(l))
}

// IDs are numbers, given as a list of numbers or texts, or as "1,2,3".
type IDs []int64

// UnmarshalJSON: see IDs.
func (ids *IDs) UnmarshalJSON(b []byte) error {
	var parts []json.RawMessage
	if json.Unmarshal(b, &parts) != nil {
		parts = []json.RawMessage{b}
	}
	*ids = IDs{}
	for _, p := range parts {
		var text string
		if json.Unmarshal(p, &text) != nil {
			text = string(p)
		}
		for _, one := range splitList(text) {
			id, err := parseID(one)
			if err != nil {
				return err
			}
			*ids = append(*ids, id)
		}
	}
	return nil
}

// stamp is how times travel.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

// ContextRequest asks for the context of projects, by key, name or bare name.
type ContextRequest struct {
	Projects []string
	Host     string // "" any
	Colours  bool
	Full     bool // everything in full, without the cap of a host
	Zone     *time.Location
}

// LogRecord is one record of the log in short.
type LogRecord struct {
	Position uint64 `json:"position"`
	ID       string `json:"id"`
	Type     string `json:"type"`
	Source   string `json:"source"`
	Session  string `json:"subject,omitempty"`
	Event    string `json:"event,omitempty"`
	Time     string `json:"time,omitempty"`
	Bytes    int    `json:"bytes"`
	Rule     string `json:"rule,omitempty"` // event.skipped: what kept the event out
	Tool     string `json:"tool,omitempty"` // event.skipped: of a tool's event
}

// LogReport is what verifying the log found.
type LogReport struct {
	Values    int64    `json:"values"`
	Messages  int64    `json:"messages"`
	Bytes     int64    `json:"bytes"` // of bodies, compressed as they are stored
	Abandoned int64    `json:"abandoned,omitempty"`
	Gaps      []LogGap `json:"gaps,omitempty"`
	Told      []LogGap `json:"told,omitempty"`   // gaps that a finding of the log tells of: see /api/log/damage
	Broken    []uint64 `json:"broken,omitempty"` // positions where the chain does not hold
	OK        bool     `json:"ok"`
}

// LogGap is a run of positions that hold nothing and ought to.
type LogGap struct {
	First  uint64 `json:"first"`
	Last   uint64 `json:"last"`
	Reason string `json:"reason"`
}

// LogDamage is one time that the log's files were found damaged, and put right.
type LogDamage struct {
	Found      time.Time `json:"found"`
	Reason     string    `json:"reason"` // when they were looked at
	Files      []string  `json:"files"`
	Lost       []LogLost `json:"lost"`
	Incomplete []LogLost `json:"incomplete,omitempty"` // values in parts of which a part is lost
	Unfinished int64     `json:"unfinished,omitempty"` // bytes of appends that were never acknowledged
	Position   uint64    `json:"position,omitempty"`   // of the log.damaged that tells it
	Evidence   string    `json:"evidence"`             // folder with copies of the files as they were found
}

// LogLost is a run of positions whose events are gone.
type LogLost struct {
	First uint64    `json:"first"`
	Last  uint64    `json:"last"`
	Names []LogName `json:"names,omitempty"` // as far as anything still knows them
}

// LogName names an event that is gone. What is not known is left out.
type LogName struct {
	Position uint64    `json:"position,omitempty"`
	ID       string    `json:"id,omitempty"`
	Type     string    `json:"type,omitempty"`
	Source   string    `json:"source,omitempty"`
	Session  string    `json:"session,omitempty"`
	Time     time.Time `json:"time,omitzero"`
}
