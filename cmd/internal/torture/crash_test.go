//go:build failpoint && linux

package torture

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"cmem/cmd/internal/torture/crashfs"
)

// TestMain doubles as the driver that strace watches: hooks and workers are its
// children, so that one trace has the calls of all in their order.
func TestMain(m *testing.M) {
	if dir := os.Getenv("TORTURE_DRIVER"); dir != "" {
		if err := drive(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// drive leads a random life on the data folder dir. Events that were handed off are
// told to <dir>.said, after it.
func drive(dir string) error {
	seed, err := strconv.ParseUint(os.Getenv("TORTURE_DRIVER_SEED"), 10, 64)
	if err != nil {
		return err
	}
	said, err := os.OpenFile(dir+".said", os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	f := newFarm(programs{os.Getenv("TORTURE_CMEM"), os.Getenv("TORTURE_HOOK")}, dir)
	f.said = func(id string) error { _, err := said.WriteString(id + "\n"); return err }
	defer f.kill()
	return errors.Join(f.life(rand.New(rand.NewPCG(seed, 11))), said.Close())
}

// life is everything that a data folder goes through, in an order of its own.
func (f *farm) life(rng *rand.Rand) error {
	if err := hooks(1 + rng.IntN(3))(f); err != nil {
		return err
	}
	steps := []func() error{
		f.turn,
		func() error { return f.together(3 + rng.IntN(6)) },
		func() error { return f.hookOf("", 1<<20) },
		func() error { f.kill(); return errors.Join(f.hook(""), f.start("")) },
		func() error { return errors.Join(f.settled(), f.stop(), f.hook(""), f.start("")) },
		func() error { return errors.Join(f.settled(), f.run("", "rebuild")) },
		f.retried,
	}
	rng.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
	if err := f.start(""); err != nil {
		return err
	}
	for _, step := range steps {
		if err := errors.Join(step(), f.hook("")); err != nil {
			return err
		}
	}
	return errors.Join(f.settled(), f.stop())
}

// retried brings back what was held: its names last in one folder at any moment.
func (f *farm) retried() error {
	if err := errors.Join(f.settled(), f.stop(), f.hook(""), f.hold()); err != nil {
		return err
	}
	return errors.Join(f.run("", "spool", "retry"), f.start(""))
}

// together sends events at one time.
func (f *farm) together(n int) error {
	var all sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		all.Go(func() { errs[i] = f.hook("") })
	}
	all.Wait()
	return errors.Join(errs...)
}

// settled waits until the worker has taken in what there is.
func (f *farm) settled() error {
	ok, err := f.drained()
	if err == nil && !ok {
		err = errors.New("the worker ended by itself")
	}
	return err
}

// traced runs the driver under strace and gives the file of its trace.
func traced(p programs, dir string, seed uint64) (string, error) {
	trace := dir + ".trace"
	c := exec.Command("strace", "-f", "-y", "-xx", "-s", "100000000", "--seccomp-bpf", "-e", "signal=none",
		"-e", "trace="+crashfs.Calls, "-o", trace, os.Args[0], "-test.run=^$")
	c.Env = append(os.Environ(), "TORTURE_DRIVER="+dir, "CMEM_REACHED=", fmt.Sprint("TORTURE_DRIVER_SEED=", seed), "TORTURE_CMEM="+p.cmem, "TORTURE_HOOK="+p.hook)
	out, err := c.CombinedOutput()
	if err != nil {
		return trace, fmt.Errorf("the traced life: %w\n%s", err, out)
	}
	return trace, nil
}

// crashState is a folder as a crash left it.
type crashState struct {
	name string // of the moment and the kind of crash
	dir  string
	want expectation
}

// testCrash has each folder that a crash at a sync would leave opened and checked.
// most is how often moments of one kind are looked at, see kindOf.
func testCrash(t *testing.T, p programs, seed uint64, most int) {
	root := t.TempDir()
	dir := filepath.Join(root, "data")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	trace, err := traced(p, dir, seed)
	if err != nil {
		t.Fatal(err)
	}
	all, err := crashes(trace, dir, most)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d folders to check", len(all))
	if len(all) < 20 {
		t.Fatalf("only %d folders: the trace has too few syncs", len(all))
	}
	for _, s := range all {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			kept := s.dir + ".before"
			if err := copyTree(kept, s.dir); err != nil {
				t.Fatal(err)
			}
			if err := check(s.dir, s.want); err != nil {
				t.Errorf("a crash here: %v%s", err, keepFolder(kept, t.Name()))
			}
			os.RemoveAll(kept)
			os.RemoveAll(s.dir)
		})
	}
}

// crashes restores the folders of a trace that differ from one another.
func crashes(trace, dir string, most int) (all []crashState, err error) {
	f, err := os.Open(trace)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	seen, times := map[string]bool{}, map[string]int{}
	err = crashfs.ReadTrace(f, dir, func(d *crashfs.Disk, m crashfs.Moment) error {
		if m.Call == "" {
			if err := asItIs(d, dir); err != nil {
				return fmt.Errorf("the model of the disk is wrong: %w", err)
			}
		}
		for _, c := range crashfs.Crashes {
			sent := strings.Fields(m.Said)
			key := fmt.Sprintf("%x %d", d.Sum(c), len(sent))
			kind := kindOf(m.Call) + c.String()
			if seen[key] || times[kind] >= most {
				continue
			}
			seen[key] = true
			times[kind]++
			s := crashState{name: fmt.Sprintf("%d %s %s", m.Number, c, m.Call), dir: filepath.Join(dir+".crashes", fmt.Sprint(m.Number, "-", int(c)))}
			s.want = expectation{sent: sent}
			for n := range 64 {
				s.want.maybe = append(s.want.maybe, fmt.Sprintf("toolu_01Tort%014d", n))
			}
			if err := d.Restore(c, s.dir); err != nil {
				return err
			}
			all = append(all, s)
		}
		return nil
	})
	return all, err
}

// asItIs compares the model, at its end, with the folder itself.
func asItIs(d *crashfs.Disk, dir string) error {
	model := dir + ".model"
	if err := d.Restore(crashfs.Killed, model); err != nil {
		return err
	}
	defer os.RemoveAll(model)
	return errors.Join(sameFiles(model, dir), sameFiles(dir, model))
}

// sameFiles: every file of a is in b, with the same bytes.
func sameFiles(a, b string) error {
	return filepath.WalkDir(a, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(a, path)
		if err != nil {
			return err
		}
		x, err := os.ReadFile(path)
		y, err2 := os.ReadFile(filepath.Join(b, rel))
		if err := errors.Join(err, err2); err != nil {
			return err
		}
		if !bytes.Equal(x, y) {
			return fmt.Errorf("%s differs: %d and %d bytes", rel, len(x), len(y))
		}
		return nil
	})
}

// kindOf is the call that comes next without its numbers: what is synced is synced
// again and again.
func kindOf(call string) string {
	return numbers.ReplaceAllString(call, "#")
}

var numbers = regexp.MustCompile(`[0-9a-f]{8,}|[0-9]+|[0-9a-f]+\.zap`)

// keepFolder moves a folder that shows a finding to where it stays.
func keepFolder(from, name string) string {
	to := filepath.Join(os.Getenv("TORTURE_KEEP"), strings.Map(func(r rune) rune {
		if r == '/' || r == ' ' || r == '$' {
			return '_'
		}
		return r
	}, name))
	if os.Getenv("TORTURE_KEEP") == "" {
		return ""
	}
	if err := copyTree(to, from); err != nil {
		return "\n" + err.Error()
	}
	return "\nkept in " + to
}
