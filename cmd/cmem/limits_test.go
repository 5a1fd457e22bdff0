package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cmem/cmd/internal/worker"
)

// oneAnswerToWhoServes: the state file names a port where somebody else listens; all
// commands find the worker that serves, and say the same of it.
func oneAnswerToWhoServes(t *testing.T) {
	p := newPlace(t)
	p.run("start")
	pid := p.stats().Worker.PID
	path := filepath.Join(p.dir, "run/state.json")
	data, err := os.ReadFile(path)
	var state worker.State
	if err == nil {
		err = json.Unmarshal(data, &state)
	}
	if err != nil {
		t.Fatal(err)
	}
	state.Port = listen(t)
	if data, err = json.Marshal(state); err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("process %d", pid)
	for _, args := range [][]string{{"status"}, {"start"}} {
		if out := p.run(args...); !strings.Contains(out, want) {
			t.Errorf("cmem %s: %q, want %s", args[0], out, want)
		}
	}
	p.hook("UserPromptSubmit", prompt("port-3", "who serves"))
	p.until("the event is in the log", func() bool { return p.stats().Log.Head >= 1 })
	p.run("stop")
	p.awaitGone(pid)
}

// replayed is a place with all recorded sessions, and no worker.
func replayed(t *testing.T) *place {
	t.Helper()
	p := newPlace(t)
	dir, err := filepath.Abs(testdata + "/transcripts")
	if err != nil {
		t.Fatal(err)
	}
	p.run("replay", "--transcript", dir)
	return p
}

func fewOpenFilesAreEnough(t *testing.T) {
	p := replayed(t)
	c := exec.Command("sh", "-c", `ulimit -n 256 && exec "$0" rebuild --verify`, filepath.Join(bin, "cmem"))
	c.Env, c.Dir = p.env, p.cwd
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func littleMemoryIsEnough(t *testing.T) {
	p := replayed(t)
	p.env = append(p.env, "GOMEMLIMIT=100MiB")
	p.run("rebuild", "--verify")
}

// nothingIsKeptForWhatIsOff: without an observer nothing waits for one.
func nothingIsKeptForWhatIsOff(t *testing.T) {
	p := newPlace(t)
	p.env = append(p.env, "CMEM_OBSERVE=false")
	p.run("start")
	const n = 300
	for i := range n {
		p.hook("PostToolUse", payload("grow-2", i))
	}
	p.until("all are in the log", func() bool { return p.stats().Log.Head >= n })
	s := p.stats()
	if s.Log.Head != n || s.Spool.Waiting > 0 || s.Database.Observations > 0 {
		t.Errorf("%+v", s)
	}
	for _, e := range p.events() {
		if e.Type != "hook.received" {
			t.Errorf("%s is in the log", e.Type)
		}
	}
}
