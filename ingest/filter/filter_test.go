package filter

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"cmem/ingest/home"
)

func settings(change func(*home.Settings)) home.Settings {
	s := home.Defaults()
	s.UserHome = "/home/dev"
	if change != nil {
		change(&s)
	}
	return s
}

func TestRules(t *testing.T) {
	paths := func(p ...string) []string { return p }
	for _, c := range []struct {
		name string
		e    Event
		with func(*home.Settings)
		want Rule
	}{
		{"plain work", Event{Tool: "Bash", Cwd: "/srv/x", Command: "make"}, nil, ""},
		{"inside the data folder", Event{Cwd: "/data/cmem/run"}, nil, OwnSession},
		{"beside the data folder", Event{Cwd: "/data/cmem2"}, nil, ""},
		{"started by cmem", Event{Cwd: "/x"}, func(s *home.Settings) { s.Internal = true }, OwnSession},
		{"tool hooks off", Event{Tool: "Bash"}, func(s *home.Settings) { s.ToolHooks = false }, ToolHooksOff},
		{"tool hooks off, a prompt", Event{IsPrompt: true, Prompt: "x"}, func(s *home.Settings) { s.ToolHooks = false }, ""},
		{"own tool", Event{Tool: "mcp__cmem__search"}, nil, OwnTool},
		{"own tool of a plugin", Event{Tool: "mcp__plugin_cmem_cmem__search"}, nil, OwnTool},
		{"claude-mem's", Event{Tool: "mcp__plugin_claude-mem_mcp-search__timeline"}, nil, OwnTool},
		{"own tool, one underscore", Event{Tool: "mcp_cmem_search"}, nil, OwnTool},
		{"another's tool", Event{Tool: "mcp__acme-stock__stock_lookup"}, nil, ""},
		{"a name that only begins alike", Event{Tool: "mcp__cmemory__search"}, nil, ""},
		{"own command", Event{Tool: "Bash", Command: "/usr/bin/cmem search x"}, nil, OwnTool},
		{"own command and more", Event{Tool: "Bash", Command: "cmem search x | head"}, nil, ""},
		{"skipped by default", Event{Tool: "TodoWrite"}, nil, SkippedTool},
		{"nothing skipped", Event{Tool: "TodoWrite"}, func(s *home.Settings) { s.SkipTools = []string{} }, ""},
		{"own list", Event{Tool: "Bash"}, func(s *home.Settings) { s.SkipTools = []string{"Bash"} }, SkippedTool},
		{"session memory", Event{Tool: "Edit", Paths: paths("/home/dev/.claude/projects/p/s/session-memory/summary.md")}, nil, SessionMemory},
		{"a project named so", Event{Tool: "Edit", Paths: paths("/home/dev/session-memory/a.go")}, nil, ""},
		{"notification", Event{IsPrompt: true, Prompt: "\n<task-notification>\n<id>1</id></task-notification>\n"}, nil, Protocol},
		{"notification and words", Event{IsPrompt: true, Prompt: "<task-notification>x</task-notification> and go on"}, nil, ""},
		{"two notifications around words", Event{IsPrompt: true, Prompt: "<task-notification>x</task-notification> words <task-notification>x</task-notification>"}, nil, ""},
		{"huge notification", Event{IsPrompt: true, Prompt: "<task-notification>" + strings.Repeat("x", maxNotification) + "</task-notification>"}, nil, ""},
		{"sub-agent kept", Event{Tool: "Bash", Agent: "a1"}, nil, ""},
		{"sub-agent skipped", Event{Tool: "Bash", Agent: "a1"}, func(s *home.Settings) { s.SkipSubagents = true }, Subagent},
	} {
		rule, skip := New(settings(c.with), "/data/cmem").Decide(c.e)
		if rule != c.want || skip != (c.want != "") {
			t.Errorf("%s: got %q %v, want %q", c.name, rule, skip, c.want)
		}
		if skip && rule.Version() < 1 {
			t.Errorf("%s: no version", c.name)
		}
	}
}

