package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"cmem/cmd/internal/api"
)

// TestAnIndexCutUnderAWorkerHealsByItself cuts the files that the index of a running
// worker has mapped into memory. What reads them in goroutines of the index's own
// may end the process, which nobody can guard; then the next start finds the damage
// before it maps anything, builds the index again and finds all there was. It never
// takes more than that one start.
func TestAnIndexCutUnderAWorkerHealsByItself(t *testing.T) {
	p := newPlace(t)
	p.run("start")
	for n := range 8 {
		p.hook("UserPromptSubmit", prompt("walrus", fmt.Sprint("seawalrus ", n)))
	}
	// A command asks the worker, or where none lives any more opens the folder.
	finds := func() bool {
		r := p.try("search", "--json", "seawalrus")
		var a api.SearchAnswer
		return r.code == 0 && json.Unmarshal([]byte(r.out), &a) == nil && a.TotalResults == 8
	}
	p.until("the prompts are found", finds)
	pid := p.stats().Worker.PID
	segments, err := filepath.Glob(filepath.Join(p.dir, "read/search/store-*/*.zap"))
	if err != nil || len(segments) == 0 {
		t.Fatal("no segments", err)
	}
	for _, s := range segments {
		if err := os.Truncate(s, 0); err != nil {
			t.Fatal(err)
		}
	}
	// A new event makes the index read, and write anew, what is gone.
	p.hook("UserPromptSubmit", prompt("otter", "seaotter"))
	p.try("search", "seawalrus") // whatever it says
	p.run("start")               // what a hook does that finds no worker
	p.until("the prompts are found again", finds)
	s := p.stats()
	for _, m := range s.Models {
		if m.State != "ready" {
			t.Errorf("%+v", m)
		}
	}
	t.Logf("the worker of before lives: %v", s.Worker.PID == pid)
	p.run("stop")
	p.run("start")
	if after := p.stats(); !finds() || after.Database.Prompts != 9 {
		t.Errorf("after one more start: %+v", after.Database)
	}
}
