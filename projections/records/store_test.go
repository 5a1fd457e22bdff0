package records

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
	"pgregory.net/rapid"

	"cmem/projections"
	"cmem/streams"
	"cmem/streams/event"
)

func asError[E error](err error, to *E) bool { return errors.As(err, to) }

func TestAFileThatCannotBeUsedIsNamedAndLeft(t *testing.T) {
	dir := t.TempDir()
	good := filepath.Join(dir, "good")
	s := openAt(t, good)
	apply(t, s, mixed(400), 100)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	other := func(c Config) func(string) error {
		return func(p string) error { _, err := Open(p, c); return err }
	}
	plain := Config{Versions: "test", LockWait: 20 * time.Millisecond}
	for name, c := range map[string]struct {
		bytes []byte
		open  func(string) error
		want  error
	}{
		"empty":          {nil, other(plain), ErrDamaged},
		"half":           {whole[:len(whole)/2], other(plain), ErrDamaged},
		"first page":     {whole[:4096], other(plain), ErrDamaged},
		"a few bytes":    {whole[:20], other(plain), ErrDamaged},
		"blank":          {make([]byte, len(whole)), other(plain), ErrDamaged},
		"text":           {[]byte(fmt.Sprintf("%8192s", "hello")), other(plain), ErrForeign},
		"other rules":    {whole, other(Config{Versions: "other"}), ErrVersion},
		"other log":      {whole, other(Config{Versions: "test", Log: "elsewhere"}), projections.ErrOtherLog},
		"newer":          {edited(t, whole, func(m *bolt.Bucket) error { return m.Put(kSchema, []byte("999")) }), other(plain), ErrNewer},
		"older":          {edited(t, whole, func(m *bolt.Bucket) error { return m.Put(kSchema, []byte("0")) }), other(plain), ErrVersion},
		"another's bolt": {edited(t, whole, func(m *bolt.Bucket) error { return m.Tx().DeleteBucket(bMeta) }), other(plain), ErrForeign},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "records")
			if err := os.WriteFile(path, c.bytes, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := c.open(path); !errors.Is(err, c.want) {
				t.Errorf("Open says %v, want %v", err, c.want)
			}
			after, err := os.ReadFile(path)
			if err != nil || string(after) != string(c.bytes) {
				t.Errorf("the file was changed (%v)", err)
			}
		})
	}
	held := openAt(t, good)
	if _, err := Open(good, plain); !errors.Is(err, ErrLocked) || errors.Is(err, ErrDamaged) {
		t.Errorf("a held file says %v, want ErrLocked", err)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := held.Stats(); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v, want ErrClosed", err)
	}
}

func edited(t *testing.T, whole []byte, do func(meta *bolt.Bucket) error) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "edited")
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Update(func(tx *bolt.Tx) error { return do(tx.Bucket(bMeta)) }); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	out, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A file cut short while it is open faults on reading; that must be an error.
func TestAFaultWhileReadingIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "records")
	s := openAt(t, path)
	apply(t, s, mixed(3000), 1000)
	if err := os.Truncate(path, 8192); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Digest(); !errors.Is(err, ErrDamaged) {
		t.Errorf("Digest of a cut file says %v, want ErrDamaged", err)
	}
}

// A follower that asks from wherever it stopped knows exactly what there is.
func TestFollowersMissNothing(t *testing.T) {
	fill := refilled(t)
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		r := rand.New(rand.NewPCG(seed, 9))
		x, y := randomTold(r, "s1"), randomTold(r, "s2")
		entries := in(mix(r, mix(r, x.hook, x.file), mix(r, y.hook, y.file)), idle("s1"))
		s := fill("", nil, 1)
		known := map[Doc]Document{}
		var at streams.Position
		for n := 0; n < len(entries); {
			n = min(n+1+r.IntN(30), len(entries))
			apply(t, s, entries[:n], 1+r.IntN(20))
			for range r.IntN(4) {
				at = follow(t, s, known, at, 1+r.IntN(6))
			}
		}
		for {
			before := at
			if at = follow(t, s, known, at, 3); at == before {
				break
			}
		}
		if want := documentsOf(t, s); !reflect.DeepEqual(known, want) {
			rt.Fatalf("seed %d: the follower knows %d documents, there are %d", seed, len(known), len(want))
		}
	})
}

