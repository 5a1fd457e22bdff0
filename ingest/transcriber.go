package ingest

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"cmem/ingest/filter"
	"cmem/ingest/host/adapter"
	"cmem/ingest/identity"
	"cmem/ingest/internal/cut"
	"cmem/ingest/project"
	"cmem/ingest/redact"
	"cmem/ingest/transcript"
	"cmem/streams/envelope"
	"cmem/streams/event"
)

// unreadable is the record type of bytes that are no value.
const unreadable = "unreadable"

// TranscriberConfig of one file; all but State are required.
type TranscriberConfig struct {
	Host     adapter.Transcript
	Path     string
	Key      identity.Key
	Redactor *redact.Redactor
	Filter   *filter.Filter
	// SkipTools says that the user chose the tools to leave out. The default
	// list only keeps hooks quiet; a transcript is taken whole.
	SkipTools bool
	State     []byte // of Transcriber.State when the reading before ended
}

// Transcriber makes envelopes of the values of one transcript, in order: the
// same envelope for the same value, however often the file is read and wherever
// a reading began. It does what the hook publisher does for a live event:
// identify, filter, redact, cut, name. Used by one goroutine.
type Transcriber struct {
	cfg     TranscriberConfig
	reader  adapter.Reader
	session string                 // of the last value that told one
	seen    map[string]int         // ids without an ordinal → how often they came
	skipped map[string]filter.Rule // calls left out, by fact key
	origins map[string]project.Origin
	origin  map[string]string // by session: the last one written
}

// transcriberState is what a reading that goes on later must know.
type transcriberState struct {
	Reader  []byte                 `json:"reader,omitempty"`
	Session string                 `json:"session,omitempty"`
	Seen    map[string]int         `json:"seen,omitempty"`
	Skipped map[string]filter.Rule `json:"skipped,omitempty"`
}

// NewTranscriber begins a file, or goes on where State was taken.
func NewTranscriber(cfg TranscriberConfig) *Transcriber {
	var s transcriberState
	if json.Unmarshal(cfg.State, &s) != nil {
		s = transcriberState{} // ids make a second reading harmless
	}
	cfg.Filter = cfg.Filter.ForTranscripts(cfg.SkipTools)
	t := &Transcriber{
		cfg: cfg, session: s.Session, seen: s.Seen, skipped: s.Skipped,
		reader:  cfg.Host.NewReader(cfg.Path, s.Reader),
		origins: map[string]project.Origin{}, origin: map[string]string{},
	}
	if t.seen == nil {
		t.seen = map[string]int{}
	}
	if t.skipped == nil {
		t.skipped = map[string]filter.Rule{}
	}
	return t
}

// State is what NewTranscriber needs to go on after the last value.
func (t *Transcriber) State() []byte {
	s, err := json.Marshal(transcriberState{t.reader.State(), t.session, t.seen, t.skipped})
	if err != nil {
		return nil // of maps and texts: cannot happen
	}
	return s
}

// Transcribed is what became of one value.
type Transcribed struct {
	Envelope envelope.Envelope // ID is empty where nothing goes into the log
	Rule     string            // what kept it out; with an envelope, one that says so
	Copied   bool              // of the parent's history
	Redacted bool
}

// Value makes the envelope of a value, or of bytes that are none. The envelope's
// body may be v.Raw and is good as long as that is.
func (t *Transcriber) Value(v transcript.Value) Transcribed {
	switch v.Bad {
	case transcript.OK:
		return t.value(v.Raw)
	case transcript.Noise:
		return Transcribed{Rule: "noise:text"}
	case transcript.Broken:
		return t.broken(v)
	}
	return Transcribed{} // Unfinished: comes again; TooLarge: its bytes are not here
}

