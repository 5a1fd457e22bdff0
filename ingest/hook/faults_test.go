package hook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"cmem/ingest/home"
	"cmem/ingest/spool"
	"cmem/streams/envelope"
)

func TestFaults(t *testing.T) {
	for id, test := range map[string]func(*testing.T){
		"lost-03": testNoPayload, "lost-04": testKilledAtRandom, "lost-06": testKilledAtEachStep,
		"dup-01": testAtOnce, "dup-02": testCursorForm,
		"block-03": testNoWorkerToStart, "block-05": testUnderLoad,
		"exit-01": testExitMatrix, "exit-03": testTurnEndsPrintNothing, "exit-04": testTurnEndsPrintNothing,
		"exit-06": testStopAgain, "exit-07": testNothingToSay,
		"enc-04": testControlBytes, "enc-10": testThroughAShell,
		"shape-05": testUnknownShapes, "priv-01": testPrivatePrompt, "own-15": testEqualKeys,
	} {
		t.Run(id, test)
	}
}

// testNoPayload as real processes: closed, empty, a newline, a terminal's null.
func testNoPayload(t *testing.T) {
	program, data := build(t, hookProgram), filepath.Join(t.TempDir(), "home")
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	notices := 0
	for n, stdin := range []io.Reader{strings.NewReader(""), strings.NewReader("\n"), null, bytes.NewReader(fault(t, "lost-03.json"))} {
		cmd := process(program, data, "UserPromptSubmit", nil)
		cmd.Stdin = stdin
		out, err := cmd.Output()
		if err != nil {
			t.Errorf("%d: %v", n, err)
		}
		if len(out) > 0 {
			notices++
		}
	}
	closed := exec.Command("sh", "-c", `exec "$0" --data "$1" claude-code Stop <&-`, program, data)
	closed.Env = []string{"HOME=" + data}
	if out, err := closed.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("closed: %q, %v", out, err)
	}
	b := &bench{t: t, dir: home.Dir(data)}
	// Two notices: the clock is the process's, and an hour may have passed.
	if n := b.counter("empty-payload"); n != 5 || len(b.envelopes()) != 0 || notices < 1 || notices > 2 {
		t.Errorf("counted %d, %d events, %d notices", n, len(b.envelopes()), notices)
	}
}

var stopPayload = []byte(`{"session_id":"s","hook_event_name":"SessionEnd","reason":"other","text":"` + strings.Repeat("x", 64<<10) + `"}`)

// wholeOrNothing checks a home after its hook was killed.
func wholeOrNothing(t *testing.T, data string) (events int) {
	t.Helper()
	for _, e := range spooled(t, home.Dir(data).Spool()) { // fails on a half one
		events++
		if !bytes.Equal(e.Body, stopPayload) {
			t.Errorf("an event of %d bytes", len(e.Body))
		}
	}
	return events
}

// testKilledAtRandom: 200 kills, SIGTERM or SIGKILL, 0–80 ms after the start.
func testKilledAtRandom(t *testing.T) {
	program, data := build(t, hookProgram), filepath.Join(t.TempDir(), "home")
	random := rand.New(rand.NewPCG(1, 2))
	done := 0
	for range 200 {
		cmd := process(program, data, "SessionEnd", stopPayload)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		// Half of the kills fall into the few milliseconds it lives.
		after := time.Duration(random.Int64N(int64(80 * time.Millisecond)))
		if random.IntN(2) == 0 {
			after /= 10
		}
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("not killed, and %v", err)
			}
			done++
			continue
		case <-time.After(after):
		}
		cmd.Process.Signal(os.Interrupt)
		cmd.Process.Kill()
		if err := <-ended; err == nil {
			done++
		}
	}
	if got := wholeOrNothing(t, data); got < done || got > 200 {
		t.Errorf("%d events of at least %d", got, done)
	}
	// No lock is left: the next one works.
	before := wholeOrNothing(t, data)
	if err := process(program, data, "SessionEnd", stopPayload).Run(); err != nil {
		t.Error(err)
	}
	if got := wholeOrNothing(t, data); got != before+1 {
		t.Errorf("%d events after one more, want %d", got, before+1)
	}
}

