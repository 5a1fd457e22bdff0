package claudecode

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cmem/ingest/host/adapter"
)

func TestDetect(t *testing.T) {
	head := func(file string) []byte {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return data[:min(len(data), 64<<10)]
	}
	own := append(glob(t, testdata+"transcripts/claude-code/*.jsonl"), transcriptFiles(t, ".")...)
	for _, file := range own {
		if h := head(file); len(h) > 0 && !detect("x", h) {
			t.Errorf("%s is not seen", file)
		}
	}
	foreign := append(glob(t, testdata+"transcripts/codex/*.jsonl"), glob(t, testdata+"clients/codex/transcript/*/2026/*/*/*.jsonl")...)
	for _, file := range foreign {
		if detect("/home/u/.claude/projects/p/x.jsonl", head(file)) {
			t.Errorf("%s is taken for ours", file)
		}
	}
	for text, want := range map[string]bool{
		"":             true, // by its folder
		"not JSON":     false,
		`[1,2]`:        false,
		`{"type":"x"}`: false,
		`{"sessionId":"s","projectHash":"h","messages":[]}`:                          false,
		`{"type":"summary","summary":"s","leafUuid":"u"}`:                            true,
		`{"type": "mode", "sessionId": "s"}`:                                         true,
		`{"parentUuid":null,"sessionId":"s","type":"user","message":{"content":"cut`: true,
	} {
		is(t, text, detect(`C:\u\.claude\projects\p\x.jsonl`, []byte(text)), want)
	}
	is(t, "empty elsewhere", detect("/tmp/x.jsonl", nil), false)
}

