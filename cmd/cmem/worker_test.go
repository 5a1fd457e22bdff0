package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"cmem/cmd/internal/api"
	"cmem/streams/durable"
)

// listen takes connections and never answers; it gives its port.
func listen(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().(*net.TCPAddr).Port
}

func holdLock(t *testing.T, path string) (release func()) {
	t.Helper()
	lock, err := durable.Acquire(path)
	if err != nil {
		t.Fatal(err)
	}
	return func() { _ = lock.Release() }
}

func TestTwoStartsAtOnceAreOneWorker(t *testing.T) {
	p := newPlace(t)
	var starting sync.WaitGroup
	pids := make([]int, 4)
	for i := range pids {
		starting.Go(func() {
			var out struct{ Worker api.Identity }
			r := p.try("start", "--json")
			if r.code != 0 || json.Unmarshal([]byte(r.out), &out) != nil {
				t.Errorf("start: %+v", r)
			}
			pids[i] = out.Worker.PID
		})
	}
	starting.Wait()
	for _, pid := range pids {
		if pid == 0 || pid != pids[0] {
			t.Fatalf("workers %v, want one", pids)
		}
	}
}

func TestKilledWorkerStartsAgain(t *testing.T) {
	p := newPlace(t)
	p.run("start")
	p.session("a-print")
	p.kill() // its socket and state.json stay
	p.run("start")
	p.until("the session is there", func() bool { return p.stats().Database.Prompts == 3 })
	s := p.stats()
	if s.Database.ToolUses != 17 || !s.Log.Unclean {
		t.Errorf("after a kill: %+v, unclean %v", s.Database, s.Log.Unclean)
	}
	p.run("rebuild", "--verify")
}

func TestFoldersThatAreNotOurs(t *testing.T) {
	foreign := newPlace(t)
	if err := os.MkdirAll(foreign.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(foreign.dir, "thesis.tex"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	newer := newPlace(t)
	newer.run("status")
	identity := filepath.Join(newer.dir, "log/identity.json")
	b, err := os.ReadFile(identity)
	if err != nil {
		t.Fatal(err)
	}
	var id map[string]any
	if err := json.Unmarshal(b, &id); err != nil {
		t.Fatal(err)
	}
	raised := false
	for _, key := range []string{"version", "format"} {
		if n, ok := id[key].(float64); ok {
			id[key], raised = n+1000, true
		}
	}
	if b, err = json.Marshal(id); err != nil || !raised {
		t.Fatalf("identity.json is %v: %v", id, err)
	}
	if err := os.WriteFile(identity, b, 0o600); err != nil {
		t.Fatal(err)
	}
	broken := newPlace(t)
	broken.run("status")
	if err := os.WriteFile(filepath.Join(broken.dir, "config.json"), []byte("{\n\"port\": true}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		p    *place
		code int
		says string
	}{
		{"foreign", foreign, exitForeign, "thesis.tex"}, {"newer", newer, exitNewer, "newer version"}, {"config", broken, exitConfig, "config.json:2: port"},
	} {
		for _, args := range [][]string{{"status"}, {"serve"}, {"start"}, {"search", "x"}} {
			r := c.p.try(args...)
			if r.code != c.code || !strings.Contains(r.err, c.says) || strings.Count(r.err, "\n") != 1 || r.out != "" {
				t.Errorf("%s: cmem %v: %+v", c.name, args, r)
			}
		}
	}
	if files, _ := os.ReadDir(foreign.dir); len(files) != 1 {
		t.Errorf("something was made in a foreign folder: %v", files)
	}
	if info, _ := os.Stat(foreign.dir); info.Mode().Perm() != 0o755 {
		t.Errorf("a foreign folder's mode became %v", info.Mode())
	}
}

// TestANewVersionReplacesTheOldOnce builds a second version and starts both in
// turn.
func TestANewVersionReplacesTheOldOnce(t *testing.T) {
	p := newPlace(t)
	other := filepath.Join(t.TempDir(), "cmem")
	build := exec.Command("go", "build", "-ldflags", "-X cmem/cmd/internal/config.Version=v9.9", "-o", other, "cmem/cmd/cmem")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	start := func(program string) api.Identity {
		t.Helper()
		c := exec.Command(program, "start", "--json")
		c.Env, c.Dir = p.env, p.cwd
		out, err := c.Output()
		var a struct{ Worker api.Identity }
		if err != nil || json.Unmarshal(out, &a) != nil {
			t.Fatalf("start: %v, %s", err, out)
		}
		return a.Worker
	}
	ours := filepath.Join(bin, "cmem")
	old := start(ours)
	newer := start(other)
	if newer.Version != "v9.9" || newer.PID == old.PID {
		t.Fatalf("%+v was not replaced: %+v", old, newer)
	}
	if back := start(ours); back.Version != old.Version {
		t.Errorf("the other way round once: %+v", back)
	}
	if again := start(other); again.Version != old.Version {
		t.Errorf("the same pair was replaced twice: %+v", again)
	}
}

func TestStopUnderLoadLosesNothing(t *testing.T) {
	p := newPlace(t)
	p.run("start")
	const hooks, each = 4, 25
	var publishing sync.WaitGroup
	for h := range hooks {
		publishing.Go(func() {
			for n := range each {
				p.hook("PostToolUse", payload(fmt.Sprintf("load-%d", h), n))
			}
		})
	}
	p.until("some are in", func() bool { return p.stats().Log.Head > 5 })
	for range 3 {
		p.run("stop")
		p.run("start")
	}
	publishing.Wait()
	p.until("all are in", func() bool { return p.stats().Spool.Waiting == 0 })
	p.run("stop")
	seen := map[string]bool{}
	for _, e := range p.events() {
		if e.Type == "hook.received" {
			if seen[e.ID] {
				t.Errorf("%s is there twice", e.ID)
			}
			seen[e.ID] = true
		}
	}
	if len(seen) != hooks*each {
		t.Errorf("%d events, want %d", len(seen), hooks*each)
	}
	if p.stats().Log.Unclean {
		t.Error("a stop was not a clean one")
	}
}

func TestSignalsStopTheWorkerInOrder(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		p := newPlace(t)
		serve := p.command("cmem", "serve")
		if err := serve.Start(); err != nil {
			t.Fatal(err)
		}
		p.until("it is ready", func() bool { _, err := os.Stat(filepath.Join(p.dir, "run/state.json")); return err == nil })
		p.run("start") // waits for ready
		p.hook("UserPromptSubmit", prompt("signal-1", "before the signal"))
		if err := serve.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		if err := serve.Wait(); err != nil {
			t.Errorf("%v: %v", sig, err)
		}
		for _, gone := range []string{"run/state.json", "run/cmem.sock"} {
			if _, err := os.Stat(filepath.Join(p.dir, gone)); err == nil {
				t.Errorf("%v: %s is still there", sig, gone)
			}
		}
		if s := p.stats(); s.Log.Unclean || s.Log.Head < 1 {
			t.Errorf("%v: %+v", sig, s.Log)
		}
	}
}
