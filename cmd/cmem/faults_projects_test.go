package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"cmem/cmd/internal/api"
	"cmem/cmd/internal/client"
	"cmem/ingest/home"
)

// everyParameterCounts: each documented parameter of each interface changes the
// result; and a project that is nobody's is an error, not everybody's memories.
func everyParameterCounts(t *testing.T) {
	p := newPlace(t)
	p.hookAt(time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC), "UserPromptSubmit", prompt("params-1", "walrus in the morning"))
	p.hookAt(time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC), "UserPromptSubmit", prompt("params-2", "walrus at noon, walrus at night"))
	p.session("a-print")
	for _, project := range []string{"alpha", "beta"} {
		p.run("save", "--project", project, "--title", "walrus "+project, "a walrus note of "+project)
	}
	p.run("start")
	p.until("everything is found", func() bool {
		for _, m := range p.stats().Models {
			if m.Behind > 0 {
				return false
			}
		}
		return true
	})
	c, err := client.Dial(t.Context(), home.Dir(p.dir))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	get := func(route string, q url.Values) string {
		t.Helper()
		var raw json.RawMessage
		if err := c.Get(t.Context(), route, q, &raw); err != nil {
			return "error: " + err.Error()
		}
		return string(raw)
	}
	base := url.Values{"query": {"walrus"}, "format": {"json"}}
	for _, change := range []string{
		"query=docstring", "type=prompts", "obs_type=decision", "type=bugfix", "concepts=what-changed", "concept=what-changed", "files=stock.py", "filePath=stock.py",
		"project=alpha", "project=beta", "platformSource=codex", "platform_source=codex", "session=params-1", "limit=1", "offset=1",
		"dateStart=2026-03-02", "dateEnd=2026-03-01", "date_start=2026-03-02", "date_end=2026-03-01", "date=2026-03-01", "orderBy=date_asc", "format=text",
	} {
		q := cloned(base, change)
		if get("/api/search", q) == get("/api/search", base) {
			t.Errorf("/api/search: %s changes nothing", change)
		}
	}
	files := url.Values{"files": {"inventory"}, "format": {"json"}}
	if get("/api/search", files) == get("/api/search", cloned(files, "isFolder=true")) {
		t.Error("/api/search: isFolder changes nothing")
	}
	var found api.SearchAnswer
	if err := c.Get(t.Context(), "/api/search", cloned(base, "type=observations"), &found); err != nil || len(found.Observations) < 2 {
		t.Fatalf("the notes are not found: %+v, %v", found, err)
	}
	anchor := url.Values{"anchor": {fmt.Sprint(found.Observations[0].ID)}, "format": {"json"}}
	for _, change := range []string{"depth_before=0", "depth_before=1", "project=beta", "format=text", "session=params-1", "platformSource=codex", fmt.Sprintf("anchor=%d", found.Observations[1].ID)} {
		if get("/api/timeline", cloned(anchor, change)) == get("/api/timeline", anchor) {
			t.Errorf("/api/timeline: %s changes nothing", change)
		}
	}
	for _, route := range []string{"/api/observations", "/api/summaries", "/api/prompts"} {
		for _, change := range []string{"limit=1", "offset=1", "project=alpha", "platformSource=codex"} {
			if get(route, cloned(nil, change)) == get(route, nil) {
				t.Errorf("%s: %s changes nothing", route, change)
			}
		}
	}
	for _, route := range []string{"/api/search", "/api/timeline", "/api/observations", "/api/prompts"} {
		if got := get(route, cloned(cloned(base, "project=nobody's"), "")); !strings.Contains(got, "no project is called") {
			t.Errorf("%s: a project that is not there gives %s", route, got)
		}
	}
	for _, args := range [][]string{{"search", "walrus", "--project", "alpha"}, {"search", "--project", "alpha"}, {"timeline", "--query", "walrus", "--project", "alpha"}} {
		if out := p.run(args...); !strings.Contains(out, "walrus alpha") || strings.Contains(out, "walrus beta") {
			t.Errorf("cmem %v: %s", args, out)
		}
	}
}

// aSessionIsMovedForGood: a move is an event, so the rebuilt models say the same
// as those that saw it happen.
func aSessionIsMovedForGood(t *testing.T) {
	p := newPlace(t)
	p.session("a-print")
	p.run("save", "--project", "warehouse", "a note that makes the project")
	p.run("start")
	session := "11111111-2222-4333-8444-555555555501"
	p.until("the session is there", func() bool { return p.stats().Database.Prompts == 3 })
	p.run("project", "move", "--session", session, "warehouse")
	where := func() string {
		var all struct {
			Items []struct{ Project, Title string }
		}
		c, err := client.Dial(t.Context(), home.Dir(p.dir))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := c.Get(t.Context(), "/api/observations", url.Values{"project": {"warehouse"}, "limit": {"100"}}, &all); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(all)
	}
	moved := where()
	if strings.Count(moved, "warehouse") < 4 || !strings.Contains(moved, "stock.py") {
		t.Errorf("after the move: %s", moved)
	}
	p.until("search and context follow", func() bool {
		return strings.Contains(p.run("search", "docstring", "--project", "warehouse"), "Found") &&
			strings.Contains(p.run("context", "--project", "warehouse"), "stock.py")
	})
	if out := p.run("search", "docstring", "--project", "acme-inventory"); !strings.HasPrefix(out, "No results") {
		t.Errorf("the old project still has it: %s", out)
	}
	p.run("rebuild", "--verify")
	if again := where(); again != moved {
		t.Errorf("rebuilt: %s\nmoved: %s", again, moved)
	}
	if out := p.run("project", "move", "--session", session, "warehouse"); !strings.Contains(out, "already") {
		t.Errorf("moved again: %s", out)
	}
}

func cloned(q url.Values, change string) url.Values {
	out := url.Values{}
	for k, v := range q {
		out[k] = v
	}
	if k, v, ok := strings.Cut(change, "="); ok {
		out.Set(k, v)
	}
	return out
}
