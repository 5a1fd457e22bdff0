package streams

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// logOf makes a log of n envelopes beside its head file and closes it.
func logOf(t *testing.T, n int) (c Config, end Checkpoint) {
	t.Helper()
	root := t.TempDir()
	c = Config{Dir: filepath.Join(root, "log"), HeadFile: filepath.Join(root, "head"), Reserve: -1}
	l, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(t.Context(), numbered(0, n)...); err != nil {
		t.Fatal(err)
	}
	end = l.Head()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return c, end
}

// halts opens the log twice: it halts for the same reason, can be read, and takes
// nothing in.
func halts(t *testing.T, c Config, kind HaltKind) {
	t.Helper()
	for range 2 {
		l, err := Open(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		var halt *Halt
		if _, err := l.Append(t.Context(), numbered(900, 901)...); !errors.As(err, &halt) || !errors.Is(err, ErrHalted) || halt.Kind != kind {
			t.Errorf("append to a log that is %s: %v", kind, err)
		}
		if len(l.Opening().Found) == 0 {
			t.Error("opening does not say it")
		}
		for _, err := range l.Read(t.Context(), 0) {
			if err != nil {
				t.Error(err)
			}
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// accepted opens it as it is and says where the next event comes to lie; the next
// start knows of nothing.
func accepted(t *testing.T, c Config) (next Position) {
	t.Helper()
	c.Accept = true
	l, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	at, err := l.Append(t.Context(), numbered(900, 901)...)
	if err := errors.Join(err, l.Close()); err != nil {
		t.Fatal(err)
	}
	c.Accept, c.Seen = false, nil
	if l, err = Open(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if l.Halted() != nil {
		t.Errorf("after it was accepted: %v", l.Halted())
	}
	return at[0]
}

func copyLog(t *testing.T, from string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "log")
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return to
}

func TestAnOlderCopyTakesNothingInAndGivesNoNumberAgain(t *testing.T) {
	for _, clean := range []bool{true, false} {
		c, _ := logOf(t, 10)
		older := copyLog(t, c.Dir)
		l, err := Open(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Append(t.Context(), numbered(10, 30)...); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		c.Dir = older
		if !clean {
			if err := os.Remove(filepath.Join(older, "clean")); err != nil {
				t.Fatal(err)
			}
		}
		halts(t, c, HaltShorter)
		if next := accepted(t, c); next != 31 {
			t.Errorf("the next event is at %d, want 31: 30 were given", next)
		}
	}
}

func TestAnotherLogTakesNothingIn(t *testing.T) {
	c, _ := logOf(t, 10)
	other, _ := logOf(t, 20)
	c.Dir = other.Dir
	halts(t, c, HaltOther)
	if next := accepted(t, c); next != 21 {
		t.Errorf("the next event is at %d, want 21", next)
	}
}

// Two copies went different ways: each is whole, and what read models saw tells
// them apart.
func TestALogThatWentAnotherWayTakesNothingIn(t *testing.T) {
	c, _ := logOf(t, 10)
	fork := copyLog(t, c.Dir)
	var ends [2]Checkpoint
	for i, dir := range []string{c.Dir, fork} {
		l, err := Open(t.Context(), Config{Dir: dir, Reserve: -1})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Append(t.Context(), numbered(100*i+100, 100*i+105)...); err != nil {
			t.Fatal(err)
		}
		ends[i] = l.Head()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	c.HeadFile = ""
	c.Seen = []Seen{{Who: "the records", At: ends[0]}}
	if l, err := Open(t.Context(), c); err != nil || l.Halted() != nil {
		t.Fatal("its own end halts it", err)
	} else if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	c.Seen = []Seen{{Who: "the records", At: ends[1]}}
	halts(t, c, HaltDiffers)
	accepted(t, c)
}

// A log that was here is not begun anew because its folder is gone.
func TestALogThatIsGoneIsNotBegunAnew(t *testing.T) {
	c, end := logOf(t, 10)
	if err := os.RemoveAll(c.Dir); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]Config{
		"the head file remembers": c,
		"read models remember":    {Dir: c.Dir, Reserve: -1, Seen: []Seen{{Who: "the records", At: end}}},
	} {
		if l, err := Open(t.Context(), c); !errors.Is(err, ErrMissing) {
			t.Errorf("%s: %v %v", name, l, err)
		}
		if entries, err := os.ReadDir(c.Dir); err == nil && len(entries) > 1 { // the lock
			t.Errorf("%s: something was made: %v", name, entries)
		}
	}
	if next := accepted(t, c); next != 1 {
		t.Errorf("the first event is at %d", next)
	}
}

func TestEveryBlockIsLookedAtWhenAskedTo(t *testing.T) {
	c, _ := logOf(t, 50)
	path := layout{c.Dir}.block("1.blk")
	data, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, flipBody(20)(data), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	c.Scan = true
	l, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	tellsOnce(t, l, 21)
}

// A read model of another log is none of the log's business while the head file
// knows the log.
func TestAStrangeReadModelDoesNotHaltALogThatTheHeadFileKnows(t *testing.T) {
	c, _ := logOf(t, 10)
	_, other := logOf(t, 20)
	c.Seen = []Seen{{Who: "the records", At: other}}
	l, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if l.Halted() != nil {
		t.Error(l.Halted())
	}
}
