package records

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
	"pgregory.net/rapid"

	"cmem/projections"
	"cmem/projections/projectiontest"
	"cmem/streams/event"
)

// told is one session as it happened, told by both channels.
type told struct{ hook, file []line }

// randomTold makes a session: prompts, calls with ids or without, texts,
// sub-agents, queued prompts, failures, results before calls, and turns that
// only one channel saw whole.
func randomTold(r *rand.Rand, session string) told {
	h, f := hookScript(session), fileScript(session)
	step := func() { n := max(h.n, f.n); h.n, f.n = n, n }
	h.origin = `{"cwd":"/w/` + session + `","main":"/w/` + session + `"}`
	h.say("", event.SessionStarted{Source: "startup"})
	for p := range 1 + r.IntN(4) {
		step()
		text := fmt.Sprintf("prompt %d", r.IntN(3))
		turn := ""
		if r.IntN(3) == 0 {
			turn = fmt.Sprintf("%s-turn-%d", session, p)
		}
		for _, s := range []*script{h, f} {
			x := s.head("")
			if s == f {
				x.Key = fmt.Sprintf("uuid-%s-%d", session, p)
			}
			x.Turn, x.Alt = turn, session+"/"+text
			s.tell(x, event.PromptSubmitted{Text: text})
		}
		for range r.IntN(6) {
			step()
			randomStep(r, session, turn, h, f)
		}
		step()
		last := fmt.Sprintf("done %d", r.IntN(2))
		f.say(fmt.Sprintf("last-%s-%d", session, p), event.AssistantSaid{Text: last})
		h.say("", event.AssistantSaid{Text: last, Last: true})
		for range 1 + r.IntN(2) {
			h.say("", event.TurnEnded{})
		}
	}
	h.say("", event.SessionEnded{})
	return told{h.lines, f.lines}
}

func randomStep(r *rand.Rand, session, turn string, h, f *script) {
	key := fmt.Sprintf("toolu-%s-%d", session, f.n)
	command := fmt.Sprintf("make %d", r.IntN(3))
	tool := bash(command)
	tool.Writes = []string{fmt.Sprintf("/w/x/f%d.go", r.IntN(3))}
	both := func(s *script, key, alt string, b event.Body) {
		x := s.head(key)
		x.Turn, x.Alt = turn, alt
		s.tell(x, b)
	}
	switch r.IntN(7) {
	case 0, 1: // both sides have the id
		both(h, key, "", event.ToolCalled{Tool: tool})
		both(f, key, "", event.ToolCalled{Tool: bash(command)})
		both(h, key, "", event.ToolReturned{Tool: tool, Outcome: event.OK, Output: "short", Cut: true})
		both(f, key, "", event.ToolReturned{Outcome: event.Failed, Output: "long output", Error: "exit 1"})
	case 2: // hooks have none, and tell ends only
		alt := session + "/Read/" + command
		both(h, "", alt, event.ToolReturned{Tool: tool, Outcome: event.OK, Output: "o"})
		both(f, key, alt, event.ToolCalled{Tool: bash(command)})
		both(f, key, "", event.ToolReturned{Outcome: event.OK, Output: "oo"})
	case 3: // the end comes before the call
		alt := session + "/Bash/" + command
		both(f, key, "", event.ToolReturned{Outcome: event.OK, Output: "early"})
		both(f, key, alt, event.ToolCalled{Tool: bash(command)})
		both(h, "", alt, event.ToolCalled{Tool: tool})
		both(h, "", alt, event.ToolReturned{Tool: tool, Outcome: event.OK, Output: "e"})
	case 4: // hooks only: refused
		both(h, key, "", event.ToolCalled{Tool: tool})
	case 5: // a sub-agent, whose file is read much later
		both(h, key, "", event.ToolCalled{Tool: event.Tool{Name: "Task", Action: event.Spawn}})
		both(f, key, "", event.ToolCalled{Tool: event.Tool{Name: "Task", Action: event.Spawn}})
		inner := h.head(key + "-inner")
		inner.Agent = "agent-" + key
		h.tell(inner, event.ToolCalled{Tool: tool})
		inner.Channel, inner.Time = f.channel, f.head("").Time
		f.tell(inner, event.ToolCalled{Tool: tool})
		started := f.head("")
		started.Agent, started.ParentCall = "agent-"+key, key
		f.tell(started, event.AgentStarted{Type: "explore"})
	case 6: // typed while the agent works
		text := fmt.Sprintf("queued %d", r.IntN(2))
		f.say("", event.PromptQueued{Op: "enqueue", Text: text})
		f.say("", event.PromptQueued{Op: "remove"})
		f.say(key+"-said", event.AssistantSaid{Text: "on it"})
	}
}

