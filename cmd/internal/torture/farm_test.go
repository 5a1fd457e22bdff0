//go:build failpoint && linux

package torture

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"cmem/ingest/home"
	"cmem/streams/durable"
)

// programs are cmem and cmem-hook with failpoints compiled in.
type programs struct{ cmem, hook string }

// buildInto makes the programs in dir; overlay is a file for go build, or "".
func buildInto(dir, overlay string) (programs, error) {
	p := programs{filepath.Join(dir, "cmem"), filepath.Join(dir, "cmem-hook")}
	args := []string{"build", "-tags", "failpoint", "-o", dir + "/"}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	c := exec.Command("go", append(args, "cmem/cmd/cmem", "cmem/cmd/cmem-hook")...)
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		return p, fmt.Errorf("go build: %w\n%s", err, out)
	}
	return p, nil
}

// patience is how long anything may take on a busy machine.
const patience = 30 * time.Second

// farm is a data folder with real processes: one worker at a time, and hooks. Its
// methods are for one goroutine, but for hook.
type farm struct {
	p      programs
	dir    string
	extra  []string // of the processes' environment
	worker *exec.Cmd
	ended  chan struct{} // closed when the worker is gone
	said   told          // where acknowledged events are told, see driver
	n      atomic.Int64
	mu     sync.Mutex
	sent   []string // tool ids handed off: the hook exited 0
	maybe  []string // the hook itself died
	failed []string // what the programs wrote to stderr
}

// told is told of events that were handed off.
type told func(id string) error

func newFarm(p programs, dir string) *farm { return &farm{p: p, dir: dir} }

func (f *farm) env(failpoints string) []string {
	return append(append(os.Environ(), "CMEM_DATA_DIR="+f.dir, "CMEM_AUTOSTART=false", "CMEM_RESERVE_MB=-1",
		"CMEM_TCP=false", "CMEM_FAILPOINTS="+failpoints), f.extra...)
}

func (f *farm) home() home.Dir { return home.Dir(f.dir) }

// start starts a worker; it does not wait for it.
func (f *farm) start(failpoints string) error {
	return f.startAs(f.p.cmem, failpoints, "serve")
}

func (f *farm) startAs(program, failpoints string, args ...string) error {
	f.worker = exec.Command(program, args...)
	f.worker.Env = f.env(failpoints)
	if err := f.worker.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	f.ended = ended
	go func(c *exec.Cmd) { c.Wait(); close(ended) }(f.worker)
	return nil
}

// kill ends the worker as kill -9 does, if there is one.
func (f *farm) kill() {
	if f.worker == nil {
		return
	}
	f.worker.Process.Kill()
	<-f.ended
	f.worker = nil
}

// gone says whether the worker ended by itself, and whether a signal killed it.
func (f *farm) gone() (gone, killed bool) {
	if f.worker == nil {
		return true, false
	}
	select {
	case <-f.ended:
		killed = f.worker.ProcessState.Sys().(syscall.WaitStatus).Signaled()
		return true, killed
	default:
		return false, false
	}
}

// until waits for something to become true.
func until(what string, is func() bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited %v in vain: %s", patience, what)
		case <-tick.C:
		}
	}
	return nil
}

// entries are what waits in the spool.
func (f *farm) entries() int {
	return len(waiting(f.home()))
}

// drained waits until the worker has taken everything in; false if it ended.
func (f *farm) drained() (bool, error) {
	over := false
	err := until("the spool is empty", func() bool {
		over, _ = f.gone()
		return over || f.entries() == 0
	})
	return !over, err
}

// stop ends the worker in order.
func (f *farm) stop() error {
	if err := f.run("", "stop"); err != nil {
		return err
	}
	<-f.ended
	f.worker = nil
	return nil
}

// run runs cmem with failpoints and says how it ended.
func (f *farm) run(failpoints string, args ...string) error {
	c := exec.Command(f.p.cmem, args...)
	c.Env = f.env(failpoints)
	out, err := c.CombinedOutput()
	if err != nil {
		return fmt.Errorf("cmem %v: %w: %s", args, err, out)
	}
	return nil
}

const session = "8dbfb15e-e7bf-4702-b464-262cd159b026"

