package streams_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"cmem/streams"
	"cmem/streams/streamstest"
)

// crasherDir is removed when the tests are over.
var crasherDir string

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if crasherDir != "" {
			os.RemoveAll(crasherDir)
		}
		os.Exit(code)
	}))
}

// crasher builds the program once, with failpoints.
var crasher = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "crasher")
	if err != nil {
		return "", err
	}
	crasherDir = dir
	bin := filepath.Join(dir, "crasher")
	if runtime.GOOS == "windows" {
		bin += ".exe"
	}
	out, err := exec.Command("go", "build", "-tags", "failpoint", "-o", bin, "./testdata/crasher").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build crasher: %w\n%s", err, out)
	}
	return bin, nil
})

// crash runs the program, kills it after so many acknowledgements (0: lets a
// failpoint do it, or lets it end), and returns how many were acknowledged.
func crash(t *testing.T, dir, failpoints string, count, killAfter int) (acked int, killed bool) {
	t.Helper()
	bin, err := crasher()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(bin, dir, fmt.Sprint(count))
	child.Env = append(os.Environ(), "CMEM_FAILPOINTS="+failpoints)
	var stderr bytes.Buffer
	child.Stderr = &stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines, seen := bufio.NewScanner(out), 0
	for lines.Scan() {
		var n int
		if _, err := fmt.Sscanf(lines.Text(), "acked %d", &n); err == nil {
			acked = n + 1
			if seen++; seen == killAfter {
				if err := child.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		} else if _, err := fmt.Sscanf(lines.Text(), "open %d", &n); err == nil {
			acked = n
		}
	}
	err = child.Wait()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() > 0) {
		t.Fatalf("crasher: %v\n%s", err, stderr.String())
	}
	return acked, err != nil
}

// whole checks that the log has envelopes 0…n-1 once, in order, with n ≥ acked.
func whole(t *testing.T, dir string, acked int) int {
	t.Helper()
	l := streamstest.Open(t, dir)
	n := 0
	for r, err := range l.Read(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprint("n/", n); r.Envelope.ID != want {
			t.Fatalf("record %d at %d is %q", n, r.Position, r.Envelope.ID)
		}
		n++
	}
	if n < acked {
		t.Fatalf("%d acknowledged, %d in the log", acked, n)
	}
	if o := l.Opening(); len(o.Found) > 0 || len(l.Gaps()) > 0 {
		t.Fatalf("found %q, gaps %v", o.Found, l.Gaps())
	}
	verified(t, l)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestAKillAtAnyStepOfAnAppendLosesNothing(t *testing.T) {
	for _, step := range []string{
		"append.send=kill", "append.send=kill@2", "append.send=kill@7",
		"append.commit=kill", "append.commit=kill@3",
		"append.acked=kill", "append.acked=kill@2", "append.acked=kill@4", "append.acked=kill@5",
		"open.unmarked=kill", "open.netted=kill", "close.mark=kill",
		"file.write=kill", "file.sync=kill@2", "file.rename=kill", "file.rename=kill@2", "file.rename=kill@3",
		"dir.sync=kill", "dir.sync=kill@2", "dir.sync=kill@3",
	} {
		t.Run(step, func(t *testing.T) {
			t.Parallel() // they wait for the disk, mostly
			dir := t.TempDir()
			acked, killed := crash(t, dir, step, 200, 0)
			if !killed {
				t.Fatal("the failpoint was not reached")
			}
			n := whole(t, dir, acked)
			if acked, killed = crash(t, dir, "", max(n, 180), 0); killed {
				t.Fatal("killed without a failpoint")
			}
			if n := whole(t, dir, acked); n < 180 {
				t.Fatalf("%d in the end", n)
			}
		})
	}
}

func TestAKillAtAnyMomentLosesNothing(t *testing.T) {
	rounds := 20
	if testing.Short() {
		rounds = 5
	}
	rnd := rand.New(rand.NewPCG(7, 7))
	dir, have := t.TempDir(), 0
	for range rounds {
		acked, _ := crash(t, dir, "", have+1000, 1+rnd.IntN(250))
		have = whole(t, dir, acked)
		if rnd.IntN(2) == 0 { // and a kill right after a kill
			acked, _ = crash(t, dir, "", have+1000, 1)
			have = acked
		}
	}
}

func TestAnAppendThatFailsAtAStepIsFoundSaved(t *testing.T) {
	for _, step := range []string{"append.acked=error@2;append.send=error@4;append.commit=error@5"} {
		dir := t.TempDir()
		acked, killed := crash(t, dir, step, 400, 0)
		if killed || acked != 400 {
			t.Fatalf("%s: %d acknowledged, killed %v", step, acked, killed)
		}
		if n := whole(t, dir, acked); n != 400 {
			t.Fatalf("%s: %d in the log", step, n)
		}
	}
}

func TestAKilledLogSaysSoAndKeepsANet(t *testing.T) {
	dir := t.TempDir()
	if _, killed := crash(t, dir, "append.acked=kill@3", 400, 0); !killed {
		t.Fatal("not killed")
	}
	nets := func() int {
		entries, err := os.ReadDir(filepath.Join(dir, "net"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return len(entries)
	}
	l, err := streams.Open(t.Context(), streams.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if o := l.Opening(); o.Clean || o.Created {
		t.Fatalf("opening after a kill: %+v", o)
	}
	if nets() != 1 {
		t.Fatalf("%d nets after an unclean start", nets())
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = streamstest.Open(t, dir)
	if !l.Opening().Clean || nets() != 1 {
		t.Fatalf("after a clean start: %+v, %d nets", l.Opening(), nets())
	}
	if _, err := os.Stat(filepath.Join(dir, "net", "2", "msgs", "1.blk")); err != nil {
		t.Fatal(err)
	}
}

func TestNetsStayFewOverManyKills(t *testing.T) {
	dir := t.TempDir()
	for i := range 7 {
		if _, killed := crash(t, dir, "append.acked=kill", 400, 0); !killed {
			t.Fatalf("round %d: not killed", i)
		}
	}
	entries, err := os.ReadDir(filepath.Join(dir, "net"))
	if err != nil || len(entries) != 4 || entries[0].Name() != "1" || entries[3].Name() != "6" {
		t.Fatalf("nets %v, %v", entries, err)
	}
}