func TestSessionsComeFromNames(t *testing.T) {
	const file, parent = "0a0a0a0a-0000-4000-8000-000000000001", "0b0b0b0b-0000-4000-8000-000000000002"
	line := []byte(`{"type":"user","sessionId":"other","isSidechain":true}`)
	for path, want := range map[string]string{
		"/p/" + file + ".jsonl":                      file + " " + sidechain,
		`C:\p\` + file + ".jsonl":                    file + " " + sidechain,
		"/p/" + parent + "/subagents/agent-77.jsonl": parent + " 77",
		"/p/agent-77.jsonl":                          "other 77",
		"/p/x/subagents/agent-77.jsonl":              "other 77",
		"/p/g01-claude-code.jsonl":                   "other " + sidechain,
	} {
		v := newReader(path, nil).Value(line)
		is(t, path, v.Session+" "+v.Agent, want)
	}
	r := newReader("/p/export.jsonl", nil)
	for _, step := range []struct{ line, want string }{
		{`{"type":"last-prompt","sessionId":"a"}`, "a"},
		{`{"type":"progress","sessionId":"old","data":{}}`, "old"},
		{`{"type":"user","sessionId":"b","session_id":"old"}`, "b"},
		{`{"type":"progress","sessionId":"old","data":{}}`, "b"},
		{`{"type":"summary"}`, "b"},
	} {
		is(t, step.line, r.Value([]byte(step.line)).Session, step.want)
	}
}

// A reader that is stopped anywhere and started again says the same.
func TestReadersResume(t *testing.T) {
	for _, file := range append(transcriptFiles(t, "."), testdata+"transcripts/claude-code/g04b-claude-code.jsonl") {
		whole, broken := newReader(file, nil), newReader(file, nil)
		for i, raw := range values(t, file) {
			want, got := whole.Value(raw), broken.Value(raw)
			if got != want {
				t.Fatalf("%s: value %d is %+v, want %+v", file, i, got, want)
			}
			broken = newReader(file, broken.State())
		}
	}
}

func TestWhatIsKept(t *testing.T) {
	kept, left := map[string]bool{}, map[string]bool{}
	for _, file := range append(transcriptFiles(t, "."), glob(t, testdata+"transcripts/claude-code/*.jsonl")...) {
		r := newReader(file, nil)
		for _, raw := range values(t, file) {
			if v := r.Value(raw); v.Skip == "" {
				kept[v.Type] = true
			} else {
				left[v.Skip] = true
			}
		}
	}
	is(t, "kept", keys(kept), "[assistant progress:agent_progress queue-operation system:away_summary system:compact_boundary user user:copied]")
	for rule := range left {
		if !strings.HasPrefix(rule, "noise:") {
			t.Errorf("rule %q", rule)
		}
	}
	for line, want := range map[string]string{
		`{"type":"brand-new","x":1}`:                                   "",
		`{"type":"attachment","attachment":{"type":"brand-new"}}`:      "",
		`{"type":"system","subtype":"brand-new"}`:                      "",
		`{"type":"attachment","attachment":{"type":"queued_command"}}`: "",
		`{"x":1}`: "",
		`[1]`:     "noise:no-object",
		`null`:    "noise:no-object",
		`{"type":"progress","data":{"type":"bash_progress"}}`: "noise:progress",
	} {
		is(t, line, newReader("x", nil).Value([]byte(line)).Skip, want)
	}
}

func keys(m map[string]bool) []string {
	var all []string
	for k := range m {
		all = append(all, k)
	}
	slices.Sort(all)
	return all
}

func TestUnknownTypesAreCounted(t *testing.T) {
	for line, want := range map[string]string{
		`{"type":"brand-new","x":1}`:                              "unknown:brand-new",
		`{"type":"attachment","attachment":{"type":"brand-new"}}`: "unknown:attachment:brand-new",
		`{"type":"system","subtype":"brand-new"}`:                 "unknown:system:brand-new",
		`{"x":1}`: "unknown:",
	} {
		facts := recordFacts([]byte(line))
		if len(facts) != 1 {
			t.Errorf("%s: %d facts, want 1", line, len(facts))
			continue
		}
		is(t, line, facts[0].Body, "{"+want+"}")
	}
}

// Copies of a record in forks, re-serialised or not, are the same words.
func TestForksHaveTheSameWords(t *testing.T) {
	pairs := [][]string{
		{testdata + "transcripts/claude-code/g08a-claude-code.jsonl", testdata + "transcripts/claude-code/g08b-claude-code.jsonl"},
		transcriptFiles(t, "c-fork-setup-image"),
	}
	for want, files := range map[int][]string{63: pairs[0], 13: pairs[1]} {
		words, shared := map[string][]byte{}, 0
		for _, file := range files {
			r := newReader(file, nil)
			for _, raw := range values(t, file) {
				v := r.Value(raw)
				name := v.Type + " " + v.ID
				if before, ok := words[name]; ok && v.ID != "" {
					shared++
					if !bytes.Equal(before, normal(raw)) {
						t.Errorf("%s: other words\n%s\n%s", name, before, normal(raw))
					}
				}
				words[name] = normal(raw)
			}
		}
		is(t, filepath.Base(files[0])+": shared", shared, want)
	}
	a := normal([]byte(`{"uuid":"u", "type" : "user", "sessionId":"a", "message":{"b":"\u00e9","a":1}}`))
	b := normal([]byte(`{"type":"user","sessionId":"b","cwd":"/x","message":{"a":1,"b":"é"},"uuid":"u"}`))
	is(t, "re-serialised", string(a), string(b))
	is(t, "other text", bytes.Equal(a, normal([]byte(`{"uuid":"u","type":"user","message":{"b":"e","a":1}}`))), false)
	is(t, "no object", string(normal([]byte(` [1, 2]`))), "[1,2]")
}

// A fork writes its own first prompt's id on the prompts it copies.
func TestCopiedPromptsAreTheOldSessions(t *testing.T) {
	file := glob(t, testdata+"clients/claude-code/transcript/c-fork-setup-image/*/2223039d-*.jsonl")[0]
	facts := transcriptFacts(t, file)
	is(t, "prompts", prompts(facts), "[Report the stock of SKU-1001. Report the stock of SKU-1001.]")
	for name, lines := range map[string][]string{
		"ordinary": {
			`{"type":"queue-operation","operation":"enqueue","timestamp":"2026-11-30T10:00:01.000Z","content":"hi"}`,
			`{"type":"user","uuid":"1","promptId":"p","version":"2.1.332","timestamp":"2026-11-30T10:00:01.030Z","message":{"content":"hi"}}`,
			`{"type":"queue-operation","operation":"enqueue","timestamp":"2026-11-30T10:00:09.000Z","content":"more"}`,
			`{"type":"user","uuid":"2","promptId":"q","version":"2.1.332","timestamp":"2026-11-30T10:00:08.000Z","message":{"content":"late"}}`,
		},
		"older": {
			`{"type":"queue-operation","operation":"enqueue","timestamp":"2026-11-30T10:00:09.000Z","content":"more"}`,
			`{"type":"user","uuid":"2","promptId":"q","version":"2.1.144","timestamp":"2026-11-30T10:00:08.000Z","message":{"content":"kept id"}}`,
		},
	} {
		r := newReader("x", nil)
		for _, line := range lines {
			if v := r.Value([]byte(line)); v.Type == copiedPrompt {
				t.Errorf("%s: %s is taken for a copy", name, line)
			}
		}
	}
}

func FuzzReader(f *testing.F) {
	for _, raw := range seeds(f) {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		r := newReader("x.jsonl", raw)
		v := r.Value(raw)
		again := newReader("x.jsonl", r.State()).Value(raw)
		if again.Session != v.Session || again.ID != v.ID {
			t.Errorf("resumed %+v, want %+v", again, v)
		}
		detect("x", raw)
		if !json.Valid(raw) {
			return // what a broken value is normalised to need not be a value
		}
		once := normal(raw)
		if twice := normal(once); !bytes.Equal(once, twice) {
			t.Errorf("normal of normal is %q, want %q", twice, once)
		}
	})
}

func FuzzIdentify(f *testing.F) {
	for _, raw := range seeds(f) {
		f.Add("Stop", raw)
	}
	f.Fuzz(func(t *testing.T, name string, raw []byte) {
		said := identify(name, raw)
		if said.Event == "" && name != "" {
			t.Errorf("the event is lost: %+v", said)
		}
		Decode(hookEnvelope(name, raw))
		answer(name, adapter.Reply{Context: string(raw), Notice: name})
	})
}

func FuzzDecode(f *testing.F) {
	for _, raw := range seeds(f) {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		v := newReader("x.jsonl", nil).Value(raw)
		for _, fact := range Decode(wrap(v, raw)) {
			if fact.Body == nil || fact.Body.Kind() == "" || fact.Host != Name {
				t.Errorf("fact %+v", fact)
			}
		}
	})
}

// seeds are one payload of each event and the first records of each fixture.
func seeds(f *testing.F) [][]byte {
	var all [][]byte
	seen := map[string]bool{}
	for _, file := range glob(f, testdata+"hooks/claude-code/*/*.json") {
		if name := eventOf(file); !seen[name] {
			seen[name] = true
			body, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			all = append(all, body)
		}
	}
	for _, file := range glob(f, testdata+"transcripts/claude-code/*.jsonl") {
		r := newReader(file, nil)
		for _, raw := range values(f, file) {
			if v := r.Value(raw); !seen[v.Type+v.Skip] && len(raw) < 8<<10 {
				seen[v.Type+v.Skip] = true
				all = append(all, raw)
			}
		}
	}
	return all
}
