//go:build linux

package hook

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fakeWorker puts a program cmem beside a hook; it tells its state into a pipe
// of the test.
func fakeWorker(t *testing.T, b *bench) (told string) {
	t.Helper()
	folder := t.TempDir()
	told = filepath.Join(folder, "told")
	if err := syscall.Mkfifo(told, 0o600); err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\n{ echo \"args $*\"; echo \"dir $(pwd -P)\"; ls -l /proc/self/fd | sed 's/.* -> /fd /'; " +
		"echo \"sid $(ps -o sid= -p $$ | tr -d ' ')\"; echo \"pid $$\"; env | sed 's/^/env /'; } > \"" + told + "\"\n"
	if err := os.WriteFile(filepath.Join(folder, "cmem"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	b.program = filepath.Join(folder, "cmem-hook")
	return told
}

// TestWorkerIsStarted detached, without the host's variables and handles, once.
func TestWorkerIsStarted(t *testing.T) {
	b := newBench(t)
	told := fakeWorker(t, b)
	b.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/home/x", "CLAUDE_CODE_SESSION_ID=1", "CLAUDECODE=1", "ANTHROPIC_API_KEY=k",
		"CODEX_HOME=x", "MCP_SESSION_ID=1", "OPENAI_API_KEY=mine", "CMEM_FAIL_LOUD=1", "CMEM_DATA_DIR=/elsewhere",
	}
	// A handle that a careless host leaves open in its children.
	leak, err := os.CreateTemp(t.TempDir(), "leak")
	if err != nil {
		t.Fatal(err)
	}
	defer leak.Close()
	if _, _, errno := syscall.Syscall(syscall.SYS_FCNTL, leak.Fd(), syscall.F_SETFD, 0); errno != 0 {
		t.Fatal(errno)
	}
	if out := b.say("Stop", `{"session_id":"s","hook_event_name":"Stop"}`); out != "" {
		t.Errorf("printed %q", out)
	}
	f, err := os.Open(told) // waits for the worker
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var lines []string
	for s := bufio.NewScanner(f); s.Scan(); {
		lines = append(lines, s.Text())
	}
	text := strings.Join(lines, "\n")
	real, err := filepath.EvalSymlinks(string(b.dir))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"args serve", "dir " + real, "env CMEM_DATA_DIR=" + string(b.dir), "env OPENAI_API_KEY=mine", "env CMEM_FAIL_LOUD=1"} {
		if !slices.Contains(lines, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, never := range []string{"CLAUDE", "ANTHROPIC", "CODEX", "MCP_", "/elsewhere", leak.Name()} {
		if strings.Contains(text, never) {
			t.Errorf("%q in\n%s", never, text)
		}
	}
	own := fmt.Sprint("sid ", sessionID(t))
	if slices.Contains(lines, own) {
		t.Errorf("the worker is in our session:\n%s", text)
	}
	b.say("Stop", `{"session_id":"s","hook_event_name":"Stop"}`)
	if n := b.counter("worker-started"); n != 1 {
		t.Errorf("started %d times within 30 s", n)
	}
	b.now = b.now.Add(backOff)
	b.say("Stop", `{"session_id":"s","hook_event_name":"Stop"}`)
	if n := b.counter("worker-started"); n != 2 {
		t.Errorf("after 30 s started %d times", n)
	}
	last, err := os.Open(told) // lets the second one end
	if err != nil {
		t.Fatal(err)
	}
	last.Close()
}

func sessionID(t *testing.T) int {
	t.Helper()
	sid, _, errno := syscall.Syscall(syscall.SYS_GETSID, 0, 0, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
	return int(sid)
}

// TestNoWorkerIsStarted where the user said so, or another hook is at it.
func TestNoWorkerIsStarted(t *testing.T) {
	b := newBench(t)
	fakeWorker(t, b)
	b.say("Stop", `{"session_id":"s","hook_event_name":"Stop"}`) // CMEM_AUTOSTART=false
	if n := b.counter("worker-started"); n != 0 {
		t.Errorf("started %d", n)
	}
}

// TestNoNoticeWhileAWorkerComesUp, and one if it does not.
func TestNoNoticeWhileAWorkerComesUp(t *testing.T) {
	b := newBench(t)
	if err := b.dir.Make(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b.dir.LastStart(), []byte(epoch.UTC().Format(time.RFC3339Nano)), 0o600); err != nil {
		t.Fatal(err)
	}
	b.env = append(b.env, "CMEM_FAIL_LOUD=1")
	var got []bool
	for range 6 {
		got = append(got, b.say("UserPromptSubmit", `{"session_id":"s","hook_event_name":"UserPromptSubmit"}`) != "")
	}
	if want := "[false false false false true false]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %v", got, want)
	}
}
