package codex

import (
	"bytes"
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cmem/ingest/identity"
	"cmem/ingest/transcript"
	"cmem/streams/envelope"
	"cmem/streams/event"
)

const testdata = "../../../testdata"

// key of the tests: names only have to be equal where things are.
var key identity.Key

// rollout gives the envelopes of a file, as they would be stored without
// redaction, and how many values each rule kept out.
func rollout(t testing.TB, path string) (envs []envelope.Envelope, skipped map[string]int) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return values(t, path, data)
}

func values(t testing.TB, path string, data []byte) (envs []envelope.Envelope, skipped map[string]int) {
	t.Helper()
	skipped = map[string]int{}
	reader := newReader(path, nil)
	seen := map[string]int{}
	for v, err := range transcript.Values(bytes.NewReader(data), 0, nil) {
		if err != nil {
			t.Fatal(err)
		}
		if v.Bad != transcript.OK {
			continue
		}
		// A reader that stops anywhere and goes on must not differ.
		reader = newReader(path, reader.State())
		said := reader.Value(v.Raw)
		if said.Skip != "" {
			skipped[said.Skip]++
			continue
		}
		e := envelope.Envelope{
			ID:   identity.TranscriptID(Name, said.Type, said.ID),
			Type: envelope.TranscriptValue, Source: Name, Subject: said.Session, Time: said.Time,
			Event: said.Type, Turn: said.Turn, HostVersion: said.HostVersion, Agent: said.Agent,
			Digest: key.Digest(normal(v.Raw)), Body: bytes.Clone(v.Raw),
		}
		if said.ID == "" {
			seen[string(v.Raw)]++
			e.ID = key.OccurrenceID(Name, said.Session, said.Type, v.Raw, seen[string(v.Raw)])
		}
		envs = append(envs, e)
	}
	return envs, skipped
}

// hooks gives the envelopes of a recorded session.
func hooks(t testing.TB, session string) (envs []envelope.Envelope) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(testdata, "hooks/codex", session, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no hooks of %s: %v", session, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, name, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".json"), "-")
		said := identify(name, data)
		if noiseEvent(said.Event) {
			continue
		}
		id := said.ID
		if id == "" {
			id = filepath.Base(file)
		}
		envs = append(envs, envelope.Envelope{
			ID: identity.HookID(Name, said.Event, id), Type: envelope.HookReceived, Source: Name,
			Subject: said.Session, Event: said.Event, Digest: key.Digest(data), Body: data,
		})
	}
	return envs
}

// rollouts gives the envelopes of a recorded session's rollouts.
func rollouts(t testing.TB, session string) (envs []envelope.Envelope) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(testdata, "clients/codex/transcript", session, "*/*/*/*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no rollouts of %s: %v", session, err)
	}
	for _, file := range files {
		more, _ := rollout(t, file)
		envs = append(envs, more...)
	}
	return envs
}

// fold is the least that a read model does with facts.
type fold struct {
	sessions               map[string]bool
	prompts, calls, ends   map[string]bool
	failed                 map[string]bool
	texts, turnEnds, stops map[string]bool
	compactions            map[string]bool
	containers             map[string]bool
	unknown                []string
	tools                  map[string]event.Tool
	alts                   map[string]map[event.Channel]int
}

func folded(envs []envelope.Envelope) *fold {
	f := &fold{alts: map[string]map[event.Channel]int{}, tools: map[string]event.Tool{}}
	for _, m := range []*map[string]bool{&f.sessions, &f.prompts, &f.calls, &f.ends, &f.failed, &f.texts, &f.turnEnds, &f.stops, &f.compactions, &f.containers} {
		*m = map[string]bool{}
	}
	seen := map[string]bool{}
	for _, e := range envs {
		if seen[e.ID+e.Digest] {
			continue
		}
		seen[e.ID+e.Digest] = true
		for _, fact := range Decode(e) {
			f.add(fact)
		}
	}
	return f
}

func (f *fold) add(fact event.Fact) {
	f.sessions[fact.Session] = true
	name := fact.Key
	if name == "" && fact.Alt != "" {
		if f.alts[fact.Alt] == nil {
			f.alts[fact.Alt] = map[event.Channel]int{}
		}
		f.alts[fact.Alt][fact.Channel]++
		name = fact.Alt + "/" + strconv.Itoa(f.alts[fact.Alt][fact.Channel])
	}
	switch b := fact.Body.(type) {
	case event.PromptSubmitted:
		f.prompts[name] = true
	case event.ToolCalled:
		if b.Tool.Container {
			f.containers[name] = true
		} else {
			f.calls[name] = true
		}
		if _, ok := f.tools[name]; !ok {
			f.tools[name] = b.Tool
		}
	case event.ToolReturned:
		f.ends[name] = true
		if b.Outcome == event.Failed || b.Outcome == event.Refused {
			f.failed[name] = true
		}
	case event.AssistantSaid:
		if !b.Last {
			f.texts[name] = true
		}
	case event.TurnEnded:
		if b.Interrupted {
			f.stops[name] = true
		}
		f.turnEnds[name] = true
	case event.CompactionDone:
		f.compactions[name] = true
	case event.Counted:
		if strings.HasPrefix(b.What, "unknown:") {
			f.unknown = append(f.unknown, b.What)
		}
	}
}

