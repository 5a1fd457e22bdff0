package streams

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"cmem/streams/block"
)

// spoiled is the folder of a log of n envelopes that was killed, and whose block 1
// was changed afterwards.
func spoiled(t *testing.T, n int, change func([]byte) []byte) (dir, head string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "log")
	head = filepath.Join(filepath.Dir(dir), "head")
	l, err := Open(t.Context(), Config{Dir: dir, HeadFile: head})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(t.Context(), numbered(0, n)...); err != nil {
		t.Fatal(err)
	}
	path := l.layout.block("1.blk")
	if err := errors.Join(l.Close(), os.Remove(l.layout.clean())); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, change(data), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, head
}

func flipBody(n int) func([]byte) []byte {
	return func(data []byte) []byte {
		at := bytes.Index(data, fmt.Appendf(nil, `{"n":%d}`, n))
		data[at+1] ^= 1
		return data
	}
}

// A crash at any step of mending: the next start does what is left, and what was
// lost is told once.
func TestACrashWhileMendingLosesNothingMore(t *testing.T) {
	for _, step := range []string{"mend.kept", "mend.block"} {
		t.Run(step, func(t *testing.T) {
			dir, head := spoiled(t, 50, flipBody(20))
			l, err := newLog(Config{Dir: dir, HeadFile: head})
			if err != nil {
				t.Fatal(err)
			}
			l.fault = failAt(step, 1)
			if err := l.open(t.Context()); !errors.Is(err, errInjected) {
				t.Fatal(err)
			}
			if l, err = Open(t.Context(), Config{Dir: dir, HeadFile: head}); err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			tellsOnce(t, l, 21)
		})
	}
}