// testKilledAtEachStep of the hand-over, in a new home and in a used one.
func testKilledAtEachStep(t *testing.T) {
	program := build(t, hookProgram, "-tags", "failpoint")
	for _, used := range []bool{false, true} {
		for point, want := range map[string]int{
			"spool.created": 0, "spool.written": 0, "spool.synced": 0, "spool.renamed": 1, "spool.done": 1,
		} {
			data := filepath.Join(t.TempDir(), "home")
			if used {
				if err := process(program, data, "Stop", []byte(`{"hook_event_name":"MessageDisplay"}`)).Run(); err != nil {
					t.Fatal(err)
				}
			}
			if err := process(program, data, "SessionEnd", stopPayload, "CMEM_FAILPOINTS="+point+"=kill").Run(); err == nil {
				t.Errorf("%s: it was not killed", point)
			}
			if got := wholeOrNothing(t, data); got != want {
				t.Errorf("%s: %d events, want %d", point, got, want)
			}
			if err := process(program, data, "SessionEnd", stopPayload).Run(); err != nil {
				t.Errorf("%s: the next one: %v", point, err)
			}
			if got := wholeOrNothing(t, data); got != want+1 {
				t.Errorf("%s: %d events after the next one, want %d", point, got, want+1)
			}
		}
	}
	t.Run("a step fails", func(t *testing.T) {
		for _, point := range []string{"spool.created", "spool.written", "spool.synced", "spool.renamed", "dir.sync", "dir.sync=error@2"} {
			data := filepath.Join(t.TempDir(), "home")
			if !strings.Contains(point, "=") {
				point += "=error"
			}
			c := process(program, data, "SessionEnd", stopPayload, "CMEM_FAILPOINTS="+point)
			var said strings.Builder
			c.Stderr = &said
			if out, err := c.Output(); err != nil || len(out) > 0 || strings.Count(said.String(), "\n") != 1 || !strings.Contains(said.String(), "not kept") {
				t.Errorf("%s: %q, %q, %v", point, out, said.String(), err)
			}
			if temps, err := os.ReadDir(filepath.Join(data, "spool", spool.TempDir)); err != nil || len(temps) > 0 {
				t.Errorf("%s: left %v, %v", point, temps, err)
			}
			if b := (&bench{t: t, dir: home.Dir(data)}); b.counter("spool-failed:other") != 1 {
				t.Errorf("%s: not counted", point)
			}
		}
	})
}

// testAtOnce: 3 processes with equal input, 100 times: one id each time. That
// one id is one event in the log is package ingest's part.
func testAtOnce(t *testing.T) {
	program, payload := build(t, hookProgram), fault(t, "dup-01.json")
	for round := range 100 {
		data := filepath.Join(t.TempDir(), "home")
		var all sync.WaitGroup
		barrier := make(chan struct{})
		for range 3 {
			cmd := process(program, data, "PostToolUse", payload)
			all.Go(func() {
				<-barrier
				if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
					t.Errorf("round %d: %q, %v", round, out, err)
				}
			})
		}
		close(barrier)
		all.Wait()
		got := spooled(t, home.Dir(data).Spool())
		for _, e := range got {
			if e.ID != got[0].ID || e.Digest != got[0].Digest {
				t.Errorf("round %d: %q %q and %q %q", round, got[0].ID, got[0].Digest, e.ID, e.Digest)
			}
		}
		if len(got) != 3 {
			t.Errorf("round %d: %d entries", round, len(got))
		}
	}
}

// testCursorForm: Cursor runs Claude Code's hooks too and marks the payload.
// The event is Cursor's. That Cursor's own form is the same event needs its host.
func testCursorForm(t *testing.T) {
	b := newBench(t)
	b.say("UserPromptSubmit", string(fault(t, "dup-02.claude-form.json")))
	if e := b.one(); e.Source != "cursor" || !strings.HasPrefix(e.ID, "cursor/") {
		t.Errorf("source %q, id %q", e.Source, e.ID)
	}
}

