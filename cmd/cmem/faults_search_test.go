package main

import (
	"bufio"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cmem/cmd/internal/api"
	"cmem/cmd/internal/client"
	"cmem/ingest/home"
)

func eveningWorkIsFoundUnderItsDay(t *testing.T) {
	p := newPlace(t)
	f, err := os.Open(filepath.Join(testdata, "faults/inputs/time-01.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var at struct {
			Timestamp time.Time `json:"timestamp"`
		}
		if err := json.Unmarshal(lines.Bytes(), &at); err != nil {
			t.Fatal(err)
		}
		p.hookAt(at.Timestamp, "UserPromptSubmit", lines.Bytes())
	}
	// 2026-01-25T04:08Z is the evening of the 24th in Los Angeles only.
	for _, c := range []struct{ zone, date, evening, morning string }{
		{"America/Los_Angeles", "2026-01-24", "yes", "no"},
		{"America/Los_Angeles", "2026-01-25", "no", "yes"},
		{"UTC", "2026-01-25", "yes", "yes"},
		{"UTC", "2026-01-24", "no", "no"},
		{"Europe/Berlin", "2026-01-25", "yes", "yes"},
		{"Asia/Tokyo", "2026-01-25", "yes", "no"},
		{"Asia/Tokyo", "2026-01-26", "no", "yes"},
	} {
		p.env[len(p.env)-1] = "TZ=" + c.zone
		for _, args := range [][]string{{"search", "work", "--date", c.date}, {"search", "--date", c.date}, {"search", "work", "--from", c.date, "--to", c.date}} {
			out := p.run(args...)
			for text, want := range map[string]string{"evening work": c.evening, "morning work": c.morning} {
				if strings.Contains(out, text) != (want == "yes") {
					t.Errorf("TZ=%s cmem %v: %q found, want %s:\n%s", c.zone, args, text, want, out)
				}
			}
		}
	}
	if r := p.try("search", "work", "--date", "someday"); r.code != exitUsage || !strings.Contains(r.err, "is not a date") {
		t.Errorf("a garbage date: %+v", r)
	}
}

func brokenSyntaxIsWords(t *testing.T) {
	p := newPlace(t)
	p.hook("UserPromptSubmit", prompt("syntax-1", "the unclosed title AND foo"))
	p.run("start")
	c, err := client.Dial(t.Context(), home.Dir(p.dir))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	f, err := os.Open(filepath.Join(testdata, "faults/inputs/search-08.queries.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	asked := 0
	for lines := bufio.NewScanner(f); lines.Scan(); asked++ {
		var q struct{ Q string }
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			t.Fatal(err)
		}
		var a api.SearchAnswer
		if err := c.Get(t.Context(), "/api/search", url.Values{"query": {q.Q}, "format": {"json"}}, &a); err != nil {
			t.Errorf("%q: %v", q.Q, err)
		}
		if a.InterpretedAs == "" {
			t.Errorf("%q: the answer does not say how it was read", q.Q)
		}
	}
	if asked < 10 {
		t.Fatalf("only %d queries", asked)
	}
	p.until(`"unclosed is found`, func() bool { return strings.Contains(p.run("search", `"unclosed`), "Found 1") })
}