func (t *Transcriber) value(raw []byte) Transcribed {
	said := t.reader.Value(raw)
	if said.Session != "" {
		t.session = said.Session
	}
	if said.Skip != "" {
		return Transcribed{Rule: said.Skip, Copied: said.Skip == "copied"}
	}
	e := envelope.Envelope{
		ID: t.id(said, raw), Type: envelope.TranscriptValue, Source: t.cfg.Host.Name,
		Subject: t.word(said.Session), Time: said.Time, Event: said.Type,
		Turn: t.word(said.Turn), HostVersion: t.word(said.HostVersion), Agent: t.word(said.Agent),
		Digest: t.cfg.Key.Digest(t.cfg.Host.Normal(raw)),
	}
	where := t.where(said.Cwd, said.Branch)
	ev := t.filterEvent(said, where, int64(len(raw)))
	if rule, skip := t.cfg.Filter.Decide(ev); skip {
		return t.skip(e, ev, rule)
	}
	redacted := t.fill(&e, raw)
	facts := Decode(e)
	if rule, tool, skip := t.toolRule(facts, ev); skip {
		return t.skip(e, tool, rule)
	}
	if isUnknown(facts) {
		t.shorten(&e)
	}
	t.locate(&e, said.Cwd, where)
	return Transcribed{Envelope: e, Redacted: redacted}
}

// id names the record; one without an id by its bytes and which of equal ones
// it is in its file.
func (t *Transcriber) id(said adapter.Value, raw []byte) string {
	if said.ID != "" {
		return identity.TranscriptID(t.cfg.Host.Name, said.Type, said.ID)
	}
	return t.occurrence(said.Type, raw)
}

func (t *Transcriber) occurrence(typ string, raw []byte) string {
	first := t.cfg.Key.OccurrenceID(t.cfg.Host.Name, t.session, typ, raw, 1)
	name := strings.TrimSuffix(first, "#1")
	hash := name[strings.LastIndexByte(name, '/')+1:]
	t.seen[hash]++
	return name + "#" + strconv.Itoa(t.seen[hash])
}

// fill gives the envelope its body, redacted and cut.
func (t *Transcriber) fill(e *envelope.Envelope, raw []byte) bool {
	body, removed := t.cfg.Redactor.JSON(raw)
	body, gone := cut.Strings(body, cut.MaxText, t.cfg.Key.Digest)
	e.Body, e.Redactions = body, redact.Attribute(append(removed, gone...))
	return len(removed) > 0
}

// isUnknown says that this version knows nothing of such a record.
func isUnknown(facts []event.Fact) bool {
	return slices.ContainsFunc(facts, func(f event.Fact) bool {
		c, ok := f.Body.(event.Counted)
		return ok && strings.HasPrefix(c.What, "unknown:")
	})
}

// shorten bounds a record of an unknown type. It stays JSON if cutting its
// strings is enough, else it becomes text.
func (t *Transcriber) shorten(e *envelope.Envelope) {
	var before []redact.Removal
	if len(e.Body) <= cut.MaxUnknown || e.Redactions != "" && json.Unmarshal([]byte(e.Redactions), &before) != nil {
		return
	}
	for limit := cut.MaxUnknown / 4; limit >= 64; limit /= 4 {
		if body, gone := cut.Strings(e.Body, limit, t.cfg.Key.Digest); len(body) <= cut.MaxUnknown {
			e.Body, e.Redactions = body, redact.Attribute(append(before, gone...))
			return
		}
	}
	body, gone := cut.Text(e.Body, cut.MaxUnknown, t.cfg.Key.Digest)
	e.Body, e.Redactions, e.ContentType = body, redact.Attribute(append(before, gone...)), "text/plain"
}

// word is a short text from the file: redacted like any other.
func (t *Transcriber) word(s string) string {
	if s == "" {
		return s
	}
	s, _ = t.cfg.Redactor.Text(s)
	return strings.ToValidUTF8(s[:min(len(s), 200)], "")
}