// testNoWorkerToStart: missing, not executable, no program.
func testNoWorkerToStart(t *testing.T) {
	for what, mode := range map[string]os.FileMode{"missing": 0, "not executable": 0o600, "no program": 0o700} {
		folder := t.TempDir()
		program := filepath.Join(folder, "cmem-hook")
		copyFile(t, build(t, hookProgram), program, 0o700)
		if mode != 0 {
			if err := os.WriteFile(filepath.Join(folder, "cmem"), []byte("x"), mode); err != nil {
				t.Fatal(err)
			}
		}
		data := filepath.Join(t.TempDir(), "home")
		for n := range 20 {
			payload := fmt.Appendf(nil, `{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":"%d"}`, n)
			out, err := process(program, data, "UserPromptSubmit", payload, "CMEM_AUTOSTART=true", "CMEM_FAIL_LOUD=0").CombinedOutput()
			if err != nil || len(out) > 0 {
				t.Errorf("%s: %q, %v", what, out, err)
			}
		}
		b := &bench{t: t, dir: home.Dir(data)}
		if n := len(b.envelopes()); n != 20 {
			t.Errorf("%s: %d events, want 20", what, n)
		}
		if mode == 0o600 {
			if n := b.counter("worker-start-failed:permission denied"); n < 1 || n > 2 { // once in 30 s
				t.Errorf("%s: tried %d times", what, n)
			}
		}
	}
}

