package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// oneWatcherInTheWorkerAlone counts inotify descriptors: the worker has one,
// commands and hooks beside it none.
func oneWatcherInTheWorkerAlone(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("inotify is Linux's")
	}
	p := newPlace(t)
	p.run("start")
	pid := p.stats().Worker.PID
	p.until("the worker watches", func() bool { return inotifies(t, pid) == 1 })
	tail := p.command("cmem", "log", "tail", "--follow")
	out, err := tail.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := tail.Start(); err != nil {
		t.Fatal(err)
	}
	for n := range 20 {
		p.hook("PostToolUse", payload("watch-1", n))
	}
	if !bufio.NewScanner(out).Scan() {
		t.Fatal("log tail --follow told nothing")
	}
	if n := inotifies(t, tail.Process.Pid); n != 0 {
		t.Errorf("a command holds %d watchers", n)
	}
	if err := errors.Join(tail.Process.Signal(syscall.SIGTERM), ignoreExit(tail.Wait())); err != nil {
		t.Error(err)
	}
	if n := inotifies(t, pid); n != 1 {
		t.Errorf("the worker holds %d watchers, want 1", n)
	}
}

func ignoreExit(error) error { return nil }

func inotifies(t *testing.T, pid int) (n int) {
	t.Helper()
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, fd.Name())); err == nil && strings.Contains(to, "inotify") {
			n++
		}
	}
	return n
}

func secondWorkerSaysSo(t *testing.T) {
	p := newPlace(t)
	p.run("start")
	began := time.Now()
	r := p.try("serve")
	if r.code != exitLocked || strings.Count(r.err, "\n") != 1 || !strings.Contains(r.err, fmt.Sprint(p.stats().Worker.PID)) {
		t.Errorf("a second worker: %+v", r)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it waited %s", took)
	}
	if out := p.run("start"); !strings.Contains(out, "running already") {
		t.Errorf("a second start: %s", out)
	}
	if out := p.run("rebuild"); !strings.Contains(out, "records") {
		t.Errorf("rebuild beside a worker: %s", out)
	}
}

func commandsNeverWaitOnALock(t *testing.T) {
	p := newPlace(t)
	p.run("save", "--project", "alpha", "something")
	lock := holdLock(t, filepath.Join(p.dir, "log/lock"))
	defer lock()
	for _, args := range [][]string{{"status"}, {"search", "something"}, {"timeline", "1"}, {"show", "1"}, {"context"}, {"log", "tail"}, {"rebuild"}, {"save", "x"}, {"replay", "--transcript", "/dev/null"}} {
		r := p.try(args...)
		if r.code != exitLocked || !strings.Contains(r.err, fmt.Sprint(os.Getpid())) || strings.Count(r.err, "\n") != 1 {
			t.Errorf("cmem %v while the log is held: %+v", args, r)
		}
	}
}