func follow(t testing.TB, s *Store, known map[Doc]Document, at streams.Position, limit int) streams.Position {
	t.Helper()
	changes, upto, err := s.Changed(at, limit)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		d, ok, err := s.Document(c.Doc)
		if err != nil {
			t.Fatal(err)
		}
		if c.Deleted && ok {
			t.Fatalf("%v is told as deleted and is there", c.Doc)
		}
		if ok {
			known[c.Doc] = d
		} else {
			delete(known, c.Doc)
		}
	}
	return upto
}

func documentsOf(t testing.TB, s *Store) map[Doc]Document {
	t.Helper()
	out := map[Doc]Document{}
	add := func(k DocKind, id int64) {
		d, ok, err := s.Document(Doc{k, id})
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			out[d.Doc] = d
		}
	}
	for _, p := range must[[]Prompt](t)(s.Prompts(Filter{})) {
		add(PromptDoc, p.ID)
	}
	for _, x := range must[[]Text](t)(s.Texts(Filter{})) {
		add(TextDoc, x.ID)
	}
	for _, x := range must[[]Turn](t)(s.Turns(Filter{})) {
		add(TurnDoc, x.ID)
	}
	for _, o := range must[[]Observation](t)(s.Observations(Filter{})) {
		add(ObservationDoc, o.ID)
	}
	for _, m := range must[[]Summary](t)(s.Summaries(Filter{})) {
		add(SummaryDoc, m.ID)
	}
	return out
}

func TestTheFeedOfChangesKnowsItsBuild(t *testing.T) {
	entries := mixed(300)
	s := filled(t, entries, 50)
	feed := s.Changes()
	batch, at, err := feed.Next(t.Context(), streams.Checkpoint{}, 1<<20)
	if err != nil || len(batch) == 0 {
		t.Fatal(len(batch), err)
	}
	if again, end, err := feed.Next(t.Context(), at, 10); err != nil || len(again) != 0 || end != at {
		t.Errorf("at the end: %d changes to %v (%v), want none at %v", len(again), end, err, at)
	}
	if err := s.Reset(); err != nil {
		t.Fatal(err)
	}
	apply(t, s, entries, 50)
	if _, _, err := feed.Next(t.Context(), at, 10); !errors.Is(err, projections.ErrOtherLog) {
		t.Errorf("a checkpoint of an earlier build gives %v, want ErrOtherLog", err)
	}
	waited := make(chan error, 1)
	go func() { waited <- feed.Wait(context.Background(), at) }()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-waited; err != nil && !errors.Is(err, ErrClosed) {
		t.Errorf("Wait gives %v when the model is closed", err)
	}
}

func TestCapturesAreFoundByTime(t *testing.T) {
	h := hookScript("s1").prompt("", "a").prompt("", "b").prompt("", "c")
	s := filled(t, in(h.lines, hookScript("s2").prompt("", "x").lines, fileScript("s1").prompt("u", "a").lines), 2)
	from, to := h.lines[1].env.Time, h.lines[2].env.Time
	got := must[[]streams.Capture](t)(s.Captures("s1", from, to))
	want := []streams.Capture{{ID: h.lines[1].env.ID, Time: from}, {ID: h.lines[2].env.ID, Time: to}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("captures are %v, want %v", got, want)
	}
}

