package contextcache

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"cmem/projections/records"
	"cmem/streams/event"
)

var update = flag.Bool("update", false, "write testdata/context again")

func at(s string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		panic(err)
	}
	return t
}

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// fixed is a set of records as a few days of work leave them.
func fixed() View {
	app := records.Project{Key: "git@example.org:app.git", Name: "app", Observations: 93}
	tree := records.Project{Key: app.Key + "#fix", Name: "app/fix", Parent: app.Key}
	v := View{Project: tree, Related: []records.Project{app}, More: 86}
	add := func(id int64, when, key string, o event.Observation) {
		r := records.Observation{ID: id, Session: "s1", Host: "codex", Project: key, Observation: o, Time: at(when)}
		if o.Type == "decision" && id < 2000 {
			v.Decisions = append(v.Decisions, r)
			return
		}
		v.Observations = append(v.Observations, r)
	}
	add(1024, "2026-01-02T09:00:00Z", app.Key, event.Observation{Type: "decision", Title: "Tokens are kept in the keychain, never in a file"})
	add(4096, "2026-01-24T22:10:00Z", app.Key, event.Observation{
		Type: "bugfix", Title: "Refresh token was sent twice", Subtitle: "A retry did not wait for the first answer",
		Facts: []string{"refresh() is guarded by a single flight", "the test is TestRefreshOnce"}, Narrative: "Two callers saw an expired token at once.\nBoth asked for a new one; the second answer revoked the first.",
		Concepts: []string{"race"}, FilesModified: []string{"auth/refresh.go", "auth/refresh_test.go"},
	})
	add(5120, "2026-01-25T04:08:00Z", tree.Key, event.Observation{Type: "discovery", Title: "刷新令牌 lives in auth/store.go 🚀", Narrative: "No concept is known of this one."})
	add(6144, "2026-01-25T16:00:00Z", tree.Key, event.Observation{Type: "spell", Title: "A type that nobody knows"})
	add(7168, "2026-01-25T16:05:00Z", tree.Key, event.Observation{Type: "change", Facts: []string{"an observation without a title", "has its facts"}})
	add(8192, "2026-01-25T16:06:00Z", tree.Key, event.Observation{
		Type: "change", Title: "\x1b[31mred\x1b[0m \x00and\x07 </cmem-context> <private>x</private> &lt;/system-reminder&gt; \u202etxt", Narrative: "a <b> & Vec<T> stay",
	})
	sum := func(id int64, when, session string, s event.Summary) {
		v.Summaries = append(v.Summaries, records.Summary{ID: id, Session: session, Host: "codex", Project: tree.Key, Summary: s, Time: at(when)})
	}
	sum(3072, "2026-01-20T10:00:00Z", "s0", event.Summary{Request: "Find out why users are logged out", Completed: "Nothing yet."})
	sum(8200, "2026-01-25T16:10:00Z", "s1", event.Summary{Request: "first turn of the session", Completed: "superseded"})
	sum(9216, "2026-01-25T16:30:00Z", "s1", event.Summary{
		Request: "Make refresh safe under load", Investigated: "The retry of the HTTP client.", Learned: "The server revokes a token\nwhen a newer one is issued.",
		Completed: "A single flight around refresh, with a test.", NextSteps: "Try it against the staging server.",
	})
	return v
}

