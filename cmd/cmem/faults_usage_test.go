package main

import (
	"slices"
	"strings"
	"testing"
)

func mistakesAreOneLine(t *testing.T) {
	p := newPlace(t)
	for _, args := range [][]string{
		{"hook"}, {"hook", "--no-such-flag"}, {"hook", "nobody", "Stop"}, {"hook", "claude-code", "Stop", "--x", "y"},
		{"--data", "/proc/no/such/place", "hook", "claude-code", "Stop"}, {"hook", "--data"},
	} {
		for _, name := range []string{"cmem", "cmem-hook"} {
			own := args
			if name == "cmem-hook" {
				own = slices.DeleteFunc(slices.Clone(args), func(a string) bool { return a == "hook" })
			}
			r := p.with([]byte(`{"session_id":"s","hook_event_name":"Stop"}`), name, own...)
			if r.code != 0 || r.out != "" {
				t.Errorf("%s %v: exit code %d, stdout %q", name, own, r.code, r.out)
			}
		}
	}
	for want, list := range map[int][][]string{
		exitUsage: {
			{}, {"nonsense"}, {"--nonsense"}, {"search"}, {"search", "x", "--limit", "many"}, {"search", "x", "--limit", "-1"}, {"search", "x", "--from", "never"},
			{"show"}, {"show", "1", "2"}, {"log"}, {"log", "nonsense"}, {"replay"}, {"replay", "--observe", "all", "--transcript", "/dev/null"},
			{"rebuild", "--only", "everything"}, {"timeline"}, {"timeline", "1", "--query", "x"}, {"save"}, {"save", ""}, {"project", "move"}, {"project", "move", "onlyone"},
		},
		exitNotFound: {{"show", "12"}, {"show", "S12"}, {"show", "P7"}, {"show", "no-such-session"}, {"search", "x", "--project", "nobodys"}, {"replay", "--transcript", "/no/such/file"}, {"log", "verify", "/no/such/file"}},
	} {
		for _, args := range list {
			r := p.try(args...)
			if r.code != want || r.out != "" || strings.Count(r.err, "\n") != 1 || strings.Contains(r.err, "Usage") {
				t.Errorf("cmem %q: exit code %d, want %d; stdout %q, stderr %q", args, r.code, want, r.out, r.err)
			}
		}
	}
}
