package acceptance

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cmem/projections/records"
)

// expectation is one session of testdata/observer/rules/expected.json.
type expectation struct {
	File, Host string
	Most       int
	Want       []struct {
		Prompt   int
		Types    []string
		Words    []string
		Modified []string
		Why      string
	}
	Summary []struct {
		Prompt int
		Words  []string
	}
	Unwanted []struct {
		Prompt   int
		Words    []string
		Modified string
		Why      string
	}
}

// TestRulesFindWhatAReaderFinds compares what plain rules make of eight real
// sessions with what was written down by reading them, before there were rules.
func TestRulesFindWhatAReaderFinds(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(testdata, "observer/rules/expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []expectation
	if err := json.Unmarshal(data, &all); err != nil || len(all) < 6 {
		t.Fatalf("%d sessions: %v", len(all), err)
	}
	for _, x := range all {
		t.Run(filepath.Base(x.File), func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			h.replay(filepath.Join(testdata, x.File))
			h.records(func(s *records.Store) { x.check(t, s) })
		})
	}
}

func (x expectation) check(t *testing.T, s *records.Store) {
	observations, err := s.Observations(records.Filter{Limit: 1000, Ascending: true})
	if err != nil {
		t.Fatal(err)
	}
	summaries, err := s.Summaries(records.Filter{Limit: 1000, Ascending: true})
	if err != nil {
		t.Fatal(err)
	}
	perPrompt := map[int]int{}
	for _, o := range observations {
		perPrompt[o.PromptNumber]++
		if o.PromptNumber == 0 || len(o.FactKeys) == 0 && o.Type != "decision" && o.Rule != "answer" {
			t.Errorf("an observation without prompt or evidence: %s", show(o))
		}
	}
	for p, n := range perPrompt {
		if n > x.Most {
			t.Errorf("prompt %d has %d observations, at most %d are worth it", p, n, x.Most)
		}
	}
	for _, w := range x.Want {
		if !slices.ContainsFunc(observations, func(o records.Observation) bool {
			return o.PromptNumber == w.Prompt && slices.Contains(w.Types, o.Type) && holds(text(o), w.Words) && claims(o, w.Modified)
		}) {
			t.Errorf("missing (%s): prompt %d %v %v %v", w.Why, w.Prompt, w.Types, w.Words, w.Modified)
		}
	}
	for _, w := range x.Summary {
		if !slices.ContainsFunc(summaries, func(m records.Summary) bool { return m.PromptNumber == w.Prompt && holds(summaryText(m), w.Words) }) {
			t.Errorf("no summary of prompt %d holds %v", w.Prompt, w.Words)
		}
	}
	for _, u := range x.Unwanted {
		for _, o := range observations {
			bad := len(u.Words) > 0 && holds(text(o), u.Words) || u.Modified != "" && claims(o, []string{u.Modified})
			if (u.Prompt == 0 || u.Prompt == o.PromptNumber) && bad {
				t.Errorf("unwanted %v %s (%s): %s", u.Words, u.Modified, u.Why, show(o))
			}
		}
		for _, m := range summaries {
			if (u.Prompt == 0 || u.Prompt == m.PromptNumber) && len(u.Words) > 0 && holds(summaryText(m), u.Words) {
				t.Errorf("unwanted %v in the summary of prompt %d", u.Words, m.PromptNumber)
			}
		}
	}
	if t.Failed() {
		for _, o := range observations {
			t.Log(show(o))
		}
		for _, m := range summaries {
			t.Logf("summary %d: %s", m.PromptNumber, summaryText(m))
		}
	}
}

func text(o records.Observation) string {
	return strings.ToLower(strings.Join(append([]string{o.Title, o.Subtitle, o.Narrative}, o.Facts...), "\n"))
}

func summaryText(m records.Summary) string {
	return strings.ToLower(strings.Join([]string{m.Request, m.Investigated, m.Learned, m.Completed, m.NextSteps}, "\n"))
}

func holds(text string, words []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, strings.ToLower(w)) })
}

func claims(o records.Observation, paths []string) bool {
	return !slices.ContainsFunc(paths, func(p string) bool {
		return !slices.ContainsFunc(o.FilesModified, func(f string) bool { return f == p || strings.HasSuffix(f, "/"+p) })
	})
}

func show(o records.Observation) string {
	line, _ := json.Marshal(o.Observation)
	return string(line)
}