// tellsOnce: the position is lost, all others are there, and one log.damaged says so.
func tellsOnce(t *testing.T, l *Log, lost Position) {
	t.Helper()
	for range 2 {
		if err := l.TellDamage(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	told := 0
	for r, err := range l.Read(t.Context(), 0) {
		switch {
		case err != nil:
			t.Fatal(err)
		case r.Envelope.Type == "log.damaged":
			told++
		case r.Position == lost || r.Envelope.ID != fmt.Sprint("id-", r.Position-1):
			t.Errorf("%d holds %s", r.Position, r.Envelope.ID)
		}
	}
	if told != 1 || l.Head().Position != 51 {
		t.Errorf("told %d times, the log ends at %d", told, l.Head().Position)
	}
	r, err := l.Verify(t.Context(), nil)
	if err != nil || !r.OK() || len(r.Told) != 1 || r.Told[0].First != lost || r.Told[0].Last != lost {
		t.Errorf("%+v %v", r, err)
	}
}

func TestAFindingNamesWhatCanStillBeRead(t *testing.T) {
	dir, head := spoiled(t, 50, flipBody(20))
	l, err := Open(t.Context(), Config{Dir: dir, HeadFile: head})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	all, err := l.Findings()
	if err != nil || len(all) != 1 || len(all[0].Lost) != 1 {
		t.Fatalf("%+v %v", all, err)
	}
	want := Name{Position: 21, ID: "id-20", Type: "hook.received", Source: "test", Session: "s"}
	got := all[0].Lost[0].Names
	if len(got) != 1 || got[0].Time.Unix() != 20 {
		t.Fatalf("%+v", got)
	}
	if got[0].Time = want.Time; got[0] != want {
		t.Errorf("%+v, want %+v", got[0], want)
	}
	before, err := os.ReadFile(filepath.Join(all[0].Evidence, "1.blk"))
	if err != nil || !bytes.Contains(before, []byte(`{#n":20}`)) {
		t.Errorf("no copy of the block as it was: %v", err)
	}
}

// What a server of another version wrote is copied and not touched.
func TestAnUnknownLayoutIsNotMended(t *testing.T) {
	dir, head := spoiled(t, 50, flipBody(20))
	path := layout{dir}.block("1.blk")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	l, err := newLog(Config{Dir: dir, HeadFile: head})
	if err != nil {
		t.Fatal(err)
	}
	l.server = "9.9.9"
	if err := l.open(t.Context()); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "9.9.9") {
		t.Fatal(err)
	}
	after, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(before, after) {
		t.Error("the block was changed", err)
	}
	copies, err := filepath.Glob(filepath.Join(dir, "evidence", "*", "1.blk"))
	if err != nil || len(copies) != 1 {
		t.Error("no copy", copies, err)
	}
}

// The end of an append that was never acknowledged is cut off; where more was
// acknowledged than there is, that is a loss and its sequences stay taken.
func TestATornEndIsALossOnlyIfItWasAcknowledged(t *testing.T) {
	tear := func(data []byte) []byte { return data[:len(data)-10] }
	for name, c := range map[string]struct {
		forget bool
		head   Position
		lost   uint64
	}{
		"acknowledged":                  {false, 50, 1},
		"as far as is known it was not": {true, 49, 0},
	} {
		t.Run(name, func(t *testing.T) {
			dir, head := spoiled(t, 50, tear)
			if c.forget {
				if err := os.Remove(head); err != nil {
					t.Fatal(err)
				}
			}
			l, err := Open(t.Context(), Config{Dir: dir, HeadFile: head})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			all, err := l.Findings()
			if err != nil || len(all) != 1 || all[0].Count() != c.lost {
				t.Fatalf("%+v %v", all, err)
			}
			at, err := l.Append(t.Context(), numbered(100, 101)...)
			if err != nil || at[0] != c.head+1 {
				t.Errorf("the next is at %d, want %d: %v", at, c.head+1, err)
			}
		})
	}
}

func TestAHeadFileThatSaysNothingIsNoAlarm(t *testing.T) {
	path := filepath.Join(t.TempDir(), "head")
	h, err := openHeadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(h.set("abc", 7), h.set("abc", 8), h.close()); err != nil {
		t.Fatal(err)
	}
	if seen, ok, err := readHeadFile(path); err != nil || !ok || seen != (seenHead{"abc", 8}) {
		t.Errorf("%+v %v %v", seen, ok, err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range len(whole) - 1 {
		if err := os.WriteFile(path, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, ok, err := readHeadFile(path); ok || err != nil {
			t.Errorf("cut at %d: %v %v", cut, ok, err)
		}
	}
}

// blocks/<version> holds a block that the server of that version wrote: a new
// version needs its own before it may be used.
func TestBlocksOfTheServerInUseAreRead(t *testing.T) {
	if !slices.Contains(blockVersions, server.VERSION) {
		t.Errorf("the server is %s; known are %v", server.VERSION, blockVersions)
	}
	for _, version := range blockVersions {
		data, err := os.ReadFile(filepath.Join("testdata", "blocks", version, "1.blk"))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		r, err := block.Scan(data, streamName, 1, func(r block.Record) {
			got += fmt.Sprintf("%d\t%d\t%d\t%s\t%s\t%d\n", r.Offset, r.Kind, r.Sequence, r.Subject, block.Fields(r.Header)["ce-id"], len(r.Data))
		})
		if err != nil || len(r.Damage) > 0 {
			t.Errorf("%s: %+v %v", version, r.Damage, err)
		}
		golden := filepath.Join("testdata", "blocks", version, "1.tsv")
		if os.Getenv("CMEM_UPDATE") != "" {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil || string(want) != got {
			t.Errorf("%s: %v\n%s", version, err, got)
		}
	}
}

// BenchmarkSurvey is the look at all blocks before a start after a kill.
func BenchmarkSurvey(b *testing.B) {
	l, err := Open(b.Context(), Config{Dir: filepath.Join(b.TempDir(), "log"), Reserve: -1})
	if err != nil {
		b.Fatal(err)
	}
	envs := numbered(0, 60_000)
	for i := range envs {
		envs[i].Body = bytes.Repeat([]byte(fmt.Sprintf("%08d", i)), 50)
	}
	for chunk := range slices.Chunk(envs, 1000) {
		if _, err := l.Append(b.Context(), chunk...); err != nil {
			b.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
	var total int64
	for b.Loop() {
		s, err := l.layout.survey(0)
		if err != nil || len(s.damaged()) > 0 {
			b.Fatal(err)
		}
		total = 0
		for _, one := range s.blocks {
			total += int64(one.report.Bytes)
		}
	}
	b.SetBytes(total)
}
