//go:build failpoint

package durable

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestAFailpointFailsTheNthCall(t *testing.T) {
	t.Cleanup(func() { Arm("") })
	Arm("a=error; b=error@2")
	for i, want := range []bool{false, true, false} {
		if got := errors.Is(Failpoint("b"), ErrFailpoint); got != want {
			t.Errorf("call %d of b failed: %v", i+1, got)
		}
		if !errors.Is(Failpoint("a"), ErrFailpoint) || Failpoint("c") != nil {
			t.Errorf("call %d of a did not fail, or of c did", i+1)
		}
	}
}

func TestAWrittenFileIsOldOrNewAtEachStep(t *testing.T) {
	t.Cleanup(func() { Arm("") })
	for _, step := range []string{"file.create", "file.write", "file.sync", "file.rename", "dir.sync"} {
		dir := t.TempDir()
		path := filepath.Join(dir, "f")
		Arm("")
		if err := WriteFile(path, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		Arm(step + "=error")
		if err := WriteFile(path, []byte("new"), 0o600); !errors.Is(err, ErrFailpoint) {
			t.Errorf("%s: %v", step, err)
		}
		want := "old"
		if step == "dir.sync" {
			want = "new"
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s left %q, %v", step, got, err)
		}
		onlyFile(t, dir, "f")
	}
}

func TestAFailpointMayOnlyTakeLonger(t *testing.T) {
	t.Cleanup(func() { Arm("") })
	Arm("a=delay:20ms")
	if began := time.Now(); Failpoint("a") != nil || time.Since(began) < 20*time.Millisecond {
		t.Error("it failed or did not take longer")
	}
}

func TestOneFileMayBeFailedAmongOthers(t *testing.T) {
	t.Cleanup(func() { Arm("") })
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	for point, saved := range map[string]bool{"file.create:b": false, "file.done:b": true} {
		Arm(point + "=error")
		if err := WriteFile(a, nil, 0o600); err != nil {
			t.Errorf("%s failed a: %v", point, err)
		}
		if err := WriteFile(b, nil, 0o600); !errors.Is(err, ErrFailpoint) {
			t.Errorf("%s: %v", point, err)
		}
		if _, err := os.Stat(b); (err == nil) != saved {
			t.Errorf("%s left %v, want it there: %v", point, err, saved)
		}
		Arm("")
		if err := errors.Join(Remove(a), Remove(b)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAnUnknownFailpointWordPanics(t *testing.T) {
	t.Cleanup(func() { Arm("") })
	for _, word := range []string{"a", "a=explode", "a=kill@0", "a=error@x", "a=delay", "a=delay:x"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q was accepted", word)
				}
			}()
			Arm(word)
		}()
	}
}