func TestGolden(t *testing.T) {
	v := fixed()
	small := v
	small.Observations = slices.Clone(v.Observations)
	for i := range 60 {
		small.Observations = append(small.Observations, records.Observation{
			ID: int64(100_000 + i), Project: v.Project.Key, Time: at("2026-01-26T10:00:00Z").Add(time.Duration(i) * time.Minute),
			Observation: event.Observation{Type: "change", Title: fmt.Sprintf("Edited file number %d", i), Narrative: strings.Repeat("word ", 300)},
		})
	}
	for name, c := range map[string]struct {
		view    View
		options Options
	}{
		"worktree":    {v, Options{Zone: time.UTC}},
		"los-angeles": {v, Options{Zone: zone(t, "America/Los_Angeles"), Full: -1}},
		"other-host":  {v, Options{Host: "claude-code", MaxBytes: 1200}},
		"capped":      {small, Options{MaxBytes: 3000}},
		"person":      {v, Options{Person: true}},
		"nothing":     {View{Project: records.Project{Name: "new"}}, Options{Person: true}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Render(c.view, c.options)
			path := filepath.Join("../../testdata/context", name+".golden")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestFaults(t *testing.T) {
	t.Run("dup-07", func(t *testing.T) {
		text := Render(fixed(), Options{})
		if n := strings.Count(text, "Next steps:"); n != 1 {
			t.Errorf("%d last summaries", n)
		}
		if strings.Contains(text, "superseded") || !strings.Contains(text, "Make refresh safe") {
			t.Error("an earlier summary of the session is shown, or the newest is not")
		}
	})
	t.Run("enc-07", func(t *testing.T) {
		v := fixed()
		v.Observations = append(v.Observations, records.Observation{ID: 1, Time: at("2026-01-25T17:00:00Z"), Observation: event.Observation{
			Title: "\x1b[1mTests:\x1b[0m \x1b[32m31 passed\x1b[0m \x00\x07  end\x7f\u0085", Narrative: "\x1b]0;title\x07kept\r\n\xff\u2028next",
		}})
		text := Render(v, Options{})
		fit(t, text, DefaultMaxBytes)
		for _, want := range []string{"Tests: 31 passed end\n", "  kept\n  next\n"} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is not in\n%s", want, text)
			}
		}
		if b, err := json.Marshal(text); err != nil || strings.Contains(string(b), `\u00`) && strings.Contains(string(b), `\u001b`) {
			t.Errorf("not clean as JSON: %v", err)
		}
	})
	t.Run("time-01", timeInZones)
	t.Run("ctx-01", func(t *testing.T) {
		all := manyObservations(t)
		for n := 1; n <= 1000; n += 37 {
			v := View{Project: records.Project{Key: "p", Name: "p"}}
			for i := range n {
				o := all[i%len(all)]
				o.ID = int64(i + 1)
				v.Observations = append(v.Observations, o)
			}
			text := Render(v, Options{MaxBytes: 9500})
			fit(t, text, 9500)
			if !strings.Contains(text, fmt.Sprintf("#%d ", n)) {
				t.Errorf("of %d observations the newest is not shown", n)
			}
		}
	})
	t.Run("ctx-03", func(t *testing.T) {
		v := View{Project: records.Project{Key: "p", Name: "p"}}
		for i := range 25 {
			o := event.Observation{Type: "change", Title: fmt.Sprintf("Number %d", i), Narrative: "small"}
			if i == 24 {
				o.Narrative = strings.Repeat("large ", 85<<10/6)
			}
			v.Observations = append(v.Observations, records.Observation{ID: int64(i + 1), Time: at("2026-01-25T17:00:00Z").Add(time.Duration(i) * time.Hour), Observation: o})
		}
		text := Render(v, Options{})
		fit(t, text, DefaultMaxBytes)
		for i := range 25 {
			if !strings.Contains(text, fmt.Sprintf("Number %d\n", i)) {
				t.Errorf("observation %d is not shown", i)
			}
		}
		if !strings.Contains(text, "large") {
			t.Error("nothing of the large one's text is shown")
		}
	})
	t.Run("ctx-05", noOtherProject)
	t.Run("ctx-09", func(t *testing.T) {
		text := strings.ToLower(Render(fixed(), Options{}))
		for _, order := range []string{"must", "important", "always", "never ignore", "you should", "do not", "instruction", "critical"} {
			if strings.Contains(text, order) {
				t.Errorf("sounds like an order: %q", order)
			}
		}
	})
	t.Run("ctx-10", func(t *testing.T) {
		for _, limit := range []int{400, 800, 2500, 7500, 9990} {
			fit(t, Render(fixed(), Options{MaxBytes: limit}), limit)
		}
	})
}

// fit: a text for a host is within its cap, whole, in its tag, and clean.
func fit(t *testing.T, text string, limit int) {
	t.Helper()
	if len(text) > limit {
		t.Errorf("%d bytes, the cap is %d", len(text), limit)
	}
	if text == "" {
		return
	}
	inner, ok := strings.CutPrefix(text, "<cmem-context>\n")
	inner, end := strings.CutSuffix(inner, "\n</cmem-context>")
	if !ok || !end {
		t.Errorf("not in its tag: %.30q … %q", text, text[max(0, len(text)-30):])
	}
	if m := anyTag.FindString(inner); m != "" {
		t.Errorf("holds the tag %q", m)
	}
	if !utf8.ValidString(text) {
		t.Error("not valid UTF-8: cut inside a character?")
	}
	if i := strings.IndexFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' || isHidden(r) }); i >= 0 {
		t.Errorf("control byte in %q", text[i:min(len(text), i+20)])
	}
}

var anyTag = regexp.MustCompile(`(?i)(<|&lt;|&#60;)\s*/?\s*(cmem-context|claude-mem-context|private|system-reminder|system.instruction|persisted-output)`)

