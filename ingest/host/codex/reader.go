package codex

import (
	"bytes"
	"encoding/json"
	"hash/fnv"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"cmem/ingest/host/adapter"
	"cmem/ingest/host/jsonscan"
	"cmem/ingest/identity"
)

// detect says whether head begins a rollout: its first value is a session_meta,
// or an item of the bare era.
func detect(file string, head []byte) bool {
	file = strings.ReplaceAll(file, `\`, "/")
	if len(bytes.TrimSpace(head)) == 0 {
		return strings.HasPrefix(path.Base(file), "rollout-") && strings.Contains(file, ".jsonl")
	}
	for line := range bytes.Lines(head) {
		switch r := readRecord(line); {
		case r.bare && r.typ == "session_meta", r.bare && r.typ == "state":
			return true
		case r.bare:
			continue
		case r.typ == "session_meta", r.typ == "response_item", r.typ == "event_msg", r.typ == "turn_context":
			return true
		}
	}
	return false
}

// reader is told one rollout's values in order. Its state is what a value does
// not say of itself.
type reader struct{ state }

type state struct {
	Thread  string `json:"thread"`            // the rollout's own id
	Session string `json:"session"`           // the session it belongs to
	Named   bool   `json:"named,omitempty"`   // both are only from the file's name
	Parent  string `json:"parent,omitempty"`  // the thread whose history is copied
	Copying bool   `json:"copying,omitempty"` // in the midst of that history
	Began   string `json:"began,omitempty"`   // time of the first record
	Turn    string `json:"turn,omitempty"`
	Root    string `json:"root,omitempty"` // turn of the session that this one serves
	Version string `json:"version,omitempty"`
	Cwd     string `json:"cwd,omitempty"`
	Branch  string `json:"branch,omitempty"`
	Items   bool   `json:"items,omitempty"` // item_completed records tell of calls
	Told    bool   `json:"told,omitempty"`  // user_message records tell of prompts
	Said    string `json:"said,omitempty"`  // hash of the last agent_message
	// Running: shell session → the call that started its command; Waiting:
	// write_stdin call → that call.
	Running map[string]string `json:"running,omitempty"`
	Waiting map[string]string `json:"waiting,omitempty"`
	// Scripted: the model called exec with a script. Calls and Before are the
	// calls of the current turn and of the one before it, of such rollouts and
	// others: an end of none of them was made by a script.
	Scripted bool     `json:"scripted,omitempty"`
	Calls    []string `json:"calls,omitempty"`
	Before   []string `json:"before,omitempty"`
}

func newReader(file string, saved []byte) adapter.Reader {
	r := &reader{}
	if json.Unmarshal(saved, &r.state) != nil || r.Thread == "" {
		r.state = state{Thread: threadOf(file), Named: true}
		r.Session = r.Thread
	}
	return r
}

// threadOf takes the thread from rollout-<time>-<thread>.jsonl.
func threadOf(file string) string {
	base := path.Base(strings.ReplaceAll(file, `\`, "/"))
	base, _, _ = strings.Cut(base, ".jsonl")
	if !strings.HasPrefix(base, "rollout-") || len(base) < 36 {
		return ""
	}
	if id := base[len(base)-36:]; identity.KnownForm(id) {
		return id
	}
	return ""
}

// State is a JSON object.
func (r *reader) State() []byte {
	out, err := json.Marshal(r.state)
	if err != nil {
		return nil // strings and booleans only
	}
	return out
}

// Value says what one value is.
func (r *reader) Value(raw []byte) adapter.Value {
	if jsonscan.Kind(raw) != '{' {
		return adapter.Value{Session: r.Session, Skip: "noise:no-object"}
	}
	rec := readRecord(raw)
	if r.Began == "" {
		r.Began = rec.time
	}
	r.follow(&rec)
	v := adapter.Value{
		Type: rec.fullType(), ID: r.id(&rec), Session: r.Session, Time: parseTime(rec.time),
		Cwd: r.Cwd, Branch: r.Branch, HostVersion: r.version(&rec),
	}
	if r.agent() {
		v.Agent, v.Turn = r.Thread, r.Root
	} else if rec.body.turn == nil {
		v.Turn = r.Turn
	}
	r.skip(&rec, &v)
	return v
}

// agent says that the rollout is a sub-agent's, told under its session's id.
func (r *reader) agent() bool { return r.Thread != r.Session }

// follow moves the state on.
func (r *reader) follow(rec *record) {
	b := &rec.body
	switch rec.typ {
	case "session_meta":
		r.meta(b)
	case "turn_context":
		r.turn(b)
		set(&r.Cwd, text(b.cwd))
	case "event_msg":
		switch text(b.typ) {
		case "task_started", "turn_started":
			r.turn(b)
		case "item_completed":
			r.Items = r.Items || text(jsonscan.Get(b.item, "type")) != "Plan"
		case "user_message":
			r.Told = true
		}
	case "response_item":
		if rec.bare && r.Cwd == "" {
			r.Cwd = cwdIn(b.content)
		}
		r.commands(b)
	}
}

func (r *reader) meta(b *body) {
	id := text(b.id)
	if id == "" {
		return
	}
	if r.Named || r.Thread == "" {
		r.Named = false
		r.Thread, r.Session = id, id
		set(&r.Session, text(b.session))
		r.Parent = text(b.forkedFrom)
	} else if id != r.Thread {
		// The parent's: what follows was said there.
		if r.Parent == "" {
			r.Parent = id
		}
		r.Copying = r.Turn == "" || r.Turn < r.Thread
		return
	}
	set(&r.Version, text(b.version))
	set(&r.Cwd, text(b.cwd))
	set(&r.Branch, text(jsonscan.Get(b.git, "branch")))
	r.Items = false // a resumed thread may go on in another version
}

func (r *reader) turn(b *body) {
	id := text(b.turn)
	if id == "" {
		return
	}
	if id != r.Turn {
		r.Calls, r.Before = nil, r.Calls
	}
	r.Turn = id
	set(&r.Root, text(b.rootTurn))
}

func set(field *string, value string) {
	if value != "" {
		*field = value
	}
}

// copied says whether a record is history of the parent: its turn is older than
// the thread. Ids of turns and threads are ordered by time (UUIDv7); of another
// form, the copies are what was written in the first second.
func (r *reader) copied(rec *record) bool {
	if !r.Copying {
		return false
	}
	turn := r.Turn
	set(&turn, text(rec.body.turn))
	if len(r.Thread) == 36 && r.Thread[14] == '7' {
		r.Copying = turn == "" || turn < r.Thread
	} else {
		r.Copying = parseTime(rec.time).Sub(parseTime(r.Began)) <= time.Second
	}
	return r.Copying
}

// id names a record within its type.
func (r *reader) id(rec *record) string {
	b := &rec.body
	switch {
	case rec.typ != "response_item" && rec.typ != "event_msg":
		return ""
	case b.item != nil:
		return r.scoped(text(jsonscan.Get(b.item, "id")))
	case b.callID != nil:
		return r.scoped(text(b.callID))
	case rec.typ == "response_item":
		return r.scoped(text(b.id))
	}
	switch text(b.typ) {
	case "task_complete", "turn_complete", "turn_aborted":
		return text(b.turn)
	}
	return ""
}

// scoped: ids of the host's and of most models are random and long; a short one
// may repeat.
func (r *reader) scoped(id string) string {
	if len(id) >= 24 {
		return id
	}
	return scope(id, r.Thread, r.Turn)
}

// commands remembers which call started a command that goes on, so that its
// exit, which comes in the output of a later call, reaches it.
func (r *reader) commands(b *body) {
	id := text(b.callID)
	switch kind := text(b.typ); kind {
	case "custom_tool_call":
		r.Scripted = r.Scripted || text(b.name) == "exec"
		r.called(id)
	case "function_call":
		r.called(id)
		if text(b.name) != "write_stdin" {
			return
		}
		args := []byte(text(b.arguments))
		if call := r.Running[number(jsonscan.Get(args, "session_id"))]; call != "" {
			put(&r.Waiting, id, call)
		}
	case "function_call_output":
		out := readOutput(b.output)
		call, waits := r.Waiting[id]
		switch {
		case out.running != "" && !waits:
			put(&r.Running, out.running, id)
		case waits && out.exit != nil:
			for session, c := range r.Running {
				if c == call {
					delete(r.Running, session)
				}
			}
		case waits:
			delete(r.Waiting, id)
		}
	}
}

func (r *reader) called(id string) {
	if len(r.Calls) > 1000 {
		r.Calls, r.Before = nil, r.Calls
	}
	r.Calls = append(r.Calls, id)
}

// inner says that a script of the model made the call whose end this is.
func (r *reader) inner(rec *record) bool {
	if !r.Scripted || rec.typ != "event_msg" || rec.body.callID == nil || !strings.HasSuffix(text(rec.body.typ), "_end") {
		return false
	}
	id := text(rec.body.callID)
	return !slices.Contains(r.Calls, id) && !slices.Contains(r.Before, id)
}

func put(m *map[string]string, key, value string) {
	if *m == nil || len(*m) > 1000 {
		*m = map[string]string{}
	}
	(*m)[key] = value
}

// number is a JSON number or a string as text.
func number(raw []byte) string {
	if s := text(raw); s != "" {
		return s
	}
	return string(raw)
}

const (
	itemsMark = "items"
	innerMark = "inner"
	forMark   = "for."
)

// version is what Decode must know of the rollout, on the records where it
// matters, see the package.
func (r *reader) version(rec *record) string {
	if r.inner(rec) {
		return r.Version + "+" + innerMark
	}
	if rec.typ != "response_item" {
		return ""
	}
	var marks []string
	if r.Items {
		marks = append(marks, itemsMark)
	}
	if text(rec.body.typ) == "function_call_output" {
		id := text(rec.body.callID)
		if call, ok := r.Waiting[id]; ok {
			delete(r.Waiting, id)
			marks = append(marks, forMark+call)
		}
	}
	if len(marks) == 0 {
		return ""
	}
	return r.Version + "+" + strings.Join(marks, ".")
}

// cwdIn finds the working folder in the context the bare era begins with.
func cwdIn(content []byte) string {
	said, _ := parts(content)
	if !strings.HasPrefix(said, "<environment_context>") {
		return ""
	}
	if _, rest, ok := strings.Cut(said, "<cwd>"); ok {
		cwd, _, _ := strings.Cut(rest, "</cwd>")
		return strings.TrimSpace(cwd)
	}
	_, rest, _ := strings.Cut(said, "working directory: ")
	cwd, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(cwd)
}

func hashOf(s string) string {
	h := fnv.New64a()
	h.Write([]byte(s))
	return strconv.FormatUint(h.Sum64(), 36)
}

func parseTime(s string) time.Time {
	if s == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}