// expected reads a table of testdata.
func expected(t testing.TB, name string) []map[string]string {
	t.Helper()
	file, err := os.Open(filepath.Join(testdata, name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r := csv.NewReader(file)
	r.Comma, r.LazyQuotes = '\t', true
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var all []map[string]string
	for _, row := range rows[1:] {
		m := map[string]string{}
		for i, cell := range row {
			m[rows[0][i]] = cell
		}
		all = append(all, m)
	}
	return all
}

func (f *fold) check(t *testing.T, want map[string]string, got map[string]int) {
	t.Helper()
	paired, orphans := 0, 0
	failed := 0
	for name := range f.ends {
		switch {
		case f.containers[name]:
			continue
		case f.calls[name]:
			paired++
		default:
			orphans++
		}
		if f.failed[name] {
			failed++
		}
	}
	for name, n := range map[string]int{
		"sessions": len(f.sessions), "user_prompts": len(f.prompts), "interrupts": len(f.stops),
		"compactions": len(f.compactions), "tool_uses": len(f.calls), "tool_paired": paired,
		"tool_unpaired": len(f.calls) - paired, "orphan_results": orphans,
		"tool_errors": failed, "assistant_texts": len(f.texts),
	} {
		got[name] = n
	}
	for name, n := range got {
		if cell, ok := want[name]; ok && cell != strconv.Itoa(n) {
			t.Errorf("%s: got %d, want %s", name, n, cell)
		}
	}
	if len(f.unknown) > 0 {
		t.Errorf("unknown: %v", slices.Compact(slices.Sorted(slices.Values(f.unknown))))
	}
}

func TestCountsOfRealRollouts(t *testing.T) {
	found := 0
	for _, want := range expected(t, "transcripts/EXPECTED.tsv") {
		if want["client"] != "codex" {
			continue
		}
		found++
		t.Run(want["file"], func(t *testing.T) {
			path := filepath.Join(testdata, "transcripts/codex", want["file"])
			envs, skipped := rollout(t, path)
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			var report transcript.Report
			f, err := transcript.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			for range f.Values() {
			}
			report = f.Report()
			folded(envs).check(t, want, map[string]int{
				"lines": int(report.Lines), "bytes": int(info.Size()), "records": int(report.Values),
				"glued_lines": int(report.Glued), "bad_lines": int(report.Broken), "dup_records": 0,
				"copied_records": skipped["copied"], "slash_commands": 0, "queued_only": 0,
				"nested_tool_uses": 0, "sidechain_messages": 0,
			})
		})
	}
	if found != 4 {
		t.Errorf("found %d rows, want 4", found)
	}
}

func TestCountsOfAParentAndItsFork(t *testing.T) {
	for _, want := range expected(t, "transcripts/EXPECTED_PAIRS.tsv") {
		files := strings.Split(want["files_in_order"], " then ")
		if !strings.Contains(files[0], "codex") {
			continue
		}
		a, _ := rollout(t, filepath.Join(testdata, "transcripts/codex", files[0]))
		b, skipped := rollout(t, filepath.Join(testdata, "transcripts/codex", files[1]))
		folded(append(a, b...)).check(t, want, map[string]int{"records_seen_twice": skipped["copied"]})
		folded(append(b, a...)).check(t, want, map[string]int{})
		return
	}
	t.Error("no pair")
}

// TestRecordedSessions: hooks and rollouts name the same tool uses and prompts.
func TestRecordedSessions(t *testing.T) {
	found := 0
	for _, want := range expected(t, "clients/expected.tsv") {
		if want["host"] != Name {
			continue
		}
		found++
		t.Run(want["session"], func(t *testing.T) {
			live, file := hooks(t, want["session"]), rollouts(t, want["session"])
			check := map[string]string{"tool_uses": want["tool_uses"], "user_prompts": want["prompts"]}
			a, b, both := folded(live), folded(file), folded(append(slices.Clone(file), live...))
			for _, f := range []*fold{a, b, both} {
				f.check(t, check, map[string]int{})
			}
			same(t, "tool uses", a.calls, b.calls)
			same(t, "prompts", a.prompts, b.prompts)
			for name, tool := range a.tools {
				if other := b.tools[name]; tool.Name != other.Name || tool.Action != other.Action || tool.Command != other.Command {
					t.Errorf("%s: hook says %+v, rollout %+v", name, tool, other)
				}
			}
		})
	}
	if found != 3 {
		t.Errorf("found %d rows, want 3", found)
	}
}

func same(t *testing.T, what string, a, b map[string]bool) {
	t.Helper()
	for name := range a {
		if !b[name] {
			t.Errorf("%s: %s is only in the hooks", what, name)
		}
	}
	for name := range b {
		if !a[name] {
			t.Errorf("%s: %s is only in the rollouts", what, name)
		}
	}
}
