package acceptance

import (
	"cmem/projections/projectiontest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestHooksAndTranscriptGiveTheSameFactsOnceInAnyOrder: each recorded session
// in a data folder of its own (the scripted model repeats tool ids between
// sessions), its hooks and its transcript in three orders.
func TestHooksAndTranscriptGiveTheSameFactsOnceInAnyOrder(t *testing.T) {
	rows := table(t, filepath.Join(testdata, "clients/expected.tsv"))
	if len(rows) != 10 {
		t.Fatalf("%d sessions, want 7 of claude-code and 3 of codex", len(rows))
	}
	for _, row := range rows {
		host, session := row["host"], row["session"]
		t.Run(host+"/"+session, func(t *testing.T) {
			t.Parallel()
			orders := []struct {
				name string
				run  func(*house)
			}{
				{"hooks then transcript", func(h *house) {
					hooksOnly(h, host, session)
					h.replay(transcriptsOf(t, host, session)...)
				}},
				{"transcript then hooks", func(h *house) { h.replay(transcriptsOf(t, host, session)...); hooksOnly(h, host, session) }},
				{"interleaved", func(h *house) { interleaved(h, host, session) }},
			}
			dumps := make([]string, len(orders))
			for i, o := range orders {
				h := newHouse(t)
				o.run(h)
				h.reopen()
				if c := h.counts(); strconv.Itoa(c.ToolUses) != row["tool_uses"] || strconv.Itoa(c.Prompts) != row["prompts"] {
					t.Errorf("%s: %d tool uses and %d prompts, want %s and %s", o.name, c.ToolUses, c.Prompts, row["tool_uses"], row["prompts"])
				}
				dumps[i] = h.dump()
				// All of it a second time changes nothing.
				hooksOnly(h, host, session)
				h.replay(transcriptsOf(t, host, session)...)
				h.close()
			}
			if dumps[1] != dumps[0] {
				t.Errorf("transcript then hooks differs from hooks then transcript:\n%s", projectiontest.Difference(dumps[0], dumps[1]))
			}
			if a, b := factsOf(dumps[0]), factsOf(dumps[2]); a != b {
				t.Errorf("interleaved differs from hooks then transcript:\n%s", projectiontest.Difference(a, b))
			}
		})
	}
}

// factsOf keeps of a dump what was told: prompts and tool uses, without when.
// What is derived from the order of steps inside a turn may differ when the two
// sides took turns in telling it.
func factsOf(dump string) string {
	var out []string
	for line := range strings.Lines(dump) {
		kind, _, _ := strings.Cut(line, " ")
		if kind == "prompt" || kind == "tool" {
			out = append(out, moment.ReplaceAllString(line, ""))
		}
	}
	slices.Sort(out)
	return strings.Join(out, "")
}

var moment = regexp.MustCompile(`"(Time|Turn)":"[^"]*",?`)

func hooksOnly(h *house, host, session string) {
	h.t.Helper()
	for _, f := range hooksOf(h.t, host, session) {
		h.hookFile(host, f)
	}
	h.reopen()
}

// interleaved gives the hooks in six pieces; before each, the transcripts have
// grown by a sixth.
func interleaved(h *house, host, session string) {
	h.t.Helper()
	const pieces = 6
	hooks, files := hooksOf(h.t, host, session), transcriptsOf(h.t, host, session)
	dir := h.t.TempDir()
	for p := range pieces {
		var grown []string
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err != nil {
				h.t.Fatal(err)
			}
			root := filepath.Join(testdata, "clients", host, "transcript", session)
			rel, err := filepath.Rel(root, f)
			if err != nil {
				h.t.Fatal(err)
			}
			to := filepath.Join(dir, rel)
			if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
				h.t.Fatal(err)
			}
			if err := os.WriteFile(to, data[:len(data)*(p+1)/pieces], 0o600); err != nil {
				h.t.Fatal(err)
			}
			grown = append(grown, to)
		}
		h.replay(grown...)
		for _, f := range hooks[len(hooks)*p/pieces : len(hooks)*(p+1)/pieces] {
			h.hookFile(host, f)
		}
		h.reopen()
	}
}