// mix interleaves two rows of lines, each in its own order.
func mix(r *rand.Rand, a, b []line) (out []line) {
	for len(a)+len(b) > 0 {
		if r.IntN(len(a)+len(b)) < len(a) {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return out
}

// idle ends what is open.
func idle(session string) []line {
	s := &script{session: session, channel: event.Worker}
	h := s.head("")
	h.Host = worker
	return s.tell(h, event.SessionIdled{}).lines
}

func TestBothChannelsInAnyOrderGiveTheSame(t *testing.T) {
	fill := refilled(t)
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		x := randomTold(rand.New(rand.NewPCG(seed, 1)), "s1")
		want := dump(t, fill("", in(x.hook, x.file, idle("s1")), 1000), false)
		for name, lines := range map[string][]line{
			"transcript, hooks": append(append([]line{}, x.file...), x.hook...),
			"mixed":             mix(rand.New(rand.NewPCG(seed, 2)), x.hook, x.file),
		} {
			got := dump(t, fill("", in(lines, idle("s1")), 1000), false)
			if got != want {
				rt.Fatalf("seed %d: %s differs from hooks, transcript:\n%s", seed, name, diff(want, got))
			}
		}
	})
}

// diff shows the lines that only one side has.
func diff(want, got string) string {
	var b strings.Builder
	for _, l := range strings.Split(want, "\n") {
		if !strings.Contains(got, l) {
			b.WriteString("- " + l + "\n")
		}
	}
	for _, l := range strings.Split(got, "\n") {
		if !strings.Contains(want, l) {
			b.WriteString("+ " + l + "\n")
		}
	}
	return b.String()
}

func TestBatchesLeaveWhatSingleRecordsWould(t *testing.T) {
	fill := refilled(t)
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		r := rand.New(rand.NewPCG(seed, 3))
		x, y := randomTold(r, "s1"), randomTold(r, "s2")
		entries := in(mix(r, mix(r, x.hook, x.file), mix(r, y.hook, y.file)))
		one, all := fill("one", entries, 1), fill("all", entries, 1000)
		some := fill("some", entries, 1+r.IntN(9))
		want := must[string](t)(one.Digest())
		for name, s := range map[string]*Store{"one batch": all, "some batches": some} {
			if got := must[string](t)(s.Digest()); got != want {
				rt.Fatalf("seed %d: %s differs from single records in %v:\n%s", seed, name, differing(t, one, s), diff(dump(t, one, true), dump(t, s, true)))
			}
		}
	})
}

func TestContract(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	x, y := randomTold(r, "s1"), randomTold(r, "s2")
	entries := in(mix(r, mix(r, x.hook, x.file), mix(r, y.hook, y.file)), idle("s1"))
	poison := hookScript("s3").prompt("", "go").call("toolu-poison", "poison").say("", event.TurnEnded{})
	projectiontest.Run(t, projectiontest.Case[projections.Entry, *Store]{
		Open: func(path string) (*Store, error) {
			return Open(path, Config{Rules: noted, Versions: "test", Bulk: true})
		},
		Feed:   slice(entries),
		Digest: (*Store).Digest,
		Poison: func(batch []projections.Entry) []projections.Entry {
			for i, e := range in(poison.lines) {
				e.Record.Position = batch[len(batch)-1].Record.Position + 1 + entries[i].Record.Position
				batch = append(batch, e)
			}
			return batch
		},
	})
}

func TestASecondEnvelopeUnderAnIDChangesNothing(t *testing.T) {
	h := hookScript("s1").prompt("", "go").call("toolu-1", "ls").answer("toolu-1", "a").say("", event.TurnEnded{})
	once := filled(t, in(h.lines), 100)
	twice := filled(t, in(h.lines, h.lines), 100)
	if got, want := dump(t, twice, false), dump(t, once, false); got != want {
		t.Errorf("twice differs from once:\n%s", diff(want, got))
	}
	if n := must[Stats](t)(twice.Stats()).Repeated; n != len(h.lines) {
		t.Errorf("Repeated is %d, want %d", n, len(h.lines))
	}
	held, at, err := twice.Lookup([]string{h.lines[0].env.ID, "nobody's"})
	if err != nil || !held[0].OK || held[0].Session != "s1" || held[1].OK || at.Position == 0 {
		t.Errorf("Lookup: %+v at %v, %v", held, at, err)
	}
}

// differing names the buckets that are not equal.
func differing(t *testing.T, x, y *Store) (names []string) {
	parts := func(s *Store) map[string]string {
		out := map[string]string{}
		err := s.view(func(tx *bolt.Tx) error {
			for _, name := range append(documents(), bProjects, bAgents, bLists, bCaptures) {
				h := sha256.New()
				skip := 8
				if !slices.ContainsFunc(documents(), func(d []byte) bool { return string(d) == string(name) }) {
					skip = 0
				}
				if err := digestBucket(h, tx, name, skip); err != nil {
					return err
				}
				out[string(name)] = fmt.Sprintf("%x", h.Sum(nil))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	a, b := parts(x), parts(y)
	for name := range a {
		if a[name] != b[name] {
			names = append(names, name)
		}
	}
	return names
}
