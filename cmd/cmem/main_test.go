package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"cmem/cmd/internal/api"
	"cmem/cmd/internal/client"
	"cmem/ingest/home"
	"cmem/ingest/hook"
)

// The tests run the built programs, as a person and a host do.
var bin string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "cmem-bin-")
	if err == nil {
		build := exec.Command("go", "build", "-o", dir+string(filepath.Separator), "cmem/cmd/cmem", "cmem/cmd/cmem-hook")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		var out []byte
		if out, err = build.CombinedOutput(); err != nil {
			err = fmt.Errorf("%w\n%s", err, out)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "build:", err)
		os.Exit(1)
	}
	bin = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

const testdata = "../../testdata"

// place is a data folder with what runs on it.
type place struct {
	t   testing.TB
	dir string
	env []string
	cwd string
}

// newPlace makes a data folder whose path is short enough for a socket. What
// runs there at the test's end is stopped.
func newPlace(t testing.TB) *place {
	t.Helper()
	dir, err := os.MkdirTemp("", "cm")
	if err != nil {
		t.Fatal(err)
	}
	p := &place{t: t, dir: filepath.Join(dir, "d"), cwd: t.TempDir()}
	p.env = []string{"CMEM_DATA_DIR=" + p.dir, "HOME=" + dir, "PATH=" + os.Getenv("PATH"), "CMEM_PORT=0", "CMEM_AUTOSTART=false", "TZ=UTC"}
	t.Cleanup(func() {
		p.kill()
		_ = os.RemoveAll(dir)
	})
	return p
}

// kill ends whatever worker runs here.
func (p *place) kill() {
	if c, err := client.Dial(context.Background(), home.Dir(p.dir)); err == nil {
		var id api.Identity
		if c.Get(context.Background(), "/api/identity", nil, &id) == nil {
			_ = syscall.Kill(id.PID, syscall.SIGKILL)
			p.awaitGone(id.PID)
		}
		_ = c.Close()
	}
}

// awaitGone waits until a process has ended.
func (p *place) awaitGone(pid int) {
	p.until("process "+fmt.Sprint(pid)+" is gone", func() bool {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || bytes.Contains(b, []byte(") Z ")) || syscall.Kill(pid, 0) != nil
	})
}

// until asks again and again, with a bound far above what it ever takes.
func (p *place) until(what string, yes func() bool) {
	p.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.Now().Add(60 * time.Second)
	for !yes() {
		if <-tick.C; time.Now().After(deadline) {
			p.t.Fatalf("it never came that %s", what)
		}
	}
}

// result is what one run of a program said.
type result struct {
	out, err string
	code     int
}

func (p *place) command(name string, args ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(bin, name), args...)
	c.Env, c.Dir = p.env, p.cwd
	return c
}

func (p *place) with(stdin []byte, name string, args ...string) result {
	p.t.Helper()
	c := p.command(name, args...)
	var out, errs bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = bytes.NewReader(stdin), &out, &errs
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatalf("%s %v: %v", name, args, err)
	}
	return result{out.String(), errs.String(), c.ProcessState.ExitCode()}
}

// try runs cmem; run also asserts that it succeeds.
func (p *place) try(args ...string) result { p.t.Helper(); return p.with(nil, "cmem", args...) }

func (p *place) run(args ...string) string {
	p.t.Helper()
	r := p.try(args...)
	if r.code != 0 || r.err != "" {
		p.t.Fatalf("cmem %s: exit code %d\nstderr: %s\nstdout: %s", strings.Join(args, " "), r.code, r.err, r.out)
	}
	return r.out
}

// read runs cmem with --json and reads the answer into v.
func (p *place) read(v any, args ...string) {
	p.t.Helper()
	out := p.run(append(args, "--json")...)
	if err := json.Unmarshal([]byte(out), v); err != nil {
		p.t.Fatalf("cmem %v: %v in %s", args, err, out)
	}
}

// hook hands one payload over through the real publisher.
func (p *place) hook(event string, payload []byte) {
	p.t.Helper()
	r := p.with(payload, "cmem-hook", "claude-code", event)
	if r.code != 0 {
		p.t.Fatalf("cmem-hook %s: exit code %d, %s", event, r.code, r.err)
	}
}

// hookAt is hook at a time of our choice.
func (p *place) hookAt(at time.Time, event string, payload []byte) {
	p.t.Helper()
	var out, errs bytes.Buffer
	hook.Run(hook.Config{
		Args: []string{"--data", p.dir, "claude-code", event}, Stdin: bytes.NewReader(payload), Stdout: &out, Stderr: &errs,
		Env: p.env, Now: func() time.Time { return at }, Dir: p.cwd,
	})
}

// session hands a recorded session over.
func (p *place) session(name string) {
	p.t.Helper()
	files, err := filepath.Glob(filepath.Join(testdata, "hooks/claude-code", name, "*.json"))
	if err != nil || len(files) == 0 {
		p.t.Fatalf("no payloads of %s: %v", name, err)
	}
	for _, f := range files {
		_, event, _ := strings.Cut(strings.TrimSuffix(filepath.Base(f), ".json"), "-")
		payload, err := os.ReadFile(f)
		if err != nil {
			p.t.Fatal(err)
		}
		p.hook(event, payload)
	}
}

// stats is the answer of cmem status.
func (p *place) stats() (s api.Stats) {
	p.t.Helper()
	p.read(&s, "status")
	return s
}

// dial gives the worker's API.
func (p *place) dial(t testing.TB) *client.Client {
	t.Helper()
	c, err := client.Dial(context.Background(), home.Dir(p.dir))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// newWorker starts the worker and gives its API.
func (p *place) newWorker(t testing.TB) *client.Client {
	t.Helper()
	p.run("start")
	return p.dial(t)
}

// found says whether the worker finds a word.
func found(t testing.TB, c *client.Client, word string) bool {
	t.Helper()
	var a api.SearchAnswer
	if err := c.Get(context.Background(), "/api/search", url.Values{"query": {word}, "format": {"json"}}, &a); err != nil {
		t.Fatal(err)
	}
	return a.TotalResults > 0 && strings.Contains(a.Query, word) && len(a.Prompts) > 0
}

// events reads the log's records.
func (p *place) events() (all []api.LogRecord) {
	p.t.Helper()
	for line := range strings.Lines(p.run("log", "tail", "-n", "100000", "--json")) {
		var r api.LogRecord
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			p.t.Fatalf("%v in %s", err, line)
		}
		all = append(all, r)
	}
	return all
}

// payload makes a PostToolUse of one session.
func payload(session string, n int) []byte {
	return fmt.Appendf(nil, `{"session_id":%q,"cwd":"/srv/demo","hook_event_name":"PostToolUse","tool_name":"Bash","tool_use_id":"toolu_%s%06d","tool_input":{"command":"echo word%d"},"tool_response":{"stdout":"word%d","stderr":"","interrupted":false}}`,
		session, strings.ReplaceAll(session, "-", ""), n, n, n)
}

// prompt makes a UserPromptSubmit.
func prompt(session, text string) []byte {
	b, _ := json.Marshal(map[string]string{"session_id": session, "cwd": "/srv/demo", "hook_event_name": "UserPromptSubmit", "prompt": text})
	return b
}
