package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cmem/cmd/internal/api"
	"cmem/replay"
)

func workerKilledBetweenPublishes(t *testing.T) {
	p := newPlace(t)
	p.run("start")
	for n := range 3 {
		p.hook("PostToolUse", payload("lost-1", n))
	}
	p.kill()
	for n := range 5 {
		p.hook("PostToolUse", payload("lost-1", 3+n))
	}
	p.run("start")
	p.until("8 events are in the log", func() bool { return p.stats().Log.Head >= 8 })
	seen := map[string]int{}
	for _, e := range p.events() {
		seen[e.ID]++
	}
	for n := range 8 {
		id := fmt.Sprintf("claude-code/PostToolUse/toolu_lost1%06d", n)
		if seen[id] != 1 {
			t.Errorf("%s is %d times in the log", id, seen[id])
		}
	}
}

func savedTwice(t *testing.T) {
	p := newPlace(t)
	save := func(text, project string) (a api.SaveAnswer) {
		t.Helper()
		p.read(&a, "save", "--project", project, text)
		return a
	}
	first := save("bbolt waits without a timeout", "alpha")
	second := save("  bbolt waits without a timeout\n", "alpha")
	if second.ID != first.ID || !second.Existing || first.Existing {
		t.Errorf("the same note again: got %+v after %+v", second, first)
	}
	if other := save("bbolt waits without a timeout", "beta"); other.ID == first.ID || other.Existing {
		t.Errorf("another project's note is %+v, the first %+v", other, first)
	}
	p.run("start")
	if third := save("bbolt waits without a timeout", "alpha"); third.ID != first.ID {
		t.Errorf("through the worker: got %+v", third)
	}
	if n := p.stats().Database.Observations; n != 2 {
		t.Errorf("there are %d observations, want 2", n)
	}
}

func transcriptsMayGo(t *testing.T) {
	p := newPlace(t)
	file := filepath.Join(p.cwd, "g05-claude-code.jsonl")
	b, err := os.ReadFile(filepath.Join(testdata, "transcripts/claude-code/g05-claude-code.jsonl"))
	if err == nil {
		err = os.WriteFile(file, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	var r replay.Result
	p.read(&r, "replay", "--transcript", file)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	before := p.stats().Database
	if out := p.run("rebuild", "--verify"); strings.Count(out, "equal") != 3 {
		t.Errorf("rebuild --verify: %s", out)
	}
	if err := os.RemoveAll(filepath.Join(p.dir, "read")); err != nil {
		t.Fatal(err)
	}
	after := p.stats().Database
	before.Size, after.Size = 0, 0
	if fmt.Sprint(deref(before)) != fmt.Sprint(deref(after)) || after.Prompts != r.Facts.Prompts || after.ToolUses == 0 {
		t.Errorf("from the log alone: %+v, before %+v", deref(after), deref(before))
	}
}

func deref(d api.DatabaseStats) any {
	first := ""
	if d.FirstObservationAt != nil {
		first = *d.FirstObservationAt
	}
	d.FirstObservationAt = nil
	return []any{d, first}
}
