//go:build failpoint && linux

package torture

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// many is more than any history here loses on purpose.
const many = 1000

// repair does what the doctor names. It answers with an error where something is
// left to say; the check afterwards says whether it was right.
func (f *farm) repair(failpoints string) { _ = f.run(failpoints, "repair", "--apply") }

// filled has a worker take in events and stop in order.
func filled(n int) func(*farm) error {
	return func(f *farm) error {
		return errors.Join(hooks(n)(f), f.start(""), f.settled(), f.stop())
	}
}

// streamGone takes the server's folder away, of which a net is left.
func streamGone(f *farm) error {
	if err := errors.Join(f.stop(), filled(1)(f)); err != nil {
		return err
	}
	return os.RemoveAll(filepath.Join(f.home().Log(), "jetstream", "$G", "streams", "cmem"))
}

// exchange puts the log of another time, or of another life, in the log's place.
func exchange(f, other *farm) error {
	return errors.Join(os.RemoveAll(f.home().Log()), copyTree(f.home().Log(), other.home().Log()))
}

// testRepair: a log that is not what was seen of it halts, hooks go on, and a repair
// has everything taken in that can be had.
func testRepair(t *testing.T, p programs) {
	for name, spoil := range map[string]func(f *farm, beside *farm) error{
		"an older copy": func(f, beside *farm) error {
			return errors.Join(os.CopyFS(beside.dir, os.DirFS(f.dir)), filled(3)(f), exchange(f, beside))
		},
		"another log": func(f, beside *farm) error {
			return errors.Join(filled(2)(beside), exchange(f, beside))
		},
		"a copy that went another way": func(f, beside *farm) error {
			beside.n.Store(500)
			return errors.Join(os.CopyFS(beside.dir, os.DirFS(f.dir)), filled(4)(beside), filled(3)(f), exchange(f, beside))
		},
		"no stream": func(f, _ *farm) error { return errors.Join(f.start(""), f.settled(), streamGone(f)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, beside := newFarm(p, t.TempDir()), newFarm(p, filepath.Join(t.TempDir(), "beside"))
			f.extra = []string{"CMEM_REACHED=" + f.dir + ".reached"}
			defer f.kill()
			defer beside.kill()
			if err := errors.Join(filled(3)(f), spoil(f, beside)); err != nil {
				t.Fatal(err)
			}
			before := len(f.sent)
			if err := errors.Join(f.start(""), hooks(2)(f)); err != nil {
				t.Fatal(err)
			}
			f.repair("")
			if over, _ := f.gone(); over {
				f.kill()
				if err := f.start(""); err != nil {
					t.Fatal(err)
				}
			}
			if err := f.settled(); err != nil {
				t.Fatal(err)
			}
			f.kill()
			keep(f.dir + ".reached")
			want := f.expected()
			want.maybe = append(append(want.maybe, want.sent[:before]...), beside.sent...)
			want.sent, want.found, want.lost = want.sent[before:], true, 0
			want.rebuilt = true
			if err := check(f.dir, want); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("torn again and again", func(t *testing.T) { tornAgain(t, p) })
	t.Run("what was lost comes again", func(t *testing.T) { comesAgain(t, p) })
	t.Run("damage that cannot be told at once", func(t *testing.T) { toldLate(t, p) })
}

// counting is a farm whose recoveries are counted.
func counting(t *testing.T, p programs) *farm {
	f := newFarm(p, t.TempDir())
	f.extra = []string{"CMEM_REACHED=" + f.dir + ".reached"}
	t.Cleanup(f.kill)
	return f
}

// ends kills the worker and looks at what is left, for what was expected and more.
func ends(t *testing.T, f *farm, more func(want *expectation)) {
	t.Helper()
	f.kill()
	keep(f.dir + ".reached")
	want := f.expected()
	more(&want)
	if err := check(f.dir, want); err != nil {
		t.Error(err)
	}
}

// tornAgain: a kill after a kill leaves a torn tail each time; copies of them stay few.
func tornAgain(t *testing.T, p programs) {
	f := counting(t, p)
	if err := errors.Join(hooks(2)(f), f.start(""), f.settled()); err != nil {
		t.Fatal(err)
	}
	for n := range 8 {
		failpoints := ""
		if n == 3 {
			failpoints = "mend.kept=kill" // the copy is kept, and of use to the next start
		}
		if err := errors.Join(block(torn)(f), f.hook(""), f.start(failpoints)); err != nil {
			t.Fatal(err)
		}
		if n == 3 {
			<-f.ended
			f.worker = nil
			if err := f.start(""); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.settled(); err != nil {
			t.Fatal(err)
		}
	}
	ends(t, f, func(want *expectation) { want.found = true })
}

// comesAgain: an event that the log lost is taken in when it is told again.
func comesAgain(t *testing.T, p programs) {
	f := counting(t, p)
	if err := errors.Join(filled(3)(f), block(flipped)(f), f.start(""), f.hook(""), f.settled()); err != nil {
		t.Fatal(err)
	}
	id := f.sent[0]
	if err := errors.Join(f.stop(), f.run("", "rebuild"), f.start(""), f.send("", id, "PostToolUse", payload(id, 0)), f.settled()); err != nil {
		t.Fatal(err)
	}
	f.sent = f.sent[:len(f.sent)-1] // it was told twice, and is there once
	ends(t, f, func(want *expectation) { want.found, want.rebuilt = true, true })
}

// toldLate: the log cannot take in, when it is opened, what was found lost.
func toldLate(t *testing.T, p programs) {
	f := counting(t, p)
	if err := errors.Join(filled(3)(f), block(flipped)(f), f.hook(""), f.start("file.create:unclean.json=error;append.send=error@1;append.settle=error@1")); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.settled(), f.hook(""), f.settled()); err != nil {
		t.Fatal(fmt.Errorf("after an untold loss: %w", err))
	}
	ends(t, f, func(want *expectation) { want.found, want.lost, want.rebuilt = true, 1, true })
}
