package records

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"cmem/projections"
	"cmem/streams"
	"cmem/streams/event"
)

func TestFaults(t *testing.T) {
	for id, test := range map[string]func(*testing.T){
		"lost-11":  anyOrderOfASessionsFirstEvents,
		"lost-07":  lastWordsBeforeTheirLine,
		"lost-09":  outcomesAreKept,
		"dup-06":   likeObservationsAreBothKept,
		"dup-07":   oneCurrentSummary,
		"exit-06":  threeStopsEndATurnOnce,
		"proj-01":  sameNamesAreTwoProjects,
		"proj-03":  homeIsOneScope,
		"proj-05":  movedSessions,
		"proj-06":  everyFilterFilters,
		"shape-05": unknownKindsAreCountedAndSkipped,
		"tr-09":    copiedRecordsCountOnce,
		"tr-15":    subAgentsAreNotTheUser,
		"tr-20":    theLogAloneIsEnough,
		"time-01":  daysAreRanges,
		"time-03":  clockSetBack,
		"time-04":  orderIsTheLogs,
	} {
		t.Run(id, test)
	}
}

func one1[T any](t *testing.T, all []T, err error) T {
	t.Helper()
	if err != nil || len(all) != 1 {
		t.Fatalf("got %d, want one: %+v (%v)", len(all), all, err)
	}
	return all[0]
}

