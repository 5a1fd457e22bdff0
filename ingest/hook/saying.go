package hook

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"cmem/ingest/filter"
	"cmem/ingest/host/jsonscan"
	"cmem/ingest/identity"
	"cmem/ingest/internal/cut"
	"cmem/ingest/project"
	"cmem/ingest/redact"
	"cmem/streams/envelope"
)

// saying is one payload on its way to an envelope.
type saying struct {
	*run
	raw    []byte // before redaction; names, never written
	json   bool
	large  bool
	more   int // of a large one: bytes that were not kept
	source string
	key    identity.Key
	keyed  bool // the key is the home's
	redact *redact.Redactor
}

func (r *run) saying(in input) *saying {
	s := &saying{run: r, raw: in.value, json: true, large: in.large, more: in.more, source: r.host.Name}
	if in.value == nil {
		s.raw, s.json = in.rest, false
		r.count("undecodable-payload")
	}
	if r.said.Source != "" {
		s.source = r.said.Source
	}
	var err error
	if s.key, err = identity.LoadKey(r.dir.IDKey()); err != nil {
		// The event is kept under a name nobody else can give it. A fixed key
		// would make names from which private text could be guessed.
		r.count("id-key-unusable")
		rand.Read(s.key[:])
	}
	s.keyed = err == nil
	var problems []error
	if s.redact, problems = redact.New(r.settings); len(problems) > 0 {
		r.count("redact-pattern-unusable")
		for _, p := range problems {
			r.unusable = append(r.unusable, fmt.Errorf("redact %w", p))
		}
	}
	return s
}

// id names what was said.
func (s *saying) id() string {
	if s.said.ID != "" {
		return identity.HookID(s.source, s.said.Event, s.said.ID)
	}
	return identity.ContentID(s.source, s.said.Event, s.key.ContentHash(s.raw), s.captured.UnixNano())
}

// attributes are what both kinds of envelopes have. A name from the payload is
// a stranger's text too: it is redacted as such.
func (s *saying) attributes() envelope.Envelope {
	e := envelope.Envelope{
		ID: s.id(), Source: s.source, Subject: s.word(s.said.Session),
		Time: s.captured, Event: s.word(s.said.Event),
	}
	if s.keyed {
		e.Digest = s.key.Digest(s.words())
	}
	return e
}

// said are the members of a payload that hold what was said; the others are its
// delivery: turn, time, path. An event with a host id said again differs in them.
var said = []string{"hook_event_name", "tool_name", "tool_input", "tool_response", "error", "prompt"}

// words are the bytes that make two payloads of one id the same words.
func (s *saying) words() []byte {
	if s.said.ID == "" || !s.json {
		return s.raw
	}
	var out []byte
	for _, name := range said {
		out = append(append(out, jsonscan.Get(s.raw, name)...), 0)
	}
	return out
}

func (s *saying) word(text string) string {
	text, _ = s.redact.Text(text)
	return clip(text)
}

// received is the envelope that holds the host's words.
func (s *saying) received() envelope.Envelope {
	e := s.attributes()
	e.Type = envelope.HookReceived
	e.Origin, _ = s.redact.Text(s.where().String())
	var removed []redact.Removal
	e.Body, e.ContentType, removed = s.body()
	e.Redactions = redact.Attribute(removed)
	return e
}

// body gives what is kept of the payload.
func (s *saying) body() (body []byte, contentType string, removed []redact.Removal) {
	body, removed = s.redact.JSON(s.raw)
	if s.json && (len(removed) == 0 || json.Valid(body)) { // to look again costs 1 ms a 200 KB
		var gone []redact.Removal
		if body, gone = cut.Strings(body, cut.MaxText, s.key.Digest); s.known() || len(body) <= cut.MaxUnknown {
			return body, "", append(removed, gone...)
		}
		removed = append(removed, gone...)
	}
	limit := cut.MaxText
	if !s.known() || s.large {
		limit = cut.MaxUnknown
	}
	body, gone := cut.Text(body, limit, s.key.Digest)
	if s.more > 0 {
		body = fmt.Appendf(body, "\n[%d more bytes were over the limit of a payload and not read]\n", s.more)
		gone = append(gone, redact.Removal{Kind: "cut", Bytes: s.more})
	}
	contentType = "text/plain"
	if !utf8.Valid(body) {
		contentType = "application/octet-stream"
	}
	return body, contentType, append(removed, gone...)
}

func (s *saying) known() bool { return s.host.Known == nil || s.host.Known(s.said.Event) }

// skippedBy is the envelope that says what a rule kept out: no text, no path.
func (s *saying) skippedBy(rule filter.Rule) envelope.Envelope {
	e := s.attributes()
	e.ID, e.Type, e.Agent = filter.SkippedID(e.ID), envelope.EventSkipped, s.word(s.said.Agent)
	e.Body = filter.SkippedBody(s.filterEvent(), rule)
	return e
}

func (s *saying) filterEvent() filter.Event {
	where := s.where()
	input := jsonscan.Get(s.raw, "tool_input")
	e := filter.Event{
		Host: s.source, Event: s.said.Event, Session: s.said.Session, Tool: s.said.Tool,
		Command: jsonscan.Text(jsonscan.Get(input, "command")),
		Cwd:     s.said.Cwd, GitRoot: where.Root, ProjectName: where.Display(),
		Paths: s.said.Paths, Prompt: s.said.Prompt, IsPrompt: s.said.IsPrompt, Agent: s.said.Agent,
		Time: s.captured, Bytes: int64(len(s.raw) + s.more),
	}
	if s.said.Tool != "" {
		e.ToolID = s.said.ID
	}
	return e
}

// where is the origin of the event, looked up once.
func (r *run) where() project.Origin {
	if !r.located {
		r.origin, r.located = project.Find(r.said.Cwd), true
	}
	return r.origin
}
