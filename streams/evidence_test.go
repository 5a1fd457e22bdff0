package streams

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A machine that loses power again and again leaves the end of an append each time:
// every one is told, and few copies of blocks are kept.
func TestCopiesOfWhatLostNothingAreFew(t *testing.T) {
	dir := t.TempDir()
	head := filepath.Join(t.TempDir(), "head")
	for n := range 2 * maxCuts {
		l, err := Open(t.Context(), Config{Dir: dir, HeadFile: head, Reserve: -1})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Append(t.Context(), numbered(n, n+1)...); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		unfinished(t, layout{dir})
	}
	l, err := Open(t.Context(), Config{Dir: dir, HeadFile: head, Reserve: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	all, err := l.Findings()
	if err != nil || len(all) != 2*maxCuts {
		t.Fatalf("%d findings, want %d, %v", len(all), 2*maxCuts, err)
	}
	for i, f := range all {
		_, err := os.Stat(filepath.Join(f.Evidence, f.Blocks[0]))
		if kept := err == nil; kept != (i >= maxCuts) || f.Count() > 0 || f.Cut == 0 {
			t.Errorf("finding %d: %+v, a copy is kept: %v", i, f, kept)
		}
	}
	if r, err := l.Verify(t.Context(), nil); err != nil || !r.OK() || r.Values != 2*maxCuts {
		t.Errorf("verify: %+v, %v", r, err)
	}
}

// unfinished leaves what a power cut in an append leaves.
func unfinished(t *testing.T, l layout) {
	t.Helper()
	names, err := l.blocks()
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(l.block(names[len(names)-1]), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Write(make([]byte, 100))
	if err := errors.Join(err, f.Close(), os.Remove(l.clean())); err != nil {
		t.Fatal(err)
	}
}

// A start that is refused is tried again by every hook: the copy it keeps is the
// one that is there.
func TestRefusedStartsKeepOneCopy(t *testing.T) {
	dir, head := spoiled(t, 50, flipBody(20))
	for range 3 {
		l, err := newLog(Config{Dir: dir, HeadFile: head})
		if err != nil {
			t.Fatal(err)
		}
		l.server = "9.9.9"
		if err := l.open(t.Context()); !errors.Is(err, ErrDamaged) {
			t.Fatal(err)
		}
	}
	copies, err := filepath.Glob(filepath.Join(dir, "evidence", "*", "1.blk"))
	if err != nil || len(copies) != 1 {
		t.Errorf("%d copies, want one, %v", len(copies), err)
	}
	l, err := Open(t.Context(), Config{Dir: dir, HeadFile: head})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if all, err := l.Findings(); err != nil || len(all) != 1 || all[0].Count() != 1 {
		t.Errorf("%+v, %v", all, err)
	}
}
