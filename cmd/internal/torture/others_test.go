//go:build failpoint && linux

package torture

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cmem/streams/durable"
)

// finish checks a farm in the usual way.
func (f *farm) finish(t *testing.T) {
	t.Helper()
	f.kill()
	keep(f.dir + ".reached")
	if err := check(f.dir, f.expected()); err != nil {
		t.Error(err)
	}
}

// testRaces: what two do at once.
func testRaces(t *testing.T, p programs) {
	t.Run("two hooks make the key", func(t *testing.T) {
		f := newFarm(p, t.TempDir())
		f.extra = []string{"CMEM_REACHED=" + f.dir + ".reached", "CMEM_FAILPOINTS=key.link=delay:300ms"}
		if err := f.together(4); err != nil {
			t.Fatal(err)
		}
		f.finish(t)
	})
	t.Run("two workers", func(t *testing.T) {
		if err := twoWorkers(p, t.TempDir()); err != nil {
			t.Error(err)
		}
	})
	t.Run("a hook that died long ago", func(t *testing.T) {
		f := newFarm(p, t.TempDir())
		if err := errors.Join(f.hook("spool.created=kill"), f.hook("")); err != nil {
			t.Fatal(err)
		}
		all, _ := filepath.Glob(filepath.Join(f.home().Spool(), "tmp", "*"))
		long := time.Now().Add(-2 * time.Hour)
		for _, path := range all {
			if err := os.Chtimes(path, long, long); err != nil {
				t.Fatal(err)
			}
		}
		f.finish(t)
		if left, _ := filepath.Glob(filepath.Join(f.home().Spool(), "tmp", "*")); len(left) > 0 || len(all) == 0 {
			t.Errorf("of %d temporary files %d are left", len(all), len(left))
		}
	})
}

// twoWorkers: the second says one sentence and touches nothing.
func twoWorkers(p programs, dir string) error {
	f := newFarm(p, dir)
	defer f.kill()
	if err := errors.Join(hooks(2)(f), f.start("")); err != nil {
		return err
	}
	if err := f.settled(); err != nil {
		return err
	}
	// The socket alone would keep a second one out; here only the lock does.
	if err := os.Remove(f.home().Socket()); err != nil {
		return err
	}
	err := f.runFor(3*time.Second, "serve")
	if err == nil || !strings.Contains(err.Error(), "process") {
		return errors.Join(errors.New("a second worker did not refuse the folder"), err)
	}
	if err := errors.Join(hooks(2)(f), f.settled()); err != nil {
		return err
	}
	f.kill()
	return check(dir, f.expected())
}

// testSlow: a disk on which every sync takes long. Events are handed off, taken in
// once, and no append is taken for lost.
func testSlow(t *testing.T, p programs) {
	f := newFarm(p, t.TempDir())
	defer f.kill()
	if err := f.hook("spool.written=delay:500ms;spool.renamed=delay:500ms"); err != nil {
		t.Fatal(err)
	}
	if err := f.startAs("strace", "", "-f", "--seccomp-bpf", "-o", "/dev/null", "-e", "trace=fsync,fdatasync",
		"-e", "inject=fsync,fdatasync:delay_enter=100000", f.p.cmem, "serve"); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if err := errors.Join(f.hook(""), f.turn()); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(f.settled(), f.stop()); err != nil {
		t.Fatal(err)
	}
	f.finish(t)
}

// testBranches: every branch of recovery was taken, here or in a process.
func testBranches(t *testing.T) {
	counts := durable.ReachedCounts()
	for _, b := range rows(t, "branches.tsv") {
		if counts[b[0]] == 0 {
			t.Errorf("no history reached %s (%s)", b[0], b[1])
		}
		t.Logf("%6d %s", counts[b[0]], b[0])
	}
}