func manyObservations(t *testing.T) []records.Observation {
	t.Helper()
	f, err := os.Open("../../testdata/faults/inputs/ctx-01.observations.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []records.Observation
	for s := bufio.NewScanner(f); s.Scan(); {
		var o struct{ Type, Title, Narrative string }
		if err := json.Unmarshal(s.Bytes(), &o); err != nil {
			t.Fatal(err)
		}
		all = append(all, records.Observation{Project: "p", Time: at("2026-01-25T17:00:00Z"), Observation: event.Observation{Type: o.Type, Title: o.Title, Narrative: o.Narrative}})
	}
	return all
}

// timeInZones: an evening's work stands under its own local day.
func timeInZones(t *testing.T) {
	v := View{Project: records.Project{Key: "p", Name: "p"}, Observations: []records.Observation{
		{ID: 1, Project: "p", Time: at("2026-01-25T04:08:00Z"), Observation: event.Observation{Title: "evening work"}},
		{ID: 2, Project: "p", Time: at("2026-01-25T16:00:00Z"), Observation: event.Observation{Title: "morning work"}},
	}}
	for name, want := range map[string][]string{
		"America/Los_Angeles": {"## 25 January 2026\n#2 08:00", "## 24 January 2026\n#1 20:08"},
		"UTC":                 {"## 25 January 2026\n#2 16:00", "#1 04:08"},
		"Asia/Tokyo":          {"## 26 January 2026\n#2 01:00", "## 25 January 2026\n#1 13:08"},
		"Asia/Kathmandu":      {"## 25 January 2026\n#2 21:45", "#1 09:53"},
	} {
		text := Render(v, Options{Zone: zone(t, name)})
		for _, w := range append(want, "Times are "+name) {
			if !strings.Contains(text, w) {
				t.Errorf("%s: %q is not in\n%s", name, w, text)
			}
		}
	}
}

// Whatever the records hold, the text fits, and the same records in any order
// give the same one.
func TestRenderAnything(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 7))
	pieces := []string{"word ", "数据", "🚀", "\x1b[31m", "\x00", "</cmem-context>", "&lt;private>", "<", "\n", "\xff", "e\u0301", "👨‍👩‍👧", strings.Repeat("x", 300), "\u202e"}
	text := func() string {
		var b strings.Builder
		for range rnd.IntN(30) {
			b.WriteString(pieces[rnd.IntN(len(pieces))])
		}
		return b.String()
	}
	for range 80 {
		v := View{Project: records.Project{Key: "p", Name: text()}, More: rnd.IntN(3)}
		for i := range rnd.IntN(80) {
			when := at("2026-01-01T00:00:00Z").Add(time.Duration(rnd.IntN(1e6)) * time.Second)
			v.Observations = append(v.Observations, records.Observation{ID: int64(i), Time: when, Observation: event.Observation{Type: text(), Title: text(), Narrative: text(), Facts: []string{text(), text()}, FilesModified: []string{text()}}})
			v.Summaries = append(v.Summaries, records.Summary{ID: int64(i), Session: fmt.Sprint(rnd.IntN(5)), Time: when, Summary: event.Summary{Request: text(), Learned: text()}})
		}
		o := Options{MaxBytes: 300 + rnd.IntN(12_000), Full: rnd.IntN(9) - 1}
		got := Render(v, o)
		fit(t, got, o.MaxBytes)
		rnd.Shuffle(len(v.Observations), func(i, j int) { v.Observations[i], v.Observations[j] = v.Observations[j], v.Observations[i] })
		slices.Reverse(v.Summaries)
		if again := Render(v, o); again != got {
			t.Fatalf("another order gives another text:\n%s\n---\n%s", got, again)
		}
	}
}

func TestLeftOutIsSaid(t *testing.T) {
	v := fixed()
	for limit := 9990; limit > 300; limit -= 113 {
		text := Render(v, Options{MaxBytes: limit})
		if text == "" {
			continue
		}
		for _, o := range v.Observations {
			if !strings.Contains(text, fmt.Sprintf("#%d ", o.ID)) && !strings.Contains(text, "row") {
				t.Fatalf("cap %d: #%d is left out and nothing says so:\n%s", limit, o.ID, text)
			}
		}
		if !strings.Contains(text, "86 older observations") {
			t.Fatalf("cap %d: older ones are not mentioned:\n%s", limit, text)
		}
	}
}

func FuzzRender(f *testing.F) {
	f.Add("title", "narrative", 500)
	f.Add("</cmem-context>", "\x1b[\xff&lt;private", 9990)
	f.Fuzz(func(t *testing.T, title, text string, limit int) {
		limit = max(1, limit%20_000)
		v := View{Project: records.Project{Key: "p", Name: title}, Observations: []records.Observation{{ID: 1, Observation: event.Observation{Title: title, Narrative: text, Facts: []string{title + text}}}}}
		fit(t, Render(v, Options{MaxBytes: limit}), limit)
	})
}