// payload is one tool use; with size > 0 its answer has so many random bytes.
func payload(id string, size int) []byte {
	answer := id
	if size > 0 {
		random := make([]byte, size)
		rng := rand.New(rand.NewPCG(uint64(size), 1))
		for i := range random {
			random[i] = byte(rng.Uint32())
		}
		answer = base64.StdEncoding.EncodeToString(random)
	}
	return fmt.Appendf(nil, `{"session_id":%q,"hook_event_name":"PostToolUse","cwd":"/nowhere","tool_name":"Bash","tool_use_id":%q,"tool_input":{"command":"echo %s"},"tool_response":%q}`, session, id, id, answer)
}

// nextID names an event of its own.
func (f *farm) nextID() string { return fmt.Sprintf("toolu_01Tort%014d", f.n.Add(1)) }

// hook sends one event, and notes whether it was handed off.
func (f *farm) hook(failpoints string) error { return f.hookOf(failpoints, 0) }

func (f *farm) hookOf(failpoints string, size int) error {
	id := f.nextID()
	return f.send(failpoints, id, "PostToolUse", payload(id, size))
}

func (f *farm) send(failpoints, id, event string, text []byte) error {
	c := exec.Command(f.p.hook, "claude-code", event)
	c.Env, c.Stdin = f.env(failpoints), bytes.NewReader(text)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	err := c.Run()
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := strings.TrimSpace(stderr.String()); s != "" {
		f.failed = append(f.failed, s)
	}
	var exit *exec.ExitError
	switch {
	case err == nil && strings.Contains(failpoints, "=error"):
		f.maybe = append(f.maybe, id) // refused, and it said so: exit 0 always
	case err == nil:
		f.sent = append(f.sent, id)
		if f.said != nil {
			return f.said(id)
		}
	case errors.As(err, &exit) && exit.ExitCode() < 0:
		f.maybe = append(f.maybe, id)
	default:
		return fmt.Errorf("the hook ended with %w: %s", err, stderr.String())
	}
	return nil
}

// turn sends a prompt, an edit and the end, so that there is something to tell.
func (f *farm) turn() error {
	id := f.nextID()
	n := f.n.Load()
	edit := fmt.Appendf(nil, `{"session_id":%q,"hook_event_name":"PostToolUse","cwd":"/nowhere","tool_name":"Write","tool_use_id":%q,"tool_input":{"file_path":"/nowhere/thing%d.go","content":"package thing"},"tool_response":{"filePath":"/nowhere/thing%d.go"}}`, session, id, n, n)
	for i, e := range [][2]string{
		{"UserPromptSubmit", fmt.Sprintf(`{"session_id":%q,"hook_event_name":"UserPromptSubmit","cwd":"/nowhere","prompt":"make thing %d work"}`, session, n)},
		{"Stop", fmt.Sprintf(`{"session_id":%q,"hook_event_name":"Stop","cwd":"/nowhere"}`, session)},
	} {
		c := exec.Command(f.p.hook, "claude-code", e[0])
		c.Env, c.Stdin = f.env(""), strings.NewReader(e[1])
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", e[0], err, out)
		}
		if i == 0 {
			if err := f.send("", id, "PostToolUse", edit); err != nil {
				return err
			}
		}
	}
	return nil
}

// expected are what a check needs of the farm.
func (f *farm) expected() expectation {
	f.mu.Lock()
	defer f.mu.Unlock()
	return expectation{sent: slices.Clone(f.sent), maybe: slices.Clone(f.maybe)}
}

// runFor is run for a program that may not end by itself.
func (f *farm) runFor(most time.Duration, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	c := exec.CommandContext(ctx, f.p.cmem, args...)
	c.Env = f.env("")
	out, err := c.CombinedOutput()
	if ctx.Err() != nil {
		return nil // it ran until it was killed
	}
	if err != nil {
		return fmt.Errorf("cmem %v: %w: %s", args, err, out)
	}
	return nil
}

// hold moves what waits in the spool to where it is held, durably.
func (f *farm) hold() error {
	if err := os.MkdirAll(f.home().Held(), 0o700); err != nil {
		return err
	}
	for _, path := range waiting(f.home()) {
		if err := os.Rename(path, filepath.Join(f.home().Held(), filepath.Base(path))); err != nil {
			return err
		}
	}
	return errors.Join(durable.SyncDir(f.home().Held()), durable.SyncDir(f.home().Spool()))
}
