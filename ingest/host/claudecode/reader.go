package claudecode

import (
	"bytes"
	"path"
	"strings"
	"time"

	"cmem/ingest/host/adapter"
	"cmem/ingest/host/jsonscan"
)

// detect says whether head begins a session file of this host: one of its first
// values has a session and a place in the tree of messages, or is one of the
// state lines such files begin with. An empty file counts by its folder.
func detect(file string, head []byte) bool {
	file = slashed(file)
	if len(bytes.TrimSpace(head)) == 0 {
		return strings.Contains(file, "/.claude/projects/") && strings.HasSuffix(file, ".jsonl")
	}
	for line := range bytes.Lines(head) {
		r := readRecord(line)
		if r.typ == nil {
			continue
		}
		if r.session != nil && (r.parent != nil || r.uuid != nil) {
			return true
		}
		if r.leaf != nil || r.session != nil && skips(&r) != "" || r.snapshot != nil {
			return true
		}
	}
	return false
}

// reader is told one file's values in order. The file's name says whose session
// it is; a record's own sessionId may be that of an older one.
type reader struct {
	session string // "" until known
	named   bool   // session is from the file's name
	agent   string // from the name of a sub-agent's file
	fork    fork
}

func newReader(file string, state []byte) adapter.Reader {
	r := &reader{}
	r.session, r.agent = fromName(slashed(file))
	r.named = r.session != ""
	for key, value := range jsonscan.Fields(state) {
		switch string(key) {
		case "session":
			if !r.named {
				r.session = text(value)
			}
		case "queued":
			r.fork.queued = parseTime(text(value))
		case "own":
			r.fork.own = jsonscan.True(value)
		}
	}
	return r
}

// State is a JSON object: the session, and how far copied history reached.
func (r *reader) State() []byte {
	out := jsonscan.AppendText([]byte(`{"session":`), r.session)
	if !r.fork.queued.IsZero() {
		out = jsonscan.AppendText(append(out, `,"queued":`...), r.fork.queued.Format(time.RFC3339Nano))
	}
	if r.fork.own {
		out = append(out, `,"own":true`...)
	}
	return append(out, '}')
}

// Value says what one value is.
func (r *reader) Value(raw []byte) adapter.Value {
	if jsonscan.Kind(bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))) != '{' {
		return adapter.Value{Session: r.session, Agent: r.agent, Skip: "noise:no-object"}
	}
	rec := readRecord(raw)
	v := adapter.Value{
		Type:        rec.fullType(),
		ID:          text(rec.uuid),
		Agent:       text(rec.agent),
		HostVersion: text(rec.version),
		Time:        parseTime(text(rec.time)),
		Cwd:         text(rec.cwd),
		Branch:      text(rec.branch),
	}
	v.Session = r.sessionOf(&rec)
	switch {
	case v.Agent != "":
	case r.agent != "":
		v.Agent = r.agent
	case rec.sidechain:
		v.Agent = sidechain
	}
	if rule := skips(&rec); rule != "" {
		v.Skip = "noise:" + rule
	}
	if r.fork.copies(&rec, v.Time) {
		v.Type = copiedPrompt
	}
	return v
}

// sessionOf: the first message of a file without a session in its name decides.
func (r *reader) sessionOf(rec *record) string {
	own := text(rec.session)
	if r.session == "" {
		switch string(rec.typ) {
		case `"user"`, `"assistant"`, `"system"`:
			r.session = own
		}
	}
	if r.session == "" {
		return own
	}
	return r.session
}

// fromName: <session>.jsonl, <session>/subagents/agent-<id>.jsonl, or the older
// agent-<id>.jsonl beside the sessions, whose records name theirs.
func fromName(file string) (session, agent string) {
	base := strings.TrimSuffix(path.Base(file), ".jsonl")
	if isUUID(base) {
		return base, ""
	}
	id, ok := strings.CutPrefix(base, "agent-")
	if !ok {
		return "", ""
	}
	if dir := path.Dir(file); path.Base(dir) == "subagents" {
		if parent := path.Base(path.Dir(dir)); isUUID(parent) {
			return parent, id
		}
	}
	return "", id
}

func slashed(file string) string { return strings.ReplaceAll(file, `\`, "/") }

func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return false
			}
		case '0' <= c && c <= '9', 'a' <= c && c <= 'f', 'A' <= c && c <= 'F':
		default:
			return false
		}
	}
	return true
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