func TestExcluded(t *testing.T) {
	for _, c := range []struct {
		pattern string
		e       Event
		want    bool
	}{
		{"/home/dev/secret", Event{Cwd: "/home/dev/secret"}, true},
		{"/home/dev/secret", Event{Cwd: "/home/dev/secret/src/a"}, true},
		{"/home/dev/secret/", Event{Cwd: "/home/dev/secret/src"}, true},
		{"/home/dev/secret/**", Event{Cwd: "/home/dev/secret"}, true},
		{"/home/dev/secret", Event{Cwd: "/home/dev/secrets"}, false},
		{"~/secret", Event{Cwd: "/home/dev/secret/x"}, true},
		{"~/work/*/private", Event{Cwd: "/home/dev/work/a/private/x"}, true},
		{"~/work/*/private", Event{Cwd: "/home/dev/work/a/b/private"}, false},
		{"~/work/**/private", Event{Cwd: "/home/dev/work/a/b/private/c"}, true},
		{"/srv/app-?", Event{Cwd: "/srv/app-1/x"}, true},
		{"/srv/app-?", Event{Cwd: "/srv/app-12"}, false},
		{"secret", Event{Cwd: "/home/dev/a/secret/src"}, true},
		{"secret", Event{Cwd: "/srv/secret/src"}, true},
		{"dev", Event{Cwd: "/home/dev/other"}, false},
		{"secret", Event{Cwd: "/srv/x", GitRoot: "/srv/secret"}, true},
		{"acme-*", Event{Cwd: "/srv/x", ProjectName: "acme-api"}, true},
		{"acme", Event{Cwd: "/srv/x", ProjectName: "acme/hotfix"}, true},
		{"work/secret", Event{Cwd: "/home/dev/work/secret/x"}, true},
		{"work/secret", Event{Cwd: "/home/dev/work/secrets"}, false},
		{"~/secret", Event{Cwd: "/srv/x", Paths: []string{"/home/dev/secret/k.txt"}}, true},
		{"~/secret", Event{Cwd: "/home/dev/x", Paths: []string{"../secret/k.txt"}}, true},
		{"~/secret", Event{Cwd: "/home/dev/x/../secret"}, true},
		{`C:\work\secret`, Event{Cwd: `c:\Work\Secret\src`}, true},
		{`D:\other`, Event{Cwd: `c:\other`}, false},
		{"secret", Event{Cwd: `C:\Users\dev\secret\x`}, true},
		{"**", Event{Cwd: "/any/where"}, true},
		{"*", Event{Cwd: "/any/where"}, true},
		{"a[b", Event{Cwd: "/srv/a[b/c"}, true},
		{"", Event{Cwd: "/srv"}, false},
	} {
		f := New(settings(func(s *home.Settings) { s.ExcludedProjects = []string{c.pattern} }), "/data/cmem")
		rule, skip := f.Decide(c.e)
		if skip != c.want || skip && rule != Excluded {
			t.Errorf("%q on %+v: got %q %v, want %v", c.pattern, c.e, rule, skip, c.want)
		}
	}
}

func TestExcludedThroughALink(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	real, link := filepath.Join(dir, "real"), filepath.Join(dir, "link")
	if err := errorsOf(os.Mkdir(real, 0o755), os.Symlink(real, link)); err != nil {
		t.Fatal(err)
	}
	f := New(settings(func(s *home.Settings) { s.ExcludedProjects = []string{link} }), "/data/cmem")
	for _, cwd := range []string{real, link, filepath.Join(real, "sub")} {
		if _, skip := f.Decide(Event{Cwd: cwd}); !skip {
			t.Errorf("%s is kept", cwd)
		}
	}
}

func errorsOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// What match says is what the plain definition of the patterns says.
func TestMatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringMatching(`[ab/*?]{0,10}`).Draw(t, "pattern")
		s := rapid.StringMatching(`[ab/]{0,10}`).Draw(t, "s")
		if strings.Contains(pattern, "**/") || strings.Contains(pattern, "***") {
			return // "**/" may stand for nothing at the start: in TestExcluded
		}
		if got, want := match(pattern, s), slow(pattern, s); got != want {
			t.Fatalf("match(%q, %q) = %v, want %v", pattern, s, got, want)
		}
	})
}

func slow(pattern, s string) bool {
	switch {
	case pattern == "":
		return s == ""
	case strings.HasPrefix(pattern, "**"):
		return slow(pattern[2:], s) || s != "" && slow(pattern, s[1:])
	case pattern[0] == '*':
		return slow(pattern[1:], s) || s != "" && s[0] != '/' && slow(pattern, s[1:])
	}
	return s != "" && (pattern[0] == '?' && s[0] != '/' || pattern[0] == s[0]) && slow(pattern[1:], s[1:])
}

func TestSkippedHoldsNoText(t *testing.T) {
	e := Event{
		Host: "claude-code", Event: "PostToolUse", Session: "s1", Tool: "Bash", ToolID: "toolu_01", Command: "CANARY", Cwd: "/CANARY", GitRoot: "/CANARY",
		ProjectName: "CANARY", Paths: []string{"CANARY"}, Prompt: "CANARY", Time: time.Unix(1, 0).UTC(), Bytes: 7,
	}
	body := SkippedBody(e, Excluded)
	want := `{"host":"claude-code","event":"PostToolUse","session":"s1","tool":"Bash","tool_id":"toolu_01","time":"1970-01-01T00:00:01Z","bytes":7,"rule":"excluded","rule_version":1}`
	if string(body) != want {
		t.Errorf("got  %s\nwant %s", body, want)
	}
	e.Tool, e.Session, e.Time = "my CANARY words", strings.Repeat("x", 300), time.Unix(1e15, 0)
	body = SkippedBody(e, Excluded)
	if bytes.Contains(body, []byte("CANARY")) || !json.Valid(body) || len(body) > 300 {
		t.Errorf("got %s", body)
	}
	if SkippedID("a/b/c") != "skip/a/b/c" {
		t.Error(SkippedID("a/b/c"))
	}
}

func BenchmarkDecide(b *testing.B) {
	f := New(settings(func(s *home.Settings) { s.ExcludedProjects = []string{"~/secret", "work/**/private", "acme-*"} }), "/data/cmem")
	e := Event{Tool: "Edit", Cwd: "/home/dev/src/project/sub", GitRoot: "/home/dev/src/project", ProjectName: "project", Paths: []string{"/home/dev/src/project/a/b/c.go"}}
	for b.Loop() {
		f.Decide(e)
	}
}
