package ingest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"cmem/ingest/spool"
	"cmem/streams"
	"cmem/streams/streamstest"
)

func newDrainer(t testing.TB, l Log, dir string) *Drainer {
	t.Helper()
	return NewDrainer(DrainConfig{
		Ingester: newIngester(t, l, &memoryTable{}), Dir: dir, Now: time.Now, Logger: streamstest.Logger(t),
		Ticker: func(time.Duration) (<-chan time.Time, func()) { return nil, func() {} },
	})
}

func entries(t testing.TB, dir string) []string {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range all {
		if _, ours := spool.ParseName(e.Name()); ours {
			names = append(names, e.Name())
		}
	}
	return names
}

func TestDrain(t *testing.T) {
	l, dir := streamstest.New(t), filepath.Join(t.TempDir(), "spool")
	d := newDrainer(t, l, dir)
	put(t, dir, tool("s", "a", "1"))
	put(t, dir, at(tool("s", "a", "1"), time.Millisecond))
	put(t, dir, at(tool("s", "a", "2"), 2*time.Millisecond))
	put(t, dir, nameless("s", "xx", time.Hour))
	put(t, dir, nameless("s", "xx", time.Hour+1))
	if err := os.WriteFile(filepath.Join(dir, "0000000000000000001-1-0123456789abcdef.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.RunToEnd(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := d.Counts(), (Counts{Added: 2, Held: 1, Conflicts: 1, Duplicates: 1, Corrupt: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if left := entries(t, dir); left != nil {
		t.Errorf("left: %v", left)
	}
}

// TestDrainWhileTheLogTakesNothing: entries stay, as new, until it does.
func TestDrainWhileTheLogTakesNothing(t *testing.T) {
	for _, saved := range []bool{false, true} {
		l, dir := &brokenLog{Log: streamstest.New(t)}, filepath.Join(t.TempDir(), "spool")
		d := newDrainer(t, l, dir)
		for n := range 5 {
			put(t, dir, at(tool("s", fmt.Sprint(n), "1"), time.Duration(n)))
		}
		if l.before = streams.ErrDiskFull; saved {
			l.before, l.after = nil, streams.ErrUnknown
		}
		if err := d.RunToEnd(t.Context()); err == nil {
			t.Fatal("no error")
		}
		if left := len(entries(t, dir)); left != 5 {
			t.Errorf("saved=%v: %d left, want 5", saved, left)
		}
		l.before, l.after = nil, nil
		if err := d.RunToEnd(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := len(streamstest.Records(t, l.Log, 0)); got != 5 {
			t.Errorf("saved=%v: log holds %d, want 5", saved, got)
		}
		if c := d.Counts(); c.Failed != 0 || c.HeldOver != 0 {
			t.Errorf("saved=%v: %+v", saved, c)
		}
	}
}

// TestRunTakesInWhatComes without any tick: told by the watch, by a nudge.
func TestRunTakesInWhatComes(t *testing.T) {
	l, dir := streamstest.New(t), filepath.Join(t.TempDir(), "spool")
	before := goleak.IgnoreCurrent()
	d := newDrainer(t, l, dir)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	for n := range 20 {
		put(t, dir, at(tool("s", fmt.Sprint(n), "1"), time.Duration(n)))
		d.Nudge()
	}
	for head := streams.Position(0); len(streamstest.Records(t, l, 0)) < 20; {
		if err := l.Wait(ctx, head); err != nil {
			t.Fatal(err)
		}
		head = l.Head().Position
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	goleak.VerifyNone(t, before)
}

// TestDrainWithoutRoomForRemoval: a folder that became read-only does not make
// the same events go round. (Root removes all the same; then nothing is left.)
func TestDrainWithoutRoomForRemoval(t *testing.T) {
	l, dir := streamstest.New(t), filepath.Join(t.TempDir(), "spool")
	d := newDrainer(t, l, dir)
	put(t, dir, tool("s", "a", "1"))
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o700)
	if err := d.RunToEnd(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := d.RunToEnd(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := d.Counts()
	if c.Added != 1 || c.Held != 0 || c.Stuck != len(entries(t, dir)) {
		t.Errorf("got %+v with %d left", c, len(entries(t, dir)))
	}
}

// TestAnyOrderOfASession: a tool event may come before anything is known of its
// session, and drains in whatever order keep each event once.
func TestAnyOrderOfASession(t *testing.T) {
	in := faultPayloads(t, "lost-11.jsonl")
	for shift := range in {
		l, dir := streamstest.New(t), filepath.Join(t.TempDir(), "spool")
		d := newDrainer(t, l, dir)
		for n := range in {
			put(t, dir, in[(n+shift)%len(in)])
			if n%2 == 0 {
				if err := d.RunOnce(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := d.RunToEnd(t.Context()); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range streamstest.Records(t, l, 0) {
			got = append(got, r.Envelope.ID)
			if facts := Decode(r.Envelope); len(facts) == 0 || facts[0].Session != in[0].Subject {
				t.Errorf("%s: facts %v", r.Envelope.ID, facts)
			}
		}
		slices.Sort(got)
		if len(slices.Compact(got)) != len(in) {
			t.Errorf("shift %d: log holds %v", shift, got)
		}
	}
}

func TestRunToEndGivesUpWithTheContext(t *testing.T) {
	d := newDrainer(t, streamstest.New(t), filepath.Join(t.TempDir(), "spool"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	put(t, d.cfg.Dir, tool("s", "a", "1"))
	if err := d.RunToEnd(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
