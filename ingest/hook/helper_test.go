package hook

import (
	"bytes"
	"io"
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

const testdata = "../../testdata"

var epoch = time.Date(2026, 3, 4, 5, 6, 7, 8, time.UTC)

// bench runs the publisher in this process against a home of the test's.
type bench struct {
	t        testing.TB
	dir      home.Dir
	project  string // the working folder
	now      time.Time
	env      []string
	program  string
	out, err bytes.Buffer
}

func newBench(t testing.TB) *bench {
	t.Helper()
	dir := home.Dir(filepath.Join(t.TempDir(), "home"))
	return &bench{t: t, dir: dir, project: t.TempDir(), now: epoch, env: []string{"HOME=" + t.TempDir(), "CMEM_AUTOSTART=false"}}
}

// run gives what is printed for one payload. Each run is a second later.
func (b *bench) run(host, event string, stdin io.Reader) string {
	b.t.Helper()
	b.out.Reset()
	b.err.Reset()
	b.now = b.now.Add(time.Second)
	now := b.now
	code := Run(Config{
		Args: []string{"--data", string(b.dir), host, event}, Stdin: stdin, Stdout: &b.out, Stderr: &b.err,
		Env: b.env, Now: func() time.Time { return now }, Executable: b.program, Dir: b.project,
	})
	if code != 0 {
		b.t.Errorf("%s %s: exit %d", host, event, code)
	}
	return b.out.String()
}

func (b *bench) say(event, payload string) string {
	b.t.Helper()
	return b.run("claude-code", event, strings.NewReader(payload))
}

// envelopes gives what is in the spool, by capture.
func (b *bench) envelopes() []envelope.Envelope {
	b.t.Helper()
	return spooled(b.t, b.dir.Spool())
}

func spooled(t testing.TB, dir string) []envelope.Envelope {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var all []envelope.Envelope
	for _, f := range files {
		if _, ok := spool.ParseName(f.Name()); !ok {
			continue
		}
		line, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		e, err := envelope.Parse(line)
		if err != nil {
			t.Fatalf("%s: %v", f.Name(), err)
		}
		all = append(all, e)
	}
	return all
}

func (b *bench) one() envelope.Envelope {
	b.t.Helper()
	all := b.envelopes()
	if len(all) != 1 {
		b.t.Fatalf("the spool holds %d entries, want 1", len(all))
	}
	return all[0]
}

func (b *bench) counter(name string) int64 {
	b.t.Helper()
	all, err := b.dir.Counters()
	if err != nil {
		b.t.Fatal(err)
	}
	for _, c := range all {
		if c.Name == name {
			return c.N
		}
	}
	return 0
}

func fault(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(testdata, "faults/inputs", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// built holds programs built for process tests, one of each kind a test run.
var built struct {
	sync.Mutex
	dir   string
	paths map[string]string
}

func TestMain(m *testing.M) {
	code := m.Run()
	if built.dir != "" {
		os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

// build builds cmem-hook as it is shipped, with more arguments for go build.
func build(t testing.TB, pkg string, args ...string) string {
	t.Helper()
	built.Lock()
	defer built.Unlock()
	key := pkg + strings.Join(args, " ")
	if path, ok := built.paths[key]; ok {
		return path
	}
	if built.dir == "" {
		dir, err := os.MkdirTemp("", "cmem-hook-test-")
		if err != nil {
			t.Fatal(err)
		}
		built.dir, built.paths = dir, map[string]string{}
	}
	folder, err := os.MkdirTemp(built.dir, "")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "cmem-hook")
	list := append([]string{"build", "-trimpath", "-ldflags", "-s -w", "-o", path}, args...)
	if out, err := exec.Command("go", append(list, pkg)...).CombinedOutput(); err != nil {
		t.Fatalf("go build %s: %v\n%s", pkg, err, out)
	}
	built.paths[key] = path
	return path
}

const hookProgram = "cmem/cmd/cmem-hook"

// process is one run of the built program.
func process(program, data, event string, payload []byte, env ...string) *exec.Cmd {
	cmd := exec.Command(program, "--data", data, "claude-code", event)
	cmd.Stdin = bytes.NewReader(payload)
	cmd.Env = append([]string{"HOME=" + data, "CMEM_AUTOSTART=false", "CMEM_FAIL_LOUD=0", "PATH=" + os.Getenv("PATH")}, env...)
	return cmd
}