// broken keeps bytes that are no value: redacted, named by file and offset.
func (t *Transcriber) broken(v transcript.Value) Transcribed {
	e := envelope.Envelope{
		ID: t.occurrence(unreadable, v.Raw), Type: envelope.TranscriptValue, Source: t.cfg.Host.Name,
		Subject: t.word(t.session), Event: unreadable, File: t.word(filepath.Base(t.cfg.Path)), Offset: v.Offset,
		ContentType: "application/octet-stream",
		Digest:      t.cfg.Key.Digest(v.Raw),
	}
	text, removed := t.cfg.Redactor.JSON(v.Raw)
	body, gone := cut.Text(text, cut.MaxUnknown, t.cfg.Key.Digest)
	e.Body, e.Redactions = body, redact.Attribute(append(removed, gone...))
	return Transcribed{Envelope: e, Redacted: len(removed) > 0}
}

// where looks a folder up once a file.
func (t *Transcriber) where(cwd, branch string) project.Origin {
	key := cwd + "\x00" + branch
	o, ok := t.origins[key]
	if !ok {
		o = project.FindPast(cwd, branch)
		t.origins[key] = o
	}
	return o
}

// locate says where it was said, if that differs from the session's last.
func (t *Transcriber) locate(e *envelope.Envelope, cwd string, where project.Origin) {
	if cwd == "" {
		return
	}
	text, _ := t.cfg.Redactor.Text(where.String())
	if t.origin[e.Subject] != text {
		t.origin[e.Subject], e.Origin = text, text
	}
}

func (t *Transcriber) filterEvent(said adapter.Value, where project.Origin, size int64) filter.Event {
	return filter.Event{
		Host: t.cfg.Host.Name, Event: said.Type, Session: said.Session, Agent: said.Agent,
		Cwd: said.Cwd, GitRoot: where.Root, ProjectName: where.Display(), Time: said.Time, Bytes: size,
	}
}

func (t *Transcriber) skip(e envelope.Envelope, ev filter.Event, rule filter.Rule) Transcribed {
	return Transcribed{Rule: string(rule), Envelope: envelope.Envelope{
		ID: filter.SkippedID(e.ID), Type: envelope.EventSkipped, Source: e.Source, Subject: e.Subject,
		Time: e.Time, Event: e.Event, Agent: e.Agent, Digest: e.Digest, Body: filter.SkippedBody(ev, rule),
	}}
}

// toolRule asks the filter about the tools that a record calls, and remembers a
// call that was left out, since its result does not name the tool. A record is
// left out when it tells of nothing else.
func (t *Transcriber) toolRule(facts []event.Fact, ev filter.Event) (filter.Rule, filter.Event, bool) {
	var found filter.Rule
	for _, f := range facts {
		tool, ok := toolOf(f)
		if !ok {
			if companion(f) {
				continue
			}
			return "", ev, false
		}
		ask := ev
		ask.Tool, ask.ToolID = tool.Name, strings.TrimPrefix(f.Key, f.Host+"/")
		ask.Command, ask.Paths = tool.Command, slices.Concat(tool.Reads, tool.Writes)
		rule := t.decideTool(ask, f.Key)
		if rule == "" {
			return "", ev, false
		}
		found, ev = rule, ask
	}
	return found, ev, found != ""
}

// decideTool asks about one call, or its result.
func (t *Transcriber) decideTool(ask filter.Event, key string) filter.Rule {
	if rule, ok := t.skipped[key]; ok && key != "" {
		return rule
	}
	rule, skip := t.cfg.Filter.Decide(ask)
	if !skip {
		return ""
	}
	if key != "" {
		t.skipped[key] = rule
	}
	return rule
}

// companion: a fact that only repeats what the call beside it says.
func companion(f event.Fact) bool {
	switch f.Body.(type) {
	case event.TodoChanged, event.AgentStarted:
		return true
	}
	return false
}

// toolOf is the tool that a fact is about.
func toolOf(f event.Fact) (event.Tool, bool) {
	switch b := f.Body.(type) {
	case event.ToolCalled:
		return b.Tool, true
	case event.ToolReturned:
		return b.Tool, true
	}
	return event.Tool{}, false
}
