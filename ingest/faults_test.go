package ingest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"cmem/ingest/home"
	"cmem/ingest/hook"
	"cmem/ingest/spool"
	"cmem/streams/envelope"
	"cmem/streams/streamstest"
)

const faults = "../testdata/faults/inputs"

// publish runs the hook publisher in this process.
func publish(t testing.TB, dir, event string, payload []byte, captured time.Time) {
	t.Helper()
	var out bytes.Buffer
	code := hook.Run(hook.Config{
		Args: []string{"--data", dir, "claude-code", event}, Stdin: bytes.NewReader(payload), Stdout: &out, Stderr: io.Discard,
		Env: []string{"CMEM_AUTOSTART=false", "HOME=" + dir}, Now: func() time.Time { return captured },
	})
	if code != 0 {
		t.Errorf("%s: exit %d", event, code)
	}
}

// faultPayloads runs each line of a fault's input through the publisher and
// gives the envelopes it made.
func faultPayloads(t testing.TB, name string) []envelope.Envelope {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(faults, name))
	if err != nil {
		t.Fatal(err)
	}
	dir := home.Dir(filepath.Join(t.TempDir(), "home"))
	n := 0
	for line := range bytes.Lines(data) {
		n++
		publish(t, string(dir), "PostToolUse", line, epoch.Add(time.Duration(n)*time.Minute))
	}
	var all []envelope.Envelope
	for _, name := range entries(t, dir.Spool()) {
		line, err := os.ReadFile(filepath.Join(dir.Spool(), name))
		if err != nil {
			t.Fatal(err)
		}
		e, err := envelope.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// worker is a process that drains dir, from this test binary or one built with
// failpoints.
type worker struct {
	cmd *exec.Cmd
	out *bufio.Reader
}

func startWorker(t testing.TB, binary, dir string, env ...string) *worker {
	t.Helper()
	cmd := exec.Command(binary)
	cmd.Env = append(append(os.Environ(), childVar+"="+dir), env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return &worker{cmd, bufio.NewReader(out)}
}

func (w *worker) ready(t testing.TB) {
	t.Helper()
	if line, err := w.out.ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("worker: %q, %v", line, err)
	}
}

func (w *worker) kill() {
	w.cmd.Process.Kill()
	w.cmd.Wait() // says that it was killed
}

// once drains dir to the end in a process of its own.
func once(t testing.TB, binary, dir string, env ...string) error {
	t.Helper()
	w := startWorker(t, binary, dir, append(env, "CMEM_TEST_ONCE=1")...)
	io.Copy(io.Discard, w.out)
	return w.cmd.Wait()
}

func self(t testing.TB) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFaults(t *testing.T) {
	t.Run("lost-01", testWorkerDies)
	t.Run("lost-11", TestAnyOrderOfASession)
	t.Run("dup-01", testHooksAtOnce)
	t.Run("dup-03", testStartedAgain)
	t.Run("tr-13", testLargeTranscriptLine)
	t.Run("tr-15", testSubagentFile)
}

// testWorkerDies: 3 events, kill -9, 5 more, a new worker: 8 in the log.
func testWorkerDies(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home")
	say := func(n int) {
		payload := fmt.Appendf(nil, `{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Bash","tool_use_id":"toolu_%02d","tool_input":{"command":"echo"},"tool_response":"x"}`, n)
		publish(t, dir, "PostToolUse", payload, epoch.Add(time.Duration(n)*time.Second))
	}
	w := startWorker(t, self(t), dir)
	w.ready(t)
	for n := range 3 {
		say(n)
	}
	w.kill()
	for n := 3; n < 8; n++ {
		say(n)
	}
	if err := once(t, self(t), dir); err != nil {
		t.Fatal(err)
	}
	l := streamstest.Open(t, filepath.Join(dir, "log"))
	held := ids(t, l)
	for n := range 8 {
		if id := fmt.Sprintf("claude-code/PostToolUse/toolu_%02d", n); held[id] != 1 {
			t.Errorf("%s is in the log %d times", id, held[id])
		}
	}
	if left := entries(t, filepath.Join(dir, "spool")); len(held) != 8 || left != nil {
		t.Errorf("log holds %d, spool %v", len(held), left)
	}
}

// testHooksAtOnce: the same hook, registered three times.
func testHooksAtOnce(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(faults, "dup-01.json"))
	if err != nil {
		t.Fatal(err)
	}
	nameless := bytes.Replace(data, []byte(`, "tool_use_id": "toolu_0001"`), nil, 1)
	if len(nameless) == len(data) {
		t.Fatal("the input has changed")
	}
	for name, payload := range map[string][]byte{"with an id": data, "without": nameless} {
		dir := home.Dir(filepath.Join(t.TempDir(), "home"))
		for n := range 3 {
			publish(t, string(dir), "PostToolUse", payload, epoch.Add(time.Duration(n)*time.Millisecond))
		}
		l := streamstest.New(t)
		if err := newDrainer(t, l, dir.Spool()).RunToEnd(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := len(streamstest.Records(t, l, 0)); got != 1 {
			t.Errorf("%s: log holds %d, want 1", name, got)
		}
	}
}

// failpointBinary builds this test with failpoints, once.
func failpointBinary(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ingest.test")
	build := exec.Command("go", "test", "-c", "-tags", "failpoint", "-o", path, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return path
}

// TestKilledAtEachStep: a worker killed between append and removal, in the
// middle of a batch's removal, and at random, loses nothing and doubles nothing;
// entries of 30 days ago are among them.
func TestKilledAtEachStep(t *testing.T) {
	binary := self(t)
	points := []string{""}
	if !testing.Short() {
		binary = failpointBinary(t)
		points = []string{"drain.appended=kill", "drain.appended=kill@2", "dir.sync=kill@4", ""}
	}
	dir := filepath.Join(t.TempDir(), "home")
	spooled := filepath.Join(dir, "spool")
	total := 0
	for round, point := range points {
		var batch []envelope.Envelope
		for range 1200 { // more than the log takes at once
			total++
			e := tool("s", fmt.Sprint(total), fmt.Sprintf("%016x", total))
			e.Time = time.Now().Add(-30 * 24 * time.Hour).Add(time.Duration(total))
			batch = append(batch, e)
		}
		fill(t, spooled, batch...)
		err := once(t, binary, dir, "CMEM_FAILPOINTS="+point)
		if killed := err != nil; killed != (point != "") {
			t.Errorf("round %d, %q: %v", round, point, err)
		}
	}
	checkAll(t, dir, total)
}

// TestKilledAtRandom kills workers while entries come in.
func TestKilledAtRandom(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home")
	total := 0
	for round := range 12 {
		w := startWorker(t, self(t), dir)
		w.ready(t)
		for range 40 + round*7 { // each round dies at another place
			total++
			e := tool("s", fmt.Sprint(total), fmt.Sprintf("%016x", total))
			e.Time = epoch.Add(time.Duration(total))
			put(t, filepath.Join(dir, "spool"), e)
		}
		w.kill()
	}
	if err := once(t, self(t), dir); err != nil {
		t.Fatal(err)
	}
	checkAll(t, dir, total)
}

func checkAll(t *testing.T, dir string, total int) {
	t.Helper()
	l := streamstest.Open(t, filepath.Join(dir, "log"))
	held := ids(t, l)
	for n := 1; n <= total; n++ {
		if id := fmt.Sprintf("claude-code/PostToolUse/%d", n); held[id] != 1 {
			t.Errorf("%s is in the log %d times", id, held[id])
		}
	}
	if left := entries(t, filepath.Join(dir, "spool")); len(held) != total || left != nil {
		t.Errorf("log holds %d of %d, spool %d", len(held), total, len(left))
	}
	if _, err := os.Stat(filepath.Join(dir, "spool", spool.CorruptDir)); err == nil {
		t.Error("something was taken for corrupt")
	}
}
