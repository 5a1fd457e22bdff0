//go:build linux

package acceptance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cmem/cmd/internal/api"
	"cmem/ingest/home"
	"cmem/streams/envelope"
	"cmem/streams/streamstest/smalldisk"
)

// mill is a data folder on a small disk, its spool on another, with a real worker
// and real hooks.
type mill struct {
	t           *testing.T
	p           programs
	dir         home.Dir
	disk, spool smalldisk.Disk
	worker      *exec.Cmd
	n           atomic.Int64 // events sent
	mu          sync.Mutex
	accepted    map[string]bool
	refused     map[string]string // what the hook said
}

// newMill: below 32 MB the log takes nothing in.
func newMill(t *testing.T) *mill {
	m := &mill{t: t, p: build(t), accepted: map[string]bool{}, refused: map[string]string{}}
	m.disk = smalldisk.New(t, 320)
	m.dir = home.Dir(filepath.Join(m.disk.Dir, "d"))
	if err := m.dir.Make(); err != nil {
		t.Fatal(err)
	}
	m.spool = smalldisk.Mount(t, m.dir.Spool(), 48)
	t.Cleanup(m.kill)
	return m
}

func (m *mill) env() []string {
	return append(os.Environ(), "CMEM_DATA_DIR="+string(m.dir), "CMEM_AUTOSTART=false", "CMEM_RESERVE_MB=32", "CMEM_TCP=false", "CMEM_FAILPOINTS=", "CMEM_FAIL_LOUD=0")
}

func (m *mill) start() {
	m.t.Helper()
	m.worker = exec.Command(m.p.cmem, "serve")
	m.worker.Env = m.env()
	if err := m.worker.Start(); err != nil {
		m.t.Fatal(err)
	}
	m.until("the worker is ready", func() bool { return m.stats().Worker.Running })
}

func (m *mill) kill() {
	if m.worker != nil {
		m.worker.Process.Kill()
		m.worker.Wait()
		m.worker = nil
	}
}

// hook sends one event and notes whether it was accepted: a hook that refuses says
// so on standard error, and exits 0 all the same.
func (m *mill) hook() {
	id := fmt.Sprintf("toolu_01Disk%014d", m.n.Add(1))
	c := exec.Command(m.p.hook, "claude-code", "PostToolUse")
	var said bytes.Buffer
	c.Env, c.Stdin, c.Stderr = m.env(), bytes.NewReader(payload(id)), &said
	err := c.Run()
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		m.t.Errorf("hook of %s: %v: %s", id, err, said.String())
	}
	if said.Len() == 0 {
		m.accepted[id] = true
	} else {
		m.refused[id] = said.String()
	}
}

// send sends n events, four hooks at a time.
func (m *mill) send(n int) {
	var hooks sync.WaitGroup
	todo := make(chan struct{})
	for range 4 {
		hooks.Go(func() {
			for range todo {
				m.hook()
			}
		})
	}
	for range n {
		todo <- struct{}{}
	}
	close(todo)
	hooks.Wait()
}

// ask runs a command that answers with JSON, whatever its exit code.
func (m *mill) ask(out any, args ...string) int {
	c := exec.Command(m.p.cmem, append(args, "--json")...)
	c.Env = m.env()
	text, _ := c.Output() // the exit code says
	_ = json.Unmarshal(text, out)
	return c.ProcessState.ExitCode()
}

func (m *mill) stats() (s api.Stats) {
	m.ask(&s, "status")
	return s
}

// says: status, health and doctor tell the finding, each with a next step.
func (m *mill) says(code string) bool {
	has := func(all []api.Finding) bool {
		for _, f := range all {
			if f.Code == code && f.What != "" && f.Next != "" {
				return true
			}
		}
		return false
	}
	var d api.Diagnosis
	s := m.stats()
	exit := m.ask(&d, "doctor")
	return has(s.Storage) && s.Phase.Message != "" && has(d.Findings) && exit == 15
}

func (m *mill) until(what string, true func() bool) {
	m.t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); !true(); {
		if time.Now().After(deadline) {
			m.t.Fatalf("never: %s\nworker's log:\n%s", what, m.workerLog())
		}
		time.Sleep(20 * time.Millisecond) // between two questions to another process
	}
}

