package records

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cmem/projections"
	"cmem/streams"
	"cmem/streams/envelope"
	"cmem/streams/event"
)

const testHost = "claude-code"

var day = time.Date(2026, 2, 3, 10, 0, 0, 0, time.UTC)

// line is one envelope with its facts, before it has a position.
type line struct {
	env   envelope.Envelope
	facts []event.Fact
}

// script writes the lines of one session by one channel, in their order.
type script struct {
	session string
	channel event.Channel
	origin  string
	n       int
	lines   []line
}

func hookScript(session string) *script { return &script{session: session, channel: event.Hook} }
func fileScript(session string) *script { return &script{session: session, channel: event.Transcript} }

// head is the header of the next fact; its time is the step's, a second each.
func (s *script) head(key string) event.Header {
	return event.Header{
		Key: key, Channel: s.channel, Host: testHost, Session: s.session, Time: day.Add(time.Duration(s.n) * time.Second),
	}
}

// tell adds an envelope of one fact.
func (s *script) tell(h event.Header, b event.Body) *script {
	s.n++
	e := envelope.Envelope{
		ID: fmt.Sprintf("%s/%s/%d", s.channel, s.session, s.n), Type: envelope.HookReceived,
		Source: testHost, Subject: s.session, Time: h.Time,
	}
	switch s.channel {
	case event.Transcript:
		e.Type = envelope.TranscriptValue
	case event.Worker:
		e.Type, e.Source = envelope.SessionIdled, worker
	}
	e.Origin, s.origin = s.origin, ""
	s.lines = append(s.lines, line{e, []event.Fact{{Header: h, Body: b}}})
	return s
}

func (s *script) say(key string, b event.Body) *script { return s.tell(s.head(key), b) }

func (s *script) prompt(key, text string) *script {
	h := s.head(key)
	h.Alt = s.session + "/prompt/" + text
	return s.tell(h, event.PromptSubmitted{Text: text})
}

func (s *script) call(key, command string) *script {
	return s.say(key, event.ToolCalled{Tool: bash(command)})
}

func (s *script) answer(key, out string) *script {
	r := event.ToolReturned{Outcome: event.OK, Output: out}
	if s.channel == event.Hook {
		r.Tool = bash("echo " + key)
	}
	return s.say(key, r)
}

func bash(command string) event.Tool {
	return event.Tool{Name: "Bash", Action: event.Run, Command: command, Input: `{"command":"` + command + `"}`}
}

// in gives lines positions: 10, 20, 30 …
func in(lines ...[]line) (out []projections.Entry) {
	for _, l := range lines {
		for _, x := range l {
			at := streams.Position(10 * (len(out) + 1))
			out = append(out, projections.Entry{
				Record: streams.Record{Position: at, Chain: sha256.Sum256([]byte{byte(at), byte(at >> 8)}), Envelope: x.env}, Facts: x.facts,
			})
		}
	}
	return out
}

// slice feeds entries.
type slice []projections.Entry

func (s slice) Next(_ context.Context, c streams.Checkpoint, limit int) ([]projections.Entry, streams.Checkpoint, error) {
	var out []projections.Entry
	for _, e := range s {
		if e.Record.Position > c.Position && len(out) < limit {
			out = append(out, e)
			c = streams.Checkpoint{}
		}
	}
	if len(out) == 0 {
		return nil, c, nil
	}
	last := out[len(out)-1].Record
	return out, streams.Checkpoint{Log: "test", Position: last.Position, Chain: last.Chain}, nil
}

func (s slice) Wait(ctx context.Context, _ streams.Checkpoint) error {
	<-ctx.Done()
	return ctx.Err()
}

// noted is a small set of rules: what was run and said, and whether it failed.
func noted(t event.Turn) event.Memory {
	m := event.Memory{Summary: &event.Summary{Request: t.Prompt, PromptNumber: t.PromptNumber}}
	for _, s := range t.Steps {
		if s.Tool == nil {
			m.Summary.Completed = s.Said
			continue
		}
		if strings.Contains(s.Tool.Tool.Command, "poison") {
			panic("poison")
		}
		o := event.Observation{
			Rule: "ran", Type: "change", Title: s.Tool.Tool.Command, Narrative: s.Tool.Output, PromptNumber: t.PromptNumber,
			FactKeys: []string{s.Tool.Key}, FilesRead: s.Tool.Tool.Reads, FilesModified: s.Tool.Tool.Writes,
			Concepts: []string{string(s.Tool.Outcome)}, Facts: []string{string(s.Tool.Outcome), t.Project},
		}
		m.Observations = append(m.Observations, o)
	}
	return m
}

func openAt(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(path, Config{Rules: noted, Versions: "test", Bulk: true, LockWait: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func fresh(t testing.TB) *Store {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "records.db"))
}

// filled is a model with entries applied in batches of size.
func filled(t testing.TB, entries []projections.Entry, size int) *Store {
	t.Helper()
	s := fresh(t)
	apply(t, s, entries, size)
	return s
}

// refilled gives models for one property's many tries: one file a name, emptied.
func refilled(t testing.TB) func(name string, entries []projections.Entry, size int) *Store {
	all := map[string]*Store{}
	return func(name string, entries []projections.Entry, size int) *Store {
		t.Helper()
		s := all[name]
		if s == nil {
			s = fresh(t)
			all[name] = s
		} else if err := s.Reset(); err != nil {
			t.Fatal(err)
		}
		apply(t, s, entries, size)
		return s
	}
}

func apply(t testing.TB, s *Store, entries []projections.Entry, size int) {
	t.Helper()
	p := projections.New[projections.Entry](slice(entries), s, projections.Config{Batch: size})
	if _, err := p.RunToEnd(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func dump(t testing.TB, s *Store, positions bool) string {
	t.Helper()
	var b bytes.Buffer
	if err := s.Dump(&b, DumpOptions{Positions: positions}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
