package records

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"cmem/projections"
	"cmem/streams"
	"cmem/streams/event"
)

// mixed is a log like the fixtures': sessions of hooks and transcript, two
// envelopes a side for each call, a text for every third, a prompt for every
// eighth.
func mixed(events int) []projections.Entry {
	out := strings.Repeat("a line of output that is of some length, and a second part of it\n", 24)
	var all [][]line
	for n, s := 0, 0; n < events; s++ {
		session := fmt.Sprintf("5e550000-0000-4000-8000-%012d", s)
		h, f := hookScript(session), fileScript(session)
		h.origin = fmt.Sprintf(`{"cwd":"/w/project%d","branch":"main"}`, s%20)
		h.say("", event.SessionStarted{Source: "startup"})
		for c := range 60 {
			if c%8 == 0 {
				h.prompt("", fmt.Sprintf("please do number %d of what was asked", c))
				f.prompt(fmt.Sprintf("uuid-%d-%d", s, c), fmt.Sprintf("please do number %d of what was asked", c))
			}
			key := fmt.Sprintf("claude-code/toolu_%d_%d", s, c)
			t := bash(fmt.Sprintf("go test ./some/package%d/...", c%7))
			t.Reads = []string{fmt.Sprintf("/w/project%d/some/file%d.go", s%20, c%11)}
			h.say(key, event.ToolCalled{Tool: t})
			f.say(key, event.ToolCalled{Tool: t})
			h.say(key, event.ToolReturned{Tool: t, Outcome: event.OK, Output: out})
			f.say(key, event.ToolReturned{Outcome: event.OK, Output: out})
			if c%3 == 0 {
				f.say(fmt.Sprintf("text-%d-%d", s, c), event.AssistantSaid{Text: fmt.Sprintf("Step %d is done; what follows is the next.", c)})
			}
			if c%8 == 7 {
				h.say("", event.TurnEnded{})
			}
		}
		h.say("", event.SessionEnded{})
		all = append(all, h.lines, f.lines)
		n += len(h.lines) + len(f.lines)
	}
	return in(all...)
}

// few are rules that make two observations a turn.
func few(t event.Turn) event.Memory {
	m := noted(t)
	m.Observations = m.Observations[:min(2, len(m.Observations))]
	return m
}

func BenchmarkApply(b *testing.B) {
	entries := mixed(60_000)
	for _, bulk := range []bool{true, false} {
		b.Run(map[bool]string{true: "build", false: "live"}[bulk], func(b *testing.B) {
			for b.Loop() {
				s, err := Open(filepath.Join(b.TempDir(), "r"), Config{Rules: few, Bulk: bulk})
				if err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				for from := 0; from < len(entries); from += 2000 {
					part := entries[from:min(from+2000, len(entries))]
					last := part[len(part)-1].Record
					if err := s.Apply(part, streams.Checkpoint{Log: "b", Position: last.Position}); err != nil {
						b.Fatal(err)
					}
				}
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(len(entries)), "µs/event")
		})
	}
}

// large has about 100,000 observations in 20 projects.
func large(b *testing.B) *Store {
	s, err := Open(filepath.Join(b.TempDir(), "r"), Config{Rules: noted, Bulk: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	p := projections.New[projections.Entry](quick(mixed(400_000)), s, projections.Config{Batch: 5000})
	if _, err := p.RunToEnd(context.Background()); err != nil {
		b.Fatal(err)
	}
	st, err := s.Stats()
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("%d observations, %d tool uses, %d envelopes", st.Observations, st.ToolUses, st.Envelopes)
	return s
}

// quick is slice for many entries, 10 positions apart.
type quick []projections.Entry

func (q quick) Next(_ context.Context, c streams.Checkpoint, limit int) ([]projections.Entry, streams.Checkpoint, error) {
	from := int(c.Position) / 10
	part := q[from:min(from+limit, len(q))]
	if len(part) == 0 {
		return nil, c, nil
	}
	return part, streams.Checkpoint{Log: "b", Position: part[len(part)-1].Record.Position}, nil
}

func (q quick) Wait(ctx context.Context, _ streams.Checkpoint) error { return nil }

func BenchmarkRead(b *testing.B) {
	s := large(b)
	project := "/w/project7"
	newest, err := s.Observations(Filter{Projects: []string{project}, Limit: 50})
	if err != nil || len(newest) != 50 {
		b.Fatal(len(newest), err)
	}
	middle := newest[25].ID
	ids := make([]string, 100)
	for i := range ids {
		ids[i] = fmt.Sprintf("hook/5e550000-0000-4000-8000-%012d/%d", i, i)
	}
	for name, do := range map[string]func() error{
		"latest 50 of a project": func() error {
			_, err := s.Observations(Filter{Projects: []string{project}, Limit: 50})
			return err
		},
		"latest 50 of all": func() error { _, err := s.Observations(Filter{Limit: 50}); return err },
		"timeline 10+10": func() error {
			_, err := s.Timeline(Anchor{Doc: Doc{ObservationDoc, middle}}, 10, 10, Filter{Projects: []string{project}})
			return err
		},
		"by file 50": func() error {
			_, err := s.Observations(Filter{Projects: []string{project}, Files: []string{"some/file3.go"}, Limit: 50})
			return err
		},
		"lookup 100 ids": func() error { _, _, err := s.Lookup(ids); return err },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := do(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
