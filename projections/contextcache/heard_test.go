package contextcache

import (
	"strings"
	"testing"

	"cmem/projections/records"
	"cmem/streams/event"
)

// Two edits of one turn both have the prompt behind them.
func TestWhatWasAskedIsToldOnce(t *testing.T) {
	const asked = "can you look at the failing tests again"
	v := View{Project: records.Project{Key: "p", Name: "p"}}
	for i := range 3 {
		v.Observations = append(v.Observations, records.Observation{ID: int64(i + 1), Time: at("2026-01-25T17:00:00Z"), Observation: event.Observation{
			Type: "change", Title: "Changed " + string(rune('a'+i)), Subtitle: asked[:20] + "…", Narrative: asked, Facts: []string{"verified: go test"},
		}})
	}
	text := Render(v, Options{})
	if n := strings.Count(text, "can you look"); n != 1 {
		t.Errorf("the prompt is told %d times in\n%s", n, text)
	}
	if n := strings.Count(text, "verified: go test"); n != 3 {
		t.Errorf("a fact of each is told %d times", n)
	}
	v.Observations[0].Narrative += " Then the agent found the cause."
	if text := Render(v, Options{}); !strings.Contains(text, "  Then the agent found the cause.\n") && !strings.Contains(text, asked+" Then") {
		t.Errorf("what follows is not told in\n%s", text)
	}
	v.Summaries = []records.Summary{{ID: 9, Summary: event.Summary{Request: asked}}}
	if n := strings.Count(Render(v, Options{}), "can you look"); n != 1 {
		t.Errorf("behind the last session's request it is told %d times", n)
	}
}