func TestMemoriesOfAPersonAndOfAPrivateTurn(t *testing.T) {
	h := hookScript("s1")
	h.origin = `{"cwd":"/w/a"}`
	h.say("", event.PromptSubmitted{Private: true}).call("toolu_1", "cat secret").say("", event.TurnEnded{})
	note := &script{session: "", channel: event.Person}
	x := note.head("memory/1")
	x.Host = worker
	note.tell(x, event.MemorySaved{Text: "use port 8080\nalways", Project: "/w/a"})
	s := filled(t, in(h.lines, note.lines), 1)
	o := one1(t, must[[]Observation](t)(s.Observations(Filter{Projects: []string{"/w/a"}})), nil)
	if o.Title != "use port 8080" || o.Origin != "person" {
		t.Errorf("the note is %+v", o)
	}
	if use := one1(t, must[[]ToolUse](t)(s.ToolUses(Filter{})), nil); use.Key != "toolu_1" {
		t.Errorf("the private turn's tool use is %+v", use)
	}
	if n := len(must[[]Summary](t)(s.Summaries(Filter{}))); n != 0 {
		t.Errorf("a private turn has %d summaries", n)
	}
}

func TestAForkShowsWhatItShares(t *testing.T) {
	a := fileScript("a").prompt("u1", "one").say("t1", event.AssistantSaid{Text: "1"}).prompt("u2", "two").say("t2", event.AssistantSaid{Text: "2"})
	b := fileScript("b")
	b.n = 50
	b.prompt("u3", "other way")
	fork := &script{session: "b", channel: event.Worker}
	h := fork.head("")
	fork.tell(h, event.SessionForked{From: "a", FirstShared: a.lines[0].env.ID})
	s := filled(t, in(a.lines, b.lines, fork.lines), 2)
	view, ok, err := s.SessionView("b")
	if err != nil || !ok || len(view.Shared) != 2 || len(view.Turns) != 1 || view.Parent != "a" {
		t.Errorf("the fork shows %d shared turns, %d own, parent %q (%v)", len(view.Shared), len(view.Turns), view.Parent, err)
	}
	if from, _, err := s.SessionView("a"); err != nil || len(from.Forks) != 1 || from.Forks[0] != "b" {
		t.Errorf("its origin names %v (%v)", from.Forks, err)
	}
}

func TestOtherWordsUnderAHeldIDAreAnotherToolUse(t *testing.T) {
	h := hookScript("s1").call("toolu_1", "ls")
	again := hookScript("s1")
	again.n = 7
	again.call("toolu_1", "rm")
	again.lines[0].env.Digest = "0123456789abcdef"
	again.lines[0].env.ID = h.lines[0].env.ID + "#0123456789abcdef"
	s := filled(t, in(h.lines, again.lines, idle("s1")), 1)
	if n := len(must[[]ToolUse](t)(s.ToolUses(Filter{}))); n != 2 {
		t.Errorf("%d tool uses, want 2", n)
	}
	if n := must[Stats](t)(s.Stats()).Conflicts; n != 1 {
		t.Errorf("%d conflicts, want 1", n)
	}
}

func TestExcerptsKeepHeadErrorsAndTail(t *testing.T) {
	long := "first line\n"
	for i := range 3000 {
		long += fmt.Sprintf("line %d\n", i)
		if i == 1500 {
			long += "main.go:7: undefined: x — broken\n"
		}
	}
	long += "last line\n"
	h := hookScript("s1").prompt("", "go").call("toolu_1", "make").answer("toolu_1", long)
	u := one1(t, must[[]ToolUse](t)(filled(t, in(h.lines), 9).ToolUses(Filter{})), nil)
	for _, want := range []string{"first line", "undefined: x", "last line"} {
		if !strings.Contains(u.Output, want) {
			t.Errorf("the excerpt lacks %q", want)
		}
	}
	if len(u.Output) > maxOutput || u.OutputBytes != len(long) {
		t.Errorf("the excerpt has %d bytes of %d", len(u.Output), u.OutputBytes)
	}
}

func FuzzReadValue(f *testing.F) {
	u := &tool{id: 7, key: "k", keys: []string{"k"}, tool: bash("ls"), alts: []altName{{n: 2}}}
	f.Add(appendValue(nil, u))
	f.Add([]byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, v := range []stored{&tool{}, &turn{}, &session{}, &observation{}, &held{}, &occurrence{}} {
			if err := readValue(raw, v); err != nil && !errors.Is(err, ErrDamaged) {
				t.Errorf("%T: %v", v, err)
			}
		}
	})
}