func copyFile(t *testing.T, from, to string, mode os.FileMode) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, data, mode)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// testUnderLoad: with more hooks at once than there are processors every one
// ends well. How long they take is BenchmarkHookProcess's to say.
func testUnderLoad(t *testing.T) {
	program, data := build(t, hookProgram), filepath.Join(t.TempDir(), "home")
	var all sync.WaitGroup
	for n := range 50 {
		all.Go(func() {
			payload := fmt.Appendf(nil, `{"session_id":"s","hook_event_name":"PostToolUse","tool_use_id":"toolu_%d"}`, n)
			if err := process(program, data, "PostToolUse", payload).Run(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := len(spooled(t, home.Dir(data).Spool())); n != 50 {
		counters, err := home.Dir(data).Counters()
		t.Errorf("%d events, want 50; counted %+v, %v", n, counters, err)
	}
}

// testTurnEndsPrintNothing, with all there is to say: a fresh context that
// holds next steps, a notice that is due, an empty payload.
func testTurnEndsPrintNothing(t *testing.T) {
	for _, name := range []string{"claude-code", "codex"} {
		for _, event := range []string{"Stop", "SubagentStop", "SessionEnd"} {
			for _, payload := range []string{`{"session_id":"s","stop_hook_active":false}`, `{"session_id":"s","hook_event_name":"SessionStart"}`, ""} {
				b := newBench(t)
				b.env = append(b.env, "CMEM_FAIL_LOUD=1")
				b.writeContext("Next steps: go on", epoch)
				if out := b.run(name, event, strings.NewReader(payload)); out != "" && out != "{}\n" {
					t.Errorf("%s %s with %q: printed %q", name, event, payload, out)
				}
			}
		}
	}
}

// testStopAgain: nothing is printed that would make a fourth; the two equal ones
// are told apart by their capture only, which package ingest looks at.
func testStopAgain(t *testing.T) {
	b := newBench(t)
	for _, active := range []string{"false", "true", "true"} {
		if out := b.say("Stop", `{"session_id":"s","hook_event_name":"Stop","stop_hook_active":`+active+`}`); out != "" {
			t.Errorf("printed %q", out)
		}
	}
	all := b.envelopes()
	words := map[string]bool{}
	for _, e := range all {
		id, _, _ := strings.Cut(e.ID, "@")
		words[id] = true
	}
	if len(all) != 3 || len(words) != 2 {
		t.Errorf("%d events of %d kinds", len(all), len(words))
	}
}

// testNothingToSay: what is printed then is what the host takes for nothing.
func testNothingToSay(t *testing.T) {
	for _, event := range events(t) {
		b := newBench(t)
		if out := b.run("claude-code", event, strings.NewReader(`{"session_id":"s"}`)); out != "" && !json.Valid([]byte(out)) {
			t.Errorf("%q: printed %q", event, out)
		}
	}
}

func testControlBytes(t *testing.T) {
	b := newBench(t)
	b.run("claude-code", "UserPromptSubmit", bytes.NewReader(fault(t, "enc-04.json")))
	e := b.one()
	var payload struct{ Prompt string }
	if err := json.Unmarshal(e.Body, &payload); err != nil || e.ContentType != "" {
		t.Fatalf("body %q: %v", e.Body, err)
	}
	if !strings.Contains(payload.Prompt, "line one\nline two\t") || !strings.Contains(payload.Prompt, "\x1b[31mred") {
		t.Errorf("prompt %q", payload.Prompt)
	}
}

// testThroughAShell runs the command line as a host does: by sh -c, the payload
// on standard input, no echo on the way.
func testThroughAShell(t *testing.T) {
	data := filepath.Join(t.TempDir(), "it's home")
	cmd := exec.Command("sh", "-c", `"`+build(t, hookProgram)+`" --data "`+data+`" claude-code UserPromptSubmit`)
	payload := fault(t, "enc-10.json")
	cmd.Stdin, cmd.Env = bytes.NewReader(payload), []string{"HOME=" + t.TempDir(), "CMEM_AUTOSTART=false"}
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("%q, %v", out, err)
	}
	got := spooled(t, home.Dir(data).Spool())
	if len(got) != 1 || !bytes.Equal(got[0].Body, bytes.TrimSpace(payload)) {
		t.Errorf("got %+v", got)
	}
}

func testUnknownShapes(t *testing.T) {
	b := newBench(t)
	b.env = append(b.env, "CMEM_FAIL_LOUD=0")
	lines := bytes.Split(bytes.TrimSpace(fault(t, "shape-05.jsonl")), []byte("\n"))
	for _, line := range lines {
		if out := b.run("claude-code", "SomeEvent", bytes.NewReader(line)); out != "" {
			t.Errorf("%.80s: printed %q", line, out)
		}
	}
	all := b.envelopes()
	if len(all) != len(lines) {
		t.Fatalf("%d events of %d", len(all), len(lines))
	}
	for n, event := range []string{"SubagentStart", "BrandNewEvent", "SomeEvent", "SomeEvent", "PostToolUse", "PostToolUse"} {
		e := all[n]
		if e.Event != event || e.Type != envelope.HookReceived || !bytes.Equal(e.Body, lines[n]) {
			t.Errorf("%d: %q %q %s", n, e.Event, e.Type, e.Body)
		}
	}
}

// testPrivatePrompt: from the hook's side; the rest of the way is others' part.
func testPrivatePrompt(t *testing.T) {
	program, data := build(t, hookProgram), filepath.Join(t.TempDir(), "home")
	payload := []byte(`{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":"fix <private>CANARY-1</private> this"}`)
	out, err := process(program, data, "UserPromptSubmit", payload).CombinedOutput()
	if err != nil || bytes.Contains(out, []byte("CANARY")) {
		t.Fatalf("%q, %v", out, err)
	}
	assertNowhere(t, data, "CANARY-1")
	e := spooled(t, home.Dir(data).Spool())[0]
	if !strings.Contains(string(e.Body), "fix  this") || !strings.Contains(e.Redactions, `"private"`) {
		t.Errorf("body %s, redactions %s", e.Body, e.Redactions)
	}
}

// testEqualKeys: what is filtered is the raw form, whichever key a reader takes.
func testEqualKeys(t *testing.T) {
	b := newBench(t)
	b.run("claude-code", "UserPromptSubmit", bytes.NewReader(fault(t, "own-15.json")))
	if b.one().Subject == "" {
		t.Error("no session")
	}
	assertNowhere(t, string(b.dir), "CANARY-own-15<")
	assertNowhere(t, string(b.dir), "CANARY-own-15-b")
}
