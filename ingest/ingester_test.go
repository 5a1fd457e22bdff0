package ingest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"cmem/streams/envelope"
	"cmem/streams/streamstest"
)

func TestEachEventOnce(t *testing.T) {
	l := streamstest.New(t)
	table := &memoryTable{}
	i := newIngester(t, l, table)
	a, b := tool("s1", "a", "1111"), tool("s1", "b", "2222")
	if got, want := add(t, i, a, b, a), []Status{Added, Added, Held}; !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for _, when := range []string{"again", "table at the head", "after a restart"} {
		if got, want := add(t, i, b, a), []Status{Held, Held}; !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", when, got, want)
		}
		table.follow(t, l, -1)
		i = newIngester(t, l, table)
	}
	if n := len(ids(t, l)); n != 2 {
		t.Errorf("log holds %d ids, want 2", n)
	}
}

func TestOtherWordsUnderOneIDAreKept(t *testing.T) {
	l := streamstest.New(t)
	table := &memoryTable{}
	i := newIngester(t, l, table)
	first, other := tool("s1", "a", "1111"), tool("s1", "a", "2222")
	if got, want := add(t, i, first, other, other), []Status{Added, Conflict, Held}; !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	table.follow(t, l, -1)
	i = newIngester(t, l, table)
	if got, want := add(t, i, other, first), []Status{Held, Held}; !slices.Equal(got, want) {
		t.Errorf("after a restart: got %v, want %v", got, want)
	}
	held := ids(t, l)
	if held[first.ID] != 1 || held[first.ID+"#2222"] != 1 || len(held) != 2 {
		t.Errorf("log holds %v", held)
	}
}

func TestOwnerOfASharedID(t *testing.T) {
	i := newIngester(t, streamstest.New(t), &memoryTable{})
	add(t, i, tool("parent", "a", "1111"))
	results, err := i.Add(t.Context(), tool("fork", "a", "1111"))
	if err != nil || results[0] != (Result{Status: Held, Owner: "parent"}) {
		t.Errorf("got %+v, %v", results, err)
	}
}

func TestSecondDelivery(t *testing.T) {
	const s = time.Second
	x, y := nameless("s", "xx", 0), nameless("s", "xx", s)
	for _, c := range []struct {
		name  string
		in    []envelope.Envelope
		added int
	}{
		{"three at once", []envelope.Envelope{x, nameless("s", "xx", 1), nameless("s", "xx", 2)}, 1},
		{"a second apart", []envelope.Envelope{x, y}, 1},
		{"two seconds apart", []envelope.Envelope{x, nameless("s", "xx", 2*s)}, 1},
		{"more than two seconds apart", []envelope.Envelope{x, nameless("s", "xx", 2*s+1)}, 2},
		{"the later one comes first", []envelope.Envelope{y, x}, 1},
		{"another event between", []envelope.Envelope{x, nameless("s", "zz", s/2), y}, 3},
		{"another event between that comes last", []envelope.Envelope{x, y, nameless("s", "zz", s/2)}, 3},
		{"an event with an id between", []envelope.Envelope{x, at(tool("s", "a", "1"), s/2), y}, 3},
		{"a skipped event between", []envelope.Envelope{x, skipped(nameless("s", "zz", s/2)), y}, 3},
		{"an event of another session between", []envelope.Envelope{x, nameless("r", "zz", s/2), y}, 2},
		{"other sessions", []envelope.Envelope{x, nameless("r", "xx", 1)}, 2},
		{"other words", []envelope.Envelope{x, nameless("s", "zz", 1)}, 2},
		{"skipped twice", []envelope.Envelope{skipped(x), skipped(y)}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := streamstest.New(t)
			add(t, newIngester(t, l, &memoryTable{}), c.in...)
			if got := len(ids(t, l)); got != c.added {
				t.Errorf("one batch: %d in the log, want %d", got, c.added)
			}
		})
	}
}

// TestSecondDeliveryAcrossRestarts gives one event at a time, with a new
// ingester and a table at the head, behind it or empty.
func TestSecondDeliveryAcrossRestarts(t *testing.T) {
	in := []envelope.Envelope{
		nameless("s", "xx", 0), nameless("s", "xx", 1), nameless("s", "zz", 2), nameless("s", "xx", 3), nameless("s", "xx", 4),
	}
	for _, lag := range []int{-1, 1, 0} {
		for _, order := range [][]int{{0, 1, 2, 3, 4}, {2, 4, 3, 1, 0}, {2, 0, 3, 1, 4}} {
			l, table := streamstest.New(t), &memoryTable{}
			for _, n := range order {
				add(t, newIngester(t, l, table), in[n])
				table.follow(t, l, lag)
			}
			if got := len(ids(t, l)); got != 3 {
				t.Errorf("lag %d, order %v: %d in the log, want 3", lag, order, got)
			}
		}
	}
}

func at(e envelope.Envelope, d time.Duration) envelope.Envelope {
	e.Time = epoch.Add(d)
	return e
}

func skipped(e envelope.Envelope) envelope.Envelope {
	e.ID, e.Type = "skip/"+e.ID, envelope.EventSkipped
	return e
}

