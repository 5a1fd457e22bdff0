package records

import (
	"testing"

	"cmem/streams/event"
)

// What comes after a turn's end opens it again. Rules then have seen what they saw,
// however the records were cut into batches: live they come one by one, a rebuild
// takes thousands at once.
func TestWhatComesAfterATurnsEndIsSeenByRulesTheSameInAnyBatch(t *testing.T) {
	for name, tell := range map[string]func(*script){
		"tool uses after the end": func(s *script) {
			s.prompt("", "make it work").say("", event.TurnEnded{}).answer("e", "x").answer("f", "x").answer("g", "x")
		},
		"the end before the prompt": func(s *script) {
			s.say("", event.TurnEnded{}).prompt("", "make it work").answer("e", "x").answer("f", "x")
		},
		"an idle mark between": func(s *script) {
			s.prompt("", "make it work").say("", event.TurnEnded{}).answer("e", "x").say("", event.SessionIdled{}).answer("f", "x").answer("g", "x")
		},
		"a second end": func(s *script) {
			s.prompt("", "make it work").answer("e", "x").say("", event.TurnEnded{}).answer("f", "x").say("", event.TurnEnded{}).answer("g", "x")
		},
		"a call and its answer after the end": func(s *script) {
			s.prompt("", "make it work").say("", event.TurnEnded{}).call("e", "ls").answer("e", "x").say("f", event.AssistantSaid{Text: "done"})
		},
	} {
		for _, s := range []*script{hookScript("s"), fileScript("s")} {
			s.answer("a", "x").answer("b", "x")
			tell(s)
			entries := in(s.lines)
			want := dump(t, filled(t, entries, 1), true)
			for size := 2; size <= len(entries); size++ {
				if got := dump(t, filled(t, entries, size), true); got != want {
					t.Errorf("%s by %s, batches of %d differ from single records:\n%s", name, s.channel, size, diff(want, got))
				}
			}
		}
	}
}
