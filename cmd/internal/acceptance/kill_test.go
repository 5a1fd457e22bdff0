package acceptance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"cmem/ingest/home"
	"cmem/ingest/identity"
	"cmem/ingest/spool"
	"cmem/projections/records"
	"cmem/streams/envelope"
)

// programs are cmem and cmem-hook with failpoints compiled in.
type programs struct{ cmem, hook string }

var wasBuilt atomic.Bool

// built makes them once for all tests; TestMain removes the folder.
var built = sync.OnceValues(func() (programs, error) {
	dir, err := os.MkdirTemp("", "cmem-acceptance")
	if err != nil {
		return programs{}, err
	}
	p := programs{filepath.Join(dir, "cmem"), filepath.Join(dir, "cmem-hook")}
	out, err := exec.Command("go", "build", "-tags", "failpoint", "-o", dir+"/", "cmem/cmd/cmem", "cmem/cmd/cmem-hook").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("go build: %w\n%s", err, out)
	}
	return p, err
})

func build(t *testing.T) programs {
	t.Helper()
	wasBuilt.Store(true)
	p, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestMain(m *testing.M) {
	code := m.Run()
	if wasBuilt.Load() {
		if p, err := built(); err == nil {
			os.RemoveAll(filepath.Dir(p.cmem))
		}
	}
	os.Exit(code)
}

// farm is a data folder with real processes: a worker that is killed and hooks
// that go on.
type farm struct {
	t      *testing.T
	p      programs
	dir    string
	worker *exec.Cmd
	n      atomic.Int64
	mu     sync.Mutex
	sent   map[string]bool // tool ids handed off: the hook exited 0
	maybe  map[string]bool // the hook itself was killed
}

func newFarm(t *testing.T, p programs) *farm {
	f := &farm{t: t, p: p, dir: t.TempDir(), sent: map[string]bool{}, maybe: map[string]bool{}}
	t.Cleanup(f.kill)
	return f
}

func (f *farm) env(failpoints string) []string {
	return append(os.Environ(), "CMEM_DATA_DIR="+f.dir, "CMEM_AUTOSTART=false", "CMEM_RESERVE_MB=-1", "CMEM_TCP=false", "CMEM_FAILPOINTS="+failpoints)
}

func (f *farm) start(failpoints string) {
	f.t.Helper()
	f.worker = exec.Command(f.p.cmem, "serve")
	f.worker.Env = f.env(failpoints)
	if err := f.worker.Start(); err != nil {
		f.t.Fatal(err)
	}
}

func (f *farm) kill() {
	if f.worker != nil {
		f.worker.Process.Kill()
		f.worker.Wait()
		f.worker = nil
	}
}

// died waits for a worker that a failpoint kills; false if it did not happen.
func (f *farm) died() bool {
	done := make(chan error, 1)
	go func() { done <- f.worker.Wait() }()
	select {
	case <-done:
		killed := f.worker.ProcessState.Sys().(syscall.WaitStatus).Signaled()
		f.worker = nil
		return killed
	case <-time.After(20 * time.Second):
		f.worker.Process.Kill()
		<-done
		f.worker = nil
		return false
	}
}

func payload(id string) []byte {
	return fmt.Appendf(nil, `{"session_id":"8dbfb15e-e7bf-4702-b464-262cd159b026","hook_event_name":"PostToolUse","cwd":"/nowhere","tool_name":"Bash","tool_use_id":%q,"tool_input":{"command":"echo %s"},"tool_response":"%s"}`, id, id, id)
}

// hook sends one event of its own.
func (f *farm) hook(failpoints string) {
	id := fmt.Sprintf("toolu_01Kill%014d", f.n.Add(1))
	c := exec.Command(f.p.hook, "claude-code", "PostToolUse")
	c.Env, c.Stdin = f.env(failpoints), bytes.NewReader(payload(id))
	err := c.Run()
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		f.maybe[id] = true
	} else {
		f.sent[id] = true
	}
}

