package projections_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"cmem/projections"
	"cmem/streams"
	"cmem/streams/envelope"
	"cmem/streams/event"
	"cmem/streams/streamstest"
)

// list is a model that remembers what it was given, in a file.
type list struct {
	path   string
	at     streams.Checkpoint
	ids    []string
	poison string
}

func (l *list) Name() string                            { return "list" }
func (l *list) Checkpoint() (streams.Checkpoint, error) { return l.at, nil }
func (l *list) Reset() error                            { l.at, l.ids = streams.Checkpoint{}, nil; return nil }

func (l *list) Apply(batch []projections.Entry, upto streams.Checkpoint) error {
	ids := slices.Clone(l.ids)
	for _, e := range batch {
		if l.poison != "" && strings.HasSuffix(e.Record.Envelope.ID, l.poison) {
			panic("poison")
		}
		ids = append(ids, e.Record.Envelope.ID)
	}
	l.ids, l.at = ids, upto
	if l.path != "" {
		return os.WriteFile(l.path, []byte(strings.Join(ids, "\n")), 0o600)
	}
	return nil
}

func (l *list) Close() error { return nil }

func noFacts(envelope.Envelope) []event.Fact { return nil }

func projector(log projections.Log, m *list, c projections.Config) *projections.Projector[projections.Entry] {
	return projections.New[projections.Entry](projections.NewLogFeed(log, noFacts), m, c)
}

func TestTheLogIsAppliedOnceAndInOrder(t *testing.T) {
	log := streamstest.New(t)
	streamstest.Append(t, log, streamstest.Envelopes("s", 25)...)
	m := &list{}
	p := projector(log, m, projections.Config{Batch: 7})
	if n, err := p.RunOnce(t.Context()); err != nil || n != 7 {
		t.Fatalf("RunOnce applied %d (%v), want 7", n, err)
	}
	if n, err := p.RunToEnd(t.Context()); err != nil || n != 18 {
		t.Fatalf("RunToEnd applied %d (%v), want 18", n, err)
	}
	if n, err := p.RunToEnd(t.Context()); err != nil || n != 0 {
		t.Fatalf("a second run applied %d (%v), want none", n, err)
	}
	for i, id := range m.ids {
		if want := streamstest.Envelope("s", i).ID; id != want {
			t.Fatalf("place %d has %q, want %q", i, id, want)
		}
	}
	if m.at != log.Head() || p.Position() != m.at.Position {
		t.Errorf("the checkpoint is %v, Position %d, the head %v", m.at, p.Position(), log.Head())
	}
}

func TestRunFollowsTheLogUntilItIsStopped(t *testing.T) {
	log := streamstest.New(t)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	reached := make(chan streams.Position, 100)
	p := projector(log, &list{}, projections.Config{Applied: func(c streams.Checkpoint) { reached <- c.Position }})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	for i := range 3 {
		at := streamstest.Append(t, log, streamstest.Envelope("s", i))
		for got := range reached {
			if got >= at[0] {
				break
			}
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Run ends with %v", err)
	}
}

func TestACheckpointOfAnotherLogIsNotGoneOnFrom(t *testing.T) {
	log, other := streamstest.New(t), streamstest.New(t)
	for _, l := range []*streams.Log{log, other} {
		streamstest.Append(t, l, streamstest.Envelopes("s", 5)...)
	}
	m := &list{}
	if _, err := projector(other, m, projections.Config{}).RunToEnd(t.Context()); err != nil {
		t.Fatal(err)
	}
	middle := m.at
	middle.Log = log.Identity()
	streamstest.Append(t, log, streamstest.Envelopes("t", 5)...)
	for name, at := range map[string]streams.Checkpoint{
		"another identity": m.at,
		"another chain":    middle,
		"past the head":    {Log: log.Identity(), Position: log.Head().Position + 1, Chain: log.Head().Chain},
	} {
		fresh := &list{at: at}
		if _, err := projector(log, fresh, projections.Config{}).RunToEnd(t.Context()); !errors.Is(err, projections.ErrOtherLog) {
			t.Errorf("%s: %v, want ErrOtherLog", name, err)
		}
		if len(fresh.ids) != 0 {
			t.Errorf("%s: something was applied", name)
		}
	}
}

func TestAPanicNamesItsBatch(t *testing.T) {
	log := streamstest.New(t)
	at := streamstest.Append(t, log, streamstest.Envelopes("s", 3)...)
	_, err := projector(log, &list{poison: "/1"}, projections.Config{}).RunToEnd(t.Context())
	if err == nil || !strings.Contains(err.Error(), "list: apply 1..") || !strings.Contains(err.Error(), "poison") {
		t.Errorf("the error is %v", err)
	}
	decode := func(e envelope.Envelope) []event.Fact { panic("bad decoder") }
	feed := projections.NewLogFeed(log, decode)
	if _, _, err := feed.Next(t.Context(), streams.Checkpoint{}, 10); err == nil || !strings.Contains(err.Error(), "at position 1") {
		t.Errorf("a decoder's panic gives %v, want the position %d named", err, at[0])
	}
}

func rebuild(t *testing.T, path string, log projections.Log, poison string) error {
	t.Helper()
	open := func(p string) (*list, error) { return &list{path: p, poison: poison}, os.WriteFile(p, nil, 0o600) }
	_, err := projections.Rebuild(t.Context(), path, func(p string) (*list, error) {
		if p == path {
			return &list{path: p}, nil
		}
		return open(p)
	}, projections.Feed[projections.Entry](projections.NewLogFeed(log, noFacts)), projections.Config{})
	return err
}

func content(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func names(t *testing.T, dir string) (out []string) {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		out = append(out, e.Name())
	}
	return out
}

func TestRebuildTakesThePlaceOfTheOldOneWhole(t *testing.T) {
	log := streamstest.New(t)
	streamstest.Append(t, log, streamstest.Envelopes("s", 3)...)
	path := filepath.Join(t.TempDir(), "model")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := rebuild(t, path, log, "/1"); err == nil {
		t.Fatal("a build that fails was put in place")
	}
	if got := content(t, path); got != "old" || len(names(t, filepath.Dir(path))) != 1 {
		t.Fatalf("after a failed build: %q among %v", got, names(t, filepath.Dir(path)))
	}
	for range 2 {
		if err := rebuild(t, path, log, ""); err != nil {
			t.Fatal(err)
		}
	}
	if got := content(t, path); strings.Count(got, "\n") != 2 {
		t.Errorf("the new build holds %q", got)
	}
	if got := names(t, filepath.Dir(path)); !slices.Equal(got, []string{"model", "model.old"}) {
		t.Errorf("beside it are %v, want one old build", got)
	}
}

func TestSettleFinishesWhatACrashLeft(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"in the middle of a build":      {map[string]string{"model": "a", "model.new": "half"}, "a"},
		"before the swap":               {map[string]string{"model": "a", "model.ready": "b"}, "b"},
		"between the swap's two halves": {map[string]string{"model.old": "a", "model.ready": "b"}, "b"},
		"nothing happened":              {map[string]string{"model": "a", "model.old": "o"}, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range c.files {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			path := filepath.Join(dir, "model")
			if err := projections.Settle(path); err != nil {
				t.Fatal(err)
			}
			if got := content(t, path); got != c.want {
				t.Errorf("the model is %q, want %q", got, c.want)
			}
			for _, n := range names(t, dir) {
				if n != "model" && n != "model.old" {
					t.Errorf("%s is left", n)
				}
			}
		})
	}
}