func TestOriginOnlyWhereItDiffers(t *testing.T) {
	l := streamstest.New(t)
	i := newIngester(t, l, &memoryTable{})
	var in []envelope.Envelope
	for n, origin := range []string{"A", "A", "", "A", "B", "A"} {
		e := tool("s", fmt.Sprint(n), "")
		e.Origin = origin
		in = append(in, e)
	}
	add(t, i, in[:3]...)
	add(t, i, in[3:]...)
	var got []string
	for _, r := range streamstest.Records(t, l, 0) {
		got = append(got, r.Envelope.Origin)
	}
	if want := []string{"A", "", "", "", "B", "A"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if in[1].Origin != "A" {
		t.Error("Add changed the caller's envelope")
	}
}

func TestAppendFails(t *testing.T) {
	boom := errors.New("boom")
	for _, saved := range []bool{false, true} {
		t.Run(fmt.Sprintf("saved=%v", saved), func(t *testing.T) {
			l := &brokenLog{Log: streamstest.New(t)}
			i := newIngester(t, l, &memoryTable{})
			e := tool("s", "a", "1")
			e.Origin = "A"
			if l.before = boom; saved {
				l.before, l.after = nil, boom
			}
			if _, err := i.Add(t.Context(), e); !errors.Is(err, boom) {
				t.Fatalf("got %v, want %v", err, boom)
			}
			l.before, l.after = nil, nil
			add(t, i, e, e)
			records := streamstest.Records(t, l.Log, 0)
			if len(records) != 1 || records[0].Envelope.Origin != "A" {
				t.Errorf("log holds %d records, want one with its origin", len(records))
			}
		})
	}
}

func TestMoreThanOneBatch(t *testing.T) {
	l := streamstest.New(t)
	i := newIngester(t, l, &memoryTable{})
	in := make([]envelope.Envelope, 2500)
	for n := range in {
		in[n] = tool("s", fmt.Sprint(n), "1")
	}
	results, err := i.Add(t.Context(), append(in, in...)...)
	if err != nil || len(results) != 5000 {
		t.Fatalf("%d results, %v", len(results), err)
	}
	for n, r := range results {
		if want := n < 2500; (r.Status == Added) != want {
			t.Fatalf("result %d: %v", n, r.Status)
		}
	}
	if got := len(streamstest.Records(t, l, 0)); got != 2500 {
		t.Errorf("log holds %d", got)
	}
}

// TestTableStartsOver: a read model that is rebuilt in place answers for less
// than it did.
func TestTableStartsOver(t *testing.T) {
	l, table := streamstest.New(t), &memoryTable{}
	i := newIngester(t, l, table)
	add(t, i, tool("s", "a", "1"), tool("s", "b", "1"))
	table.follow(t, l, -1)
	add(t, i, tool("s", "c", "1"))
	*table = memoryTable{}
	if got, want := add(t, i, tool("s", "a", "1"), tool("s", "c", "1")), []Status{Held, Held}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestOthersAppend: what reaches the log by another way is known too.
func TestOthersAppend(t *testing.T) {
	l := streamstest.New(t)
	i := newIngester(t, l, &memoryTable{})
	streamstest.Append(t, l, tool("s", "a", "1"))
	if got := add(t, i, tool("s", "a", "1")); got[0] != Held {
		t.Errorf("got %v", got)
	}
}

// TestAnyDelivery: whatever is delivered how often, in which batches, with
// which failures, restarts and lag of the table, each id is in the log once.
func TestAnyDelivery(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := &brokenLog{Log: streamstest.New(t)}
		table := &memoryTable{}
		i := newIngester(t, l, table)
		offered := map[string]bool{}
		event := rapid.Custom(func(rt *rapid.T) envelope.Envelope {
			id := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(rt, "id")
			return tool(rapid.SampledFrom([]string{"s", "r"}).Draw(rt, "session"), id, rapid.SampledFrom([]string{"1", "2"}).Draw(rt, "words"))
		})
		for range rapid.IntRange(1, 8).Draw(rt, "steps") {
			switch rapid.IntRange(0, 4).Draw(rt, "step") {
			case 0:
				i = newIngester(t, l, table)
			case 1:
				table.follow(t, l.Log, rapid.IntRange(0, 3).Draw(rt, "applied"))
			case 2:
				l.after = errors.New("saved, and reported as failed")
				_, _ = i.Add(t.Context(), event.Draw(rt, "event"))
				l.after = nil
			default:
				batch := rapid.SliceOfN(event, 1, 6).Draw(rt, "batch")
				add(t, i, batch...)
				for _, e := range batch {
					offered[e.ID+" "+e.Digest] = true
				}
			}
		}
		held := ids(t, l.Log)
		words := map[string]bool{}
		for _, r := range streamstest.Records(t, l.Log, 0) {
			words[r.Envelope.ID[:len("claude-code/PostToolUse/a")]+" "+r.Envelope.Digest] = true
		}
		for id, n := range held {
			if n != 1 {
				rt.Errorf("%s is in the log %d times", id, n)
			}
		}
		for what := range offered {
			if !words[what] {
				rt.Errorf("%s is not in the log", what)
			}
		}
	})
}