func (m *mill) workerLog() string {
	text, _ := os.ReadFile(filepath.Join(m.dir.Logs(), "worker.log"))
	return string(text[max(0, len(text)-8000):])
}

func (m *mill) waiting() int {
	files, _ := filepath.Glob(filepath.Join(m.dir.Spool(), "*.json"))
	return len(files)
}

// inLog counts each tool's event in the log.
func (m *mill) inLog() map[string]int {
	m.t.Helper()
	c := exec.Command(m.p.cmem, "log", "export")
	c.Env = m.env()
	out, err := c.Output()
	if err != nil {
		m.t.Fatal(err)
	}
	in := map[string]int{}
	for line := range bytes.Lines(out) {
		var e struct{ ID, Type string }
		if err := json.Unmarshal(line, &e); err != nil {
			m.t.Fatalf("%v in %s", err, line)
		}
		if i := strings.LastIndex(e.ID, "/toolu_"); i >= 0 && e.Type == envelope.HookReceived {
			in[e.ID[i+1:]]++
		}
	}
	return in
}

// events is how many are sent: 1,500, or as many as CMEM_DISKFULL_EVENTS says.
func events(t *testing.T) int {
	n := 1500
	if testing.Short() {
		n = 300
	}
	if text := os.Getenv("CMEM_DISKFULL_EVENTS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// TestDiskFullThreeTimesLosesNothingThatAHookAccepted sends events through a disk
// that fills up three times: once below the reserve; once to the last byte, with the
// spool's own disk full too; once to the last byte with the worker killed in it.
func TestDiskFullThreeTimesLosesNothingThatAHookAccepted(t *testing.T) {
	smalldisk.Run(t, func(t *testing.T) {
		m := newMill(t)
		m.start()
		part := events(t) / 6

		m.send(part)
		m.disk.Fill(t, 16<<20)
		m.send(part)
		if !m.says("disk.reserve") {
			t.Errorf("below the reserve: status says %+v", m.stats())
		}
		if m.waiting() == 0 {
			t.Error("nothing waits in the spool below the reserve")
		}
		m.disk.Clear(t)
		m.until("what waited went in by itself", func() bool { return m.waiting() == 0 })

		m.disk.Fill(t, 0)
		m.send(part / 2)
		m.spool.Fill(t, 0)
		before := len(m.refused)
		m.send(part / 2)
		if !m.says("disk.reserve") {
			t.Errorf("on a full disk: status says %+v", m.stats())
		}
		if len(m.refused) == before {
			t.Error("no hook was refused although the spool's disk is full")
		}
		m.spool.Clear(t)
		m.send(part / 2)
		m.disk.Clear(t)
		m.until("what waited went in by itself", func() bool { return m.waiting() == 0 })

		m.send(part / 2)
		m.disk.Fill(t, 0)
		m.kill()
		m.send(part)
		if !m.says("disk.reserve") {
			t.Errorf("on a full disk, without a worker: status says %+v", m.stats())
		}
		m.disk.Clear(t)
		m.start()
		m.send(events(t) - int(m.n.Load()))
		m.until("what waited went in by itself", func() bool { return m.waiting() == 0 })
		m.check()
	})
}

// check compares what hooks said with what the log has.
func (m *mill) check() {
	t := m.t
	t.Helper()
	if m.says("disk.reserve") {
		t.Error("the disk is still called full")
	}
	in := m.inLog()
	for id := range m.accepted {
		if in[id] != 1 {
			t.Errorf("%s was accepted and is in the log %d times", id, in[id])
		}
	}
	for id, n := range in {
		if n != 1 {
			t.Errorf("%s is in the log %d times", id, n)
		}
	}
	for id, said := range m.refused {
		if !strings.Contains(said, "not kept") || !strings.Contains(said, "no space left on device") {
			t.Errorf("hook of %s said %q", id, said)
		}
	}
	c := exec.Command(m.p.cmem, "log", "verify")
	c.Env = m.env()
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("log verify: %v: %s", err, out)
	}
	c = exec.Command(m.p.cmem, "rebuild", "--verify")
	c.Env = m.env()
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("rebuild --verify: %v: %s", err, out)
	}
	t.Logf("%d events, %d accepted, %d refused, %d in the log", m.n.Load(), len(m.accepted), len(m.refused), len(in))
}