// check looks, with nothing running, whether each event is in the log once and
// known to the records.
func (f *farm) check() {
	f.t.Helper()
	f.kill()
	in := map[string]int{}
	c := exec.Command(f.p.cmem, "log", "export")
	c.Env = f.env("")
	var said bytes.Buffer
	c.Stderr = &said
	out, err := c.Output()
	if err != nil {
		f.t.Fatalf("log export: %v: %s", err, said.String())
	}
	for line := range bytes.Lines(out) {
		var e struct{ ID, Type string }
		if err := json.Unmarshal(line, &e); err != nil {
			f.t.Fatalf("%v in %s", err, line)
		}
		if i := strings.LastIndex(e.ID, "/toolu_"); i >= 0 && e.Type == envelope.HookReceived {
			in[e.ID[i+1:]]++
		}
	}
	for id := range f.sent {
		if in[id] != 1 {
			f.t.Errorf("%s was handed off and is in the log %d times", id, in[id])
		}
	}
	for id, n := range in {
		if n != 1 || !f.sent[id] && !f.maybe[id] {
			f.t.Errorf("%s is in the log %d times", id, n)
		}
	}
	h := &house{t: f.t, dir: home.Dir(f.dir)}
	h.open()
	defer h.close()
	var tools int
	h.records(func(s *records.Store) {
		all, err := s.Sessions(records.Filter{Limit: 10})
		if err != nil {
			f.t.Fatal(err)
		}
		for _, x := range all {
			tools += x.Counts.ToolUses + x.Counts.Orphans
		}
	})
	if tools != len(in) {
		f.t.Errorf("records know %d tool uses of %d", tools, len(in))
	}
	if left, _ := filepath.Glob(filepath.Join(string(h.dir.Spool()), "*.json")); len(left) > 0 {
		f.t.Errorf("%d files are left in the spool", len(left))
	}
}

// TestKillAtEachStepLosesNothingAndRepeatsNothing kills the hook or the worker
// at every named step from the spool through the log to the read models.
func TestKillAtEachStepLosesNothingAndRepeatsNothing(t *testing.T) {
	p := build(t)
	for _, name := range []string{"spool.created", "spool.written", "spool.synced", "spool.renamed", "spool.done"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFarm(t, p)
			f.hook("")
			f.hook(name + "=kill")
			f.hook("")
			if len(f.maybe) != 1 {
				t.Fatalf("%d hooks died, want 1", len(f.maybe))
			}
			f.check()
		})
	}
	for _, name := range []string{
		"open.unmarked", "open.netted", "append.send", "append.commit", "append.acked", "drain.appended",
		"apply.records", "applied.records", "apply.search", "applied.search", "apply.context", "applied.context",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFarm(t, p)
			for range waiting(name) {
				f.hook("")
			}
			f.start(name + "=kill")
			if !f.died() {
				t.Fatalf("the worker never came to %s", name)
			}
			f.hook("")
			f.start("")
			for range 3 {
				f.hook("")
			}
			f.check()
		})
	}
}

// waiting is how many events lie in the spool when the worker starts: many of
// them go into the log as one batch, few do not.
func waiting(name string) int {
	if name == "append.commit" {
		return 40
	}
	return 3
}

// TestKillUnderLoadLosesNothing kills the worker at 50 seeded moments while four
// processes send events, some of which were captured a month ago.
func TestKillUnderLoadLosesNothing(t *testing.T) {
	f := newFarm(t, build(t))
	key, err := identity.LoadKey(home.Dir(f.dir).IDKey())
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var hooks sync.WaitGroup
	for range 4 {
		hooks.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					f.hook("")
				}
			}
		})
	}
	rng := rand.New(rand.NewPCG(50, 0))
	kills := 50
	if raceEnabled || testing.Short() {
		kills = 10
	}
	for range kills {
		f.old(key)
		f.start("")
		time.Sleep(time.Duration(rng.IntN(250)) * time.Millisecond) // the moment, not a result
		f.kill()
	}
	close(stop)
	hooks.Wait()
	f.check()
	t.Logf("%d kills, %d events", kills, len(f.sent))
}

// old puts an event into the spool that was captured 30 days ago.
func (f *farm) old(key identity.Key) {
	f.t.Helper()
	id := fmt.Sprintf("toolu_01Kill%014d", f.n.Add(1))
	e := envelope.Envelope{
		ID: identity.HookID("claude-code", "PostToolUse", id), Type: envelope.HookReceived, Source: "claude-code",
		Subject: "8dbfb15e-e7bf-4702-b464-262cd159b026", Event: "PostToolUse", Time: time.Now().AddDate(0, 0, -30),
		Digest: key.Digest(payload(id)), Body: payload(id),
	}
	if _, err := spool.Put(home.Dir(f.dir).Spool(), e); err != nil {
		f.t.Fatal(err)
	}
	f.mu.Lock()
	f.sent[id] = true
	f.mu.Unlock()
}
