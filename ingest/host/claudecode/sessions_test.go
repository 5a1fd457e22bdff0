package claudecode

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cmem/streams/event"
)

// names joins the names of one thing: its key, and its second name with the
// ordinal within the channel. Two facts that share a name are about one thing.
type names struct {
	parent map[string]string
	nth    map[string]int
}

func (n *names) root(s string) string {
	for n.parent[s] != s {
		s = n.parent[s]
	}
	return s
}

func (n *names) fact(f *event.Fact) {
	var all []string
	if f.Key != "" {
		all = append(all, f.Key)
	}
	if f.Alt != "" {
		counter := string(f.Channel) + " " + f.Alt
		n.nth[counter]++
		all = append(all, fmt.Sprint("alt ", f.Alt, " ", n.nth[counter]))
	}
	for _, name := range all {
		if _, ok := n.parent[name]; !ok {
			n.parent[name] = name
		}
		n.parent[n.root(name)] = n.root(all[0])
	}
}

func (n *names) things() int {
	roots := map[string]bool{}
	for name := range n.parent {
		roots[n.root(name)] = true
	}
	return len(roots)
}

// things counts distinct things among the facts that pick chooses.
func things(facts []event.Fact, pick func(event.Body) bool) int {
	n := names{map[string]string{}, map[string]int{}}
	for i := range facts {
		if pick(facts[i].Body) {
			n.fact(&facts[i])
		}
	}
	return n.things()
}

func toolUse(b event.Body) bool {
	c, ok := b.(event.ToolCalled)
	return ok && !c.Tool.Nested && !c.Tool.Container
}

func typedPrompt(b event.Body) bool {
	p, ok := b.(event.PromptSubmitted)
	return ok && p.Origin == event.Typed
}

func compacted(b event.Body) bool { _, ok := b.(event.CompactionDone); return ok }

func command(b event.Body) bool { _, ok := b.(event.CommandRun); return ok }

func transcriptFiles(t *testing.T, session string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(testdata+"clients/claude-code/transcript/"+session, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".jsonl") {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, %v", session, len(files), err)
	}
	return files
}

func interleave(a, b []event.Fact) []event.Fact {
	var all []event.Fact
	for i := range max(len(a), len(b)) {
		if i < len(a) {
			all = append(all, a[i])
		}
		if i < len(b) {
			all = append(all, b[i])
		}
	}
	return all
}

func TestBothChannelsOfRecordedSessionsAreOneSession(t *testing.T) {
	// What hooks alone saw, where that is less than all.
	hooksOnly := map[string]int{"old-2.0.76": 16, "old-1.0.128": 16}
	compactions := map[string]int{"a-print": 1, "b-interactive": 1, "d-auto-compact": 1,
		"old-2.1.197": 1, "old-2.0.76": 1, "old-1.0.128": 1}
	commands := map[string]int{"a-print": 1, "b-interactive": 5, "old-2.1.197": 1, "old-2.0.76": 1, "old-1.0.128": 1}
	seen := 0
	for _, row := range table(t, testdata+"clients/expected.tsv") {
		if row["host"] != Name {
			continue
		}
		seen++
		t.Run(row["session"], func(t *testing.T) {
			session := row["session"]
			hooks := hookFacts(t, testdata+"hooks/claude-code/"+session)
			files := transcriptFiles(t, session)
			transcript := transcriptFacts(t, files...)
			slices.Reverse(files)
			forksFirst := transcriptFacts(t, files...)
			orders := map[string][]event.Fact{
				"transcript":             transcript,
				"hooks, transcript":      slices.Concat(hooks, transcript),
				"transcript, hooks":      slices.Concat(transcript, hooks),
				"interleaved":            interleave(hooks, transcript),
				"files the other way":    forksFirst,
				"hooks, files other way": slices.Concat(hooks, forksFirst),
				"interleaved, other way": interleave(forksFirst, hooks),
				"everything over again":  transcriptFacts(t, append(files, files...)...),
				"other way, hooks":       slices.Concat(forksFirst, hooks),
			}
			for order, facts := range orders {
				is(t, order+": tool uses", things(facts, toolUse), row["tool_uses"])
				is(t, order+": prompts", things(facts, typedPrompt), row["prompts"])
				is(t, order+": compactions", things(facts, compacted), compactions[session])
				is(t, order+": commands", things(facts, command), commands[session])
			}
			want := row["tool_uses"]
			if n, ok := hooksOnly[session]; ok {
				want = fmt.Sprint(n)
			}
			is(t, "hooks: tool uses", things(hooks, toolUse), want)
			is(t, "hooks: prompts", things(hooks, typedPrompt), row["prompts"])
		})
	}
	if seen != 7 {
		t.Errorf("%d sessions, want 7", seen)
	}
}

func is(t *testing.T, what string, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

// Where the hook has an id, it is the transcript's id.
func TestHookKeysAreTranscriptKeys(t *testing.T) {
	for _, session := range []string{"a-print", "b-interactive", "c-fork-setup-image", "d-auto-compact", "old-2.1.197", "old-2.0.76"} {
		t.Run(session, func(t *testing.T) {
			transcript := map[string]bool{}
			for _, f := range transcriptFacts(t, transcriptFiles(t, session)...) {
				if toolUse(f.Body) || typedPrompt(f.Body) {
					transcript[f.Key] = true
				}
			}
			checked := 0
			for _, f := range hookFacts(t, testdata+"hooks/claude-code/"+session) {
				if (toolUse(f.Body) || typedPrompt(f.Body)) && f.Key != "" {
					checked++
					if !transcript[f.Key] {
						t.Errorf("%s %s %s is not in the transcript", f.Body.Kind(), f.Key, f.Agent)
					}
				}
			}
			if checked == 0 {
				t.Error("no keys")
			}
		})
	}
}