func anyOrderOfASessionsFirstEvents(t *testing.T) {
	h := hookScript("s1")
	turn := func(key string) event.Header { x := h.head(key); x.Turn = "turn-1"; return x }
	tool := bash("echo 1")
	h.tell(turn("toolu_0001"), event.ToolReturned{Tool: tool, Outcome: event.OK, Output: "1\n"})
	h.tell(turn(""), event.AssistantSaid{Text: "done", Last: true})
	h.tell(turn(""), event.PromptSubmitted{Text: "do it"})
	h.tell(h.head(""), event.SessionStarted{Source: "startup", Model: "model-x"})
	end := h.tell(turn(""), event.TurnEnded{}).lines[4:]
	want := dump(t, filled(t, in(h.lines), 1), false)
	if !strings.Contains(want, `"Text":"do it"`) || !strings.Contains(want, `"ToolUses":1`) {
		t.Fatalf("not all was kept:\n%s", want)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 12 {
		lines := slices.Clone(h.lines[:4])
		r.Shuffle(4, func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
		got := dump(t, filled(t, in(lines, end), 3), false)
		if normalTimes(got) != normalTimes(want) {
			t.Fatalf("another order gives another session:\n%s", diff(want, got))
		}
	}
}

// normalTimes leaves out what is the log's order itself: the steps' order, and
// what is taken from the first and last time told.
func normalTimes(s string) string {
	var out []string
	for _, l := range strings.Split(s, "\n") {
		l, _, _ = strings.Cut(l, `"Steps":`)
		for _, f := range []string{`"Started":`, `"Ended":`, `"Duration":`, `"Clock":`, `"Time":`, `"Seen":`} {
			for from := 0; ; {
				i := strings.Index(l[from:], f)
				if i < 0 {
					break
				}
				i += from + len(f)
				end := i + strings.IndexAny(l[i:], ",}")
				l = l[:i] + l[end:]
				from = i
			}
		}
		out = append(out, l)
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

func lastWordsBeforeTheirLine(t *testing.T) {
	f, h := fileScript("s1"), hookScript("s1")
	f.prompt("u1", "question A").say("u2", event.AssistantSaid{Text: "answer A"}).prompt("u3", "question B")
	f.say("u4", event.AssistantSaid{Text: "answer B"})
	h.say("", event.AssistantSaid{Text: "answer B", Last: true}).say("", event.TurnEnded{})
	for name, lines := range map[string][][]line{
		"hook first":         {f.lines[:3], h.lines, f.lines[3:]},
		"line first":         {f.lines, h.lines},
		"hook before it all": {h.lines, f.lines},
	} {
		s := filled(t, in(append(lines, idle("s1"))...), 1)
		texts := must[[]Text](t)(s.Texts(Filter{Ascending: true}))
		var said []string
		for _, x := range texts {
			said = append(said, x.Text)
		}
		slices.Sort(said)
		if !slices.Equal(said, []string{"answer A", "answer B"}) {
			t.Errorf("%s: texts are %q", name, said)
		}
		turns := must[[]Turn](t)(s.Turns(Filter{Ascending: true}))
		if len(turns) != 2 {
			t.Fatalf("%s: %d turns, want 2: %+v", name, len(turns), turns)
		}
		for _, turn := range turns {
			view, _, err := s.TurnView(turn.ID)
			want := strings.Replace(view.Prompt.Text, "question", "answer", 1)
			if err != nil || len(view.Texts) != 1 || view.Texts[0].Text != want {
				t.Errorf("%s: turn %q says %+v, want one text %q (%v)", name, view.Prompt.Text, view.Texts, want, err)
			}
		}
	}
}

func outcomesAreKept(t *testing.T) {
	one := 1
	h := hookScript("s1").prompt("", "go")
	h.call("toolu_ok", "true").answer("toolu_ok", "fine")
	h.call("toolu_bad", "false").say("toolu_bad", event.ToolReturned{Tool: bash("false"), Outcome: event.Failed, Error: "exit status 1", ExitCode: &one})
	h.call("toolu_no", "rm x").say("toolu_no", event.ToolReturned{Outcome: event.Refused})
	h.call("toolu_stop", "sleep 1").say("toolu_stop", event.ToolReturned{Outcome: event.Interrupted})
	h.call("toolu_open", "make")
	s := filled(t, in(h.lines, idle("s1")), 100)
	got := map[string]event.Outcome{}
	for _, u := range must[[]ToolUse](t)(s.ToolUses(Filter{})) {
		got[u.Key] = u.Outcome
		if u.Key == "toolu_bad" && (u.Error != "exit status 1" || u.ExitCode == nil || *u.ExitCode != 1) {
			t.Errorf("the failure is %+v", u)
		}
	}
	want := map[string]event.Outcome{
		"toolu_ok": event.OK, "toolu_bad": event.Failed, "toolu_no": event.Refused,
		"toolu_stop": event.Interrupted, "toolu_open": event.Unknown,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("outcomes are %v, want %v", got, want)
	}
	n := must[[]Session](t)(s.Sessions(Filter{}))[0].Counts
	if n.ToolUses != 5 || n.Paired != 4 || n.Unpaired != 1 || n.ToolErrors != 3 {
		t.Errorf("counts are %+v", n)
	}
}

func likeObservationsAreBothKept(t *testing.T) {
	h := hookScript("s1").prompt("", "go")
	h.call("toolu_1", "go test of the store with the race detector on").call("toolu_2", "go test of the spool with the race detector on")
	s := filled(t, in(h.lines, idle("s1")), 100)
	if n := len(must[[]Observation](t)(s.Observations(Filter{}))); n != 2 {
		t.Errorf("%d observations, want both", n)
	}
}

func oneCurrentSummary(t *testing.T) {
	h := hookScript("s1")
	for i := range 3 {
		h.prompt("", fmt.Sprintf("part %d", i)).say("", event.AssistantSaid{Text: "done", Last: true}).say("", event.TurnEnded{})
	}
	s := filled(t, in(h.lines), 1)
	all := must[[]Summary](t)(s.Summaries(Filter{}))
	if len(all) != 3 {
		t.Fatalf("%d summaries, want all three", len(all))
	}
	for i, m := range all {
		if m.Superseded != (i != 0) {
			t.Errorf("summary %q is superseded: %v", m.Request, m.Superseded)
		}
	}
}

func threeStopsEndATurnOnce(t *testing.T) {
	h := hookScript("s1").prompt("", "go").call("toolu_1", "ls")
	h.say("", event.AssistantSaid{Text: "done", Last: true}).say("", event.TurnEnded{})
	once := filled(t, in(h.lines), 1)
	end := one1(t, must[[]Turn](t)(once.Turns(Filter{})), nil).Ended
	h.say("", event.AssistantSaid{Text: "done", Last: true}).say("", event.TurnEnded{}).say("", event.TurnEnded{})
	s := filled(t, in(h.lines), 1)
	turn := one1(t, must[[]Turn](t)(s.Turns(Filter{})), nil)
	if !turn.Closed || turn.Ended.Before(end) {
		t.Errorf("the turn is %+v", turn)
	}
	one1(t, must[[]Text](t)(s.Texts(Filter{})), nil)
	one1(t, must[[]Summary](t)(s.Summaries(Filter{})), nil)
}

// sited is a session whose first envelope has the origin.
func sited(session, origin, text string) []line {
	h := hookScript(session)
	h.origin = origin
	return h.prompt("", text).call("toolu-"+session, "ls "+session).say("", event.TurnEnded{}).lines
}

func sameNamesAreTwoProjects(t *testing.T) {
	s := filled(t, in(
		sited("s1", `{"cwd":"/w/a/api","remote":"r1"}`, "one"),
		sited("s2", `{"cwd":"/w/a/api/web","root":"/w/a/api","remote":"r1"}`, "two"),
		sited("s3", `{"cwd":"/w/wt-hotfix","main":"/w/a/api","remote":"r1","worktree":"wt-hotfix"}`, "three"),
		sited("s4", `{"cwd":"/w/b/api","remote":"r2"}`, "four"),
		sited("s5", `{"cwd":"/w/plain/api"}`, "five"),
	), 100)
	var names []string
	for _, p := range must[[]Project](t)(s.Projects()) {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	if want := []string{"api (a)", "api (b)", "api (plain)"}; !slices.Equal(names, want) {
		t.Errorf("names are %q, want %q", names, want)
	}
	if p := must[Project](t)(s.Project("api (a)")); p.Sessions != 3 || p.Key != "r1" {
		t.Errorf("the first is %+v, want three sessions", p)
	}
	var several *AmbiguousError
	if _, err := s.Project("api"); !asError(err, &several) || len(several.Candidates) != 3 {
		t.Errorf("a bare name gives %v, want three candidates", err)
	}
}

func homeIsOneScope(t *testing.T) {
	h := hookScript("s1")
	h.origin = `{"cwd":"/home/dev","scope":"home"}`
	h.prompt("", "hi").call("toolu_1", "ls").say("", event.TurnEnded{})
	h.origin = `{"cwd":"/w/other"}`
	h.prompt("", "again").say("", event.TurnEnded{})
	s := filled(t, in(h.lines), 1)
	all := dump(t, s, false)
	if n, m := strings.Count(all, `"Project":`), strings.Count(all, `"Project":"home"`); n != m || n < 6 {
		t.Errorf("%d of %d records are under home:\n%s", m, n, all)
	}
}

func movedSessions(t *testing.T) {
	mover := func(p event.ProjectMoved) []line {
		w := &script{session: "", channel: event.Person, n: 900 + len(p.Session)}
		h := w.head("")
		h.Host = worker
		return w.tell(h, p).lines
	}
	entries := in(sited("s1", `{"cwd":"/w/a"}`, "one"), sited("s2", `{"cwd":"/w/a"}`, "two"), sited("s3", `{"cwd":"/w/c"}`, "three"),
		mover(event.ProjectMoved{Session: "s1", From: "/w/a", To: "/w/b"}),
		mover(event.ProjectMoved{From: "/w/c", To: "/w/b"}),
		sited("s4", `{"cwd":"/w/c"}`, "four"))
	live, rebuilt := filled(t, entries, 1), filled(t, entries, 1000)
	if a, b := must[string](t)(live.Digest()), must[string](t)(rebuilt.Digest()); a != b {
		t.Errorf("incremental and rebuilt differ in %v", differing(t, live, rebuilt))
	}
	for session, want := range map[string]string{"s1": "/w/b", "s2": "/w/a", "s3": "/w/b", "s4": "/w/b"} {
		for kind, got := range projectsOf(t, live, session) {
			if got != want {
				t.Errorf("%s of %s is in %q, want %q", kind, session, got, want)
			}
		}
	}
	if p := must[Project](t)(live.Project("/w/c")); p.Key != "/w/b" || p.Observations != 3 || p.Sessions != 3 {
		t.Errorf("what was moved answers with %+v", p)
	}
	changes, _, err := live.Changed(0, 1000)
	if err != nil || !slices.ContainsFunc(changes, func(c Change) bool {
		return c.Kind == ObservationDoc && c.Project == "/w/b" && c.From == "/w/a"
	}) {
		t.Errorf("followers are not told of the move: %+v (%v)", changes, err)
	}
}

func projectsOf(t *testing.T, s *Store, session string) map[string]string {
	f := Filter{Session: session}
	o := one1(t, must[[]Observation](t)(s.Observations(f)), nil)
	return map[string]string{
		"session":     one1(t, must[[]Session](t)(s.Sessions(f)), nil).Project,
		"prompt":      one1(t, must[[]Prompt](t)(s.Prompts(f)), nil).Project,
		"tool use":    one1(t, must[[]ToolUse](t)(s.ToolUses(f)), nil).Project,
		"observation": o.Project,
		"rules' view": o.Facts[1],
		"summary":     one1(t, must[[]Summary](t)(s.Summaries(f)), nil).Project,
	}
}

func everyFilterFilters(t *testing.T) {
	h := hookScript("s1")
	h.origin = `{"cwd":"/w/a"}`
	h.prompt("", "one")
	tool := bash("edit it")
	tool.Writes = []string{"/w/a/dir/x.go"}
	h.say("toolu_1", event.ToolCalled{Tool: tool}).say("toolu_1", event.ToolReturned{Outcome: event.Failed}).say("", event.TurnEnded{})
	s := filled(t, in(h.lines, sited("s2", `{"cwd":"/w/b"}`, "two")), 100)
	all := len(must[[]Observation](t)(s.Observations(Filter{})))
	if all != 2 {
		t.Fatalf("%d observations, want 2", all)
	}
	at := must[[]Observation](t)(s.Observations(Filter{Projects: []string{"/w/a"}}))[0].Time
	for name, f := range map[string]Filter{
		"project":     {Projects: []string{"/w/a"}},
		"session":     {Session: "s1"},
		"concept":     {Concepts: []string{"error"}},
		"file":        {Files: []string{"dir/x.go"}},
		"folder":      {Files: []string{"/w/a/dir"}, Folder: true},
		"from and to": {From: at, To: at.Add(time.Nanosecond)},
		"limit":       {Limit: 1, Ascending: true},
		"offset":      {Offset: 1},
	} {
		if got := must[[]Observation](t)(s.Observations(f)); len(got) != 1 || got[0].Session != "s1" {
			t.Errorf("%s: %+v, want the one of s1", name, got)
		}
	}
	for name, f := range map[string]Filter{
		"no such project": {Projects: []string{"/w/x"}}, "no such host": {Host: "x"}, "no such type": {Types: []string{"x"}},
		"a piece of a segment": {Files: []string{"r/x.go"}}, "a folder above": {Files: []string{"/w/a"}, Folder: true},
	} {
		if got := must[[]Observation](t)(s.Observations(f)); len(got) != 0 {
			t.Errorf("%s: %+v, want none", name, got)
		}
	}
}

type brandNew struct{}

func (brandNew) Kind() event.Kind { return "brand.new" }

func unknownKindsAreCountedAndSkipped(t *testing.T) {
	h := hookScript("s1").say("", event.Counted{What: "unknown:BrandNewEvent"}).say("", brandNew{})
	noSession := hookScript("").call("toolu_0002", "echo 2")
	s := filled(t, in(h.lines, noSession.lines), 1)
	st := must[Stats](t)(s.Stats())
	if st.Counted["unknown:BrandNewEvent"] != 1 || st.Kinds["brand.new"] != 1 || st.Envelopes != 3 || st.ToolUses != 0 {
		t.Errorf("stats are %+v", st)
	}
	if st.Counted["without session:tool.called"] != 1 {
		t.Errorf("what has no session is not counted: %v", st.Counted)
	}
}

func copiedRecordsCountOnce(t *testing.T) {
	f := fileScript("s1").prompt("u1", "go").call("toolu_1", "ls").answer("toolu_1", "x").say("u2", event.AssistantSaid{Text: "done"})
	f.say("", event.CompactionDone{Trigger: "auto"})
	two := fileScript("s1")
	two.n = len(f.lines)
	two.prompt("u9", "more").say("u10", event.AssistantSaid{Text: "done"})
	for name, lines := range map[string][][]line{
		"copies behind": {f.lines, f.lines[:4], two.lines},
		"hooks between": {f.lines, hookScript("s1").prompt("", "go").call("toolu_1", "ls").lines, f.lines[:4], two.lines},
	} {
		n := one1(t, must[[]Session](t)(filled(t, in(lines...), 2).Sessions(Filter{})), nil).Counts
		if n.Prompts != 2 || n.ToolUses != 1 || n.Texts != 2 || n.Compactions != 1 {
			t.Errorf("%s: counts are %+v", name, n)
		}
	}
}

func subAgentsAreNotTheUser(t *testing.T) {
	parent := fileScript("s1").prompt("u1", "start").say("toolu_0001", event.ToolCalled{Tool: event.Tool{Name: "Task"}})
	agent := fileScript("s1")
	agent.n = 20
	with := func(key string) event.Header { h := agent.head(key); h.Agent = "abc123"; return h }
	agent.tell(with("u21"), event.PromptSubmitted{Text: "look"}).tell(with("u22"), event.AssistantSaid{Text: "found"})
	agent.tell(with("toolu_in"), event.ToolCalled{Tool: bash("grep")}).tell(with(""), event.TurnEnded{})
	end := fileScript("s1")
	end.n = 30
	end.prompt("u31", "next")
	link := end.head("")
	link.Agent, link.ParentCall = "abc123", "toolu_0001"
	for name, lines := range map[string][][]line{
		"the agent's file last":  {parent.lines, end.lines, agent.lines, end.tell(link, event.AgentEnded{}).lines[1:]},
		"the agent's file first": {agent.lines, parent.lines, end.lines},
	} {
		s := filled(t, in(append(lines, idle("s1"))...), 1)
		prompts := must[[]Prompt](t)(s.Prompts(Filter{Ascending: true}))
		if len(prompts) != 2 || prompts[0].Text != "start" || prompts[1].Text != "next" {
			t.Fatalf("%s: prompts are %+v", name, prompts)
		}
		for _, u := range must[[]ToolUse](t)(s.ToolUses(Filter{})) {
			if u.Turn != prompts[0].Turn || (u.Key == "toolu_in") != (u.Agent == "abc123") {
				t.Errorf("%s: %q of agent %q is in turn %q, want %q", name, u.Key, u.Agent, u.Turn, prompts[0].Turn)
			}
			if u.Key == "toolu_in" && u.ParentCall != "toolu_0001" {
				t.Errorf("%s: the agent's call was %q", name, u.ParentCall)
			}
		}
	}
}

func theLogAloneIsEnough(t *testing.T) {
	x := randomTold(rand.New(rand.NewPCG(5, 5)), "s1")
	entries := in(x.file, x.hook)
	path := filepath.Join(t.TempDir(), "records.db")
	s := openAt(t, path)
	apply(t, s, entries, 3)
	want := must[string](t)(s.Digest())
	open := func(p string) (*Store, error) { return Open(p, Config{Rules: noted, Versions: "test", Bulk: true}) }
	rebuilt, err := projections.Rebuild(t.Context(), path, open, projections.Feed[projections.Entry](slice(entries)), projections.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer rebuilt.Close()
	if got := must[string](t)(rebuilt.Digest()); got != want {
		t.Error("rebuilt from the log it is another")
	}
	if got := must[string](t)(s.Digest()); got != want {
		t.Error("readers of the old one were not served")
	}
	if _, err := os.Stat(path + ".old"); err != nil {
		t.Errorf("the old build is not kept: %v", err)
	}
}

func daysAreRanges(t *testing.T) {
	h := hookScript("s1")
	for _, at := range []string{"2026-01-25T04:08:00Z", "2026-01-25T16:00:00Z"} {
		x := h.head("")
		x.Time, _ = time.Parse(time.RFC3339, at)
		x.Alt = "prompt at " + at
		h.tell(x, event.PromptSubmitted{Text: "prompt at " + at})
	}
	s := filled(t, in(h.lines), 10)
	for _, zone := range []struct {
		hours int
		day   string
		want  int
	}{{-8, "2026-01-24", 1}, {-8, "2026-01-25", 1}, {0, "2026-01-25", 2}, {9, "2026-01-26", 1}, {5, "2026-01-25", 2}} {
		from, err := time.ParseInLocation("2006-01-02", zone.day, time.FixedZone("", zone.hours*3600))
		if err != nil {
			t.Fatal(err)
		}
		if got := must[[]Prompt](t)(s.Prompts(Filter{From: from, To: from.AddDate(0, 0, 1)})); len(got) != zone.want {
			t.Errorf("UTC%+d on %s: %d prompts, want %d", zone.hours, zone.day, len(got), zone.want)
		}
	}
}

func clockSetBack(t *testing.T) {
	f := fileScript("s1")
	at := func(key, clock string) event.Header {
		h := f.head(key)
		h.Time, _ = time.Parse(time.RFC3339, "2026-02-03T"+clock+"Z")
		return h
	}
	f.tell(at("u1", "12:00:00"), event.PromptSubmitted{Text: "q"})
	f.tell(at("toolu_1", "12:00:00"), event.ToolCalled{Tool: bash("ls")})
	f.tell(at("toolu_1", "11:59:55"), event.ToolReturned{Outcome: event.OK})
	f.tell(at("u2", "11:59:50"), event.AssistantSaid{Text: "a"})
	f.tell(at("", "11:59:50"), event.TurnEnded{})
	s := filled(t, in(f.lines), 1)
	turn := one1(t, must[[]Turn](t)(s.Turns(Filter{})), nil)
	use := one1(t, must[[]ToolUse](t)(s.ToolUses(Filter{})), nil)
	session := one1(t, must[[]Session](t)(s.Sessions(Filter{})), nil)
	if turn.Duration != 0 || !turn.Clock || use.Duration != 0 || !use.Clock || session.Duration != 0 || !session.Clock {
		t.Errorf("turn %v %v, tool use %v %v, session %v %v: want 0 and a mark", turn.Duration, turn.Clock, use.Duration, use.Clock, session.Duration, session.Clock)
	}
}

func orderIsTheLogs(t *testing.T) {
	f := fileScript("s1")
	for i := range 10 {
		h := f.head(fmt.Sprintf("u%d", i))
		h.Time = day.Add(time.Duration(10-20*(i%2)) * time.Minute)
		h.Alt = h.Key
		f.tell(h, event.PromptSubmitted{Text: fmt.Sprintf("text %d", i)})
	}
	s := filled(t, in(f.lines), 3)
	for i, p := range must[[]Prompt](t)(s.Prompts(Filter{Ascending: true})) {
		if p.Text != fmt.Sprintf("text %d", i) || p.Number != i+1 {
			t.Errorf("place %d has %q, number %d", i, p.Text, p.Number)
		}
	}
	items := must[[]Item](t)(s.Timeline(Anchor{}, 100, 100, Filter{}))
	at := streams.Position(0)
	for _, i := range items {
		if i.Position < at {
			t.Errorf("%+v comes after position %d", i.Doc, at)
		}
		at = i.Position
	}
	if len(items) < 10 {
		t.Errorf("the timeline has %d items", len(items))
	}
}
