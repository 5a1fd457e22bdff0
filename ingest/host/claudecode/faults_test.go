package claudecode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"cmem/ingest/host/adapter"
	"cmem/streams/event"
)

func input(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(testdata + "faults/inputs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// inputFacts decodes a transcript among the fault inputs.
func inputFacts(t *testing.T, names ...string) []event.Fact {
	t.Helper()
	var files []string
	for _, name := range names {
		files = append(files, testdata+"faults/inputs/"+name)
	}
	return transcriptFacts(t, files...)
}

func hookOf(body []byte) []event.Fact { return Decode(hookEnvelope("", body)) }

func said(facts []event.Fact) []string {
	var all []string
	for _, b := range bodies[event.AssistantSaid](facts) {
		all = append(all, b.Text)
	}
	return all
}

func prompts(facts []event.Fact) []string {
	var all []string
	for _, b := range bodies[event.PromptSubmitted](facts) {
		all = append(all, b.Text)
	}
	return all
}

func TestFaults(t *testing.T) {
	faults := map[string]func(*testing.T){
		"lost-07": lateLineIsThePayloadsText, "lost-09": everyOutcomeIsTold,
		"dup-02":  cursorsEventsAreCursors,
		"exit-03": stopIsNeverAnswered, "exit-04": stopIsNeverAnswered,
		"exit-06": oneTurnEnds, "exit-07": silenceIsNothing,
		"enc-03": loneSurrogate, "enc-07": answersAreStrictJSON,
		"shape-02": oneOddField, "shape-05": unknownEvents,
		"tr-05": danglingParent, "tr-08": snapshotsAreNoMessages, "tr-09": rewrittenRows,
		"tr-15": agentFiles, "tr-17": growingAnswer, "tr-19": oneAnswerOfThreeBlocks,
		"tr-23": summariesAreNoPrompts, "tr-24": lastOfTheMainChain,
		"own-04": deepInput, "own-15": exactKeys,
	}
	for id, fault := range faults {
		t.Run(id, fault)
	}
}

func lateLineIsThePayloadsText(t *testing.T) {
	stop := hookOf(input(t, "lost-07.json"))
	late := inputFacts(t, "lost-07.late-line.jsonl")
	is(t, "turn ends", len(bodies[event.TurnEnded](stop)), 1)
	is(t, "text of the payload", said(stop), "[answer B]")
	is(t, "text of the late line", said(late), "[answer B]")
	if first := bodies[event.AssistantSaid](stop)[0]; !first.Last {
		t.Error("the payload's text is not marked as the last")
	}
	is(t, "turn ends of the late line", len(bodies[event.TurnEnded](late)), 0)
	is(t, "session", late[0].Session, stop[0].Session)
}

func everyOutcomeIsTold(t *testing.T) {
	result := func(extra string) string {
		return `{"type":"user","uuid":"00000000-0000-4000-8000-000000000001","sessionId":"s","version":"2.1.200","message":{"content":[` +
			`{"type":"tool_result","tool_use_id":"toolu_1",` + extra + `}]}}`
	}
	hook := func(name, extra string) string {
		return `{"hook_event_name":"` + name + `","session_id":"s","tool_name":"Bash","tool_use_id":"toolu_1",` + extra + `}`
	}
	for name, test := range map[string]struct {
		hook, transcript string
		want             event.Outcome
	}{
		"ok":               {hook: hook("PostToolUse", `"tool_response":{"stdout":"a","stderr":""}`), want: event.OK},
		"false":            {transcript: result(`"is_error":false,"content":"a"`), want: event.OK},
		"fault input":      {hook: string(input(t, "lost-09.json")), want: event.Failed},
		"error":            {transcript: result(`"is_error":true,"content":"Exit code 3\nno"`), want: event.Failed},
		"tool's own":       {transcript: result(`"is_error":true,"content":"<tool_use_error>File does not exist.</tool_use_error>"`), want: event.Failed},
		"stopped":          {hook: hook("PostToolUseFailure", `"error":"killed","is_interrupt":true`), want: event.Interrupted},
		"interrupted":      {hook: hook("PostToolUse", `"tool_response":{"stdout":"","stderr":"","interrupted":true}`), want: event.Interrupted},
		"sibling":          {transcript: result(`"is_error":true,"content":"<tool_use_error>Sibling tool call errored</tool_use_error>"`), want: event.Interrupted},
		"by the user":      {transcript: result(`"is_error":true,"content":"The user doesn't want to proceed with this tool use. The tool use was rejected"`), want: event.Refused},
		"by a hook":        {transcript: result(`"is_error":true,"content":"PreToolUse:Bash hook error: [policy]: not here"`), want: event.Refused},
		"by an older hook": {transcript: result(`"is_error":true,"content":"Hook PreToolUse:Bash denied this tool"`), want: event.Refused},
		"by a rule":        {transcript: result(`"is_error":true,"content":"Permission to use Bash with command rm has been denied."`), want: event.Refused},
		"not granted":      {transcript: result(`"is_error":true,"content":"Claude requested permissions to write to /a, but you haven't granted it yet."`), want: event.Refused},
		"malformed":        {transcript: result(`"is_error":true,"content":"<tool_use_error>InputValidationError: Read failed"`), want: event.Refused},
		"denied":           {hook: hook("PermissionDenied", `"reason":"auto"`), want: event.Refused},
	} {
		t.Run(name, func(t *testing.T) {
			var facts []event.Fact
			if test.hook != "" {
				facts = hookOf([]byte(test.hook))
			} else {
				facts = Decode(wrap(adapter.Value{Type: "user", Session: "s"}, []byte(test.transcript)))
			}
			all := bodies[event.ToolReturned](facts)
			if len(all) != 1 {
				t.Fatalf("%d returns, want 1", len(all))
			}
			is(t, "outcome", all[0].Outcome, test.want)
		})
	}
	// A call that was refused in silence is a call without a return.
	called := hookOf([]byte(hook("PreToolUse", `"tool_input":{"command":"rm"}`)))
	is(t, "calls", len(bodies[event.ToolCalled](called)), 1)
	is(t, "returns", len(bodies[event.ToolReturned](called)), 0)
}

func cursorsEventsAreCursors(t *testing.T) {
	said := Hook().Identify("UserPromptSubmit", input(t, "dup-02.claude-form.json"))
	is(t, "source", said.Source, "cursor")
	is(t, "session", said.Session, "conv-1")
	is(t, "cwd", said.Cwd, "/srv/demo")
	is(t, "prompt", said.Prompt, "add a test")
	facts := hookOf(input(t, "dup-02.claude-form.json"))
	is(t, "host", facts[0].Host, "cursor")
	is(t, "prompts", prompts(facts), "[add a test]")
}

func stopIsNeverAnswered(t *testing.T) {
	for _, name := range []string{"Stop", "SubagentStop", "StopFailure", "SessionEnd", "PreCompact", "PostCompact", "Notification"} {
		if out := Hook().Answer(name, adapter.Reply{Context: "Next steps: go on", Notice: "note"}); len(out) != 0 {
			t.Errorf("%s prints %s", name, out)
		}
	}
}

func silenceIsNothing(t *testing.T) {
	for _, name := range events() {
		if out := Hook().Answer(name, adapter.Reply{}); len(out) != 0 {
			t.Errorf("%s prints %q", name, out)
		}
	}
}

func oneTurnEnds(t *testing.T) {
	ends := 0
	for _, active := range []string{"false", "true", "true"} {
		facts := hookOf([]byte(`{"hook_event_name":"Stop","session_id":"s","last_assistant_message":"done","stop_hook_active":` + active + `}`))
		ends += len(bodies[event.TurnEnded](facts))
	}
	is(t, "turn ends", ends, 1)
}

func loneSurrogate(t *testing.T) {
	facts := inputFacts(t, "enc-03.jsonl")
	got := bodies[event.ToolReturned](facts)
	if len(got) != 1 {
		t.Fatalf("%d returns, want 1", len(got))
	}
	is(t, "output", got[0].Output, "[🚀 \uFFFD…) errored</tool_use_error>")
	if raw, err := json.Marshal(got[0]); err != nil || !utf8.Valid(raw) {
		t.Errorf("not JSON again: %v", err)
	}
	is(t, "texts", said(facts), "[fine 😀]")
}

func answersAreStrictJSON(t *testing.T) {
	facts := hookOf(input(t, "enc-07.json"))
	output := bodies[event.ToolReturned](facts)[0].Output + "\x7f\u0085\u2028\xff \"quoted\" \\ \x1b]0;title\x07"
	out := Hook().Answer("SessionStart", adapter.Reply{Context: output, Notice: output})
	var answer struct {
		HookSpecificOutput struct{ HookEventName, AdditionalContext string }
		SystemMessage      string
	}
	d := json.NewDecoder(bytes.NewReader(out))
	d.DisallowUnknownFields()
	if err := d.Decode(&answer); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	is(t, "event", answer.HookSpecificOutput.HookEventName, "SessionStart")
	for _, s := range []string{answer.HookSpecificOutput.AdditionalContext, answer.SystemMessage} {
		if i := strings.IndexFunc(s, func(r rune) bool { return r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 }); i >= 0 {
			t.Errorf("control byte at %d of %q", i, s)
		}
		if !strings.HasPrefix(s, "Tests: 31 passed") || !strings.Contains(s, `"quoted" \`) || strings.Contains(s, "title") {
			t.Errorf("text is lost: %q", s)
		}
	}
}

func oddShapes() []string {
	return []string{"null", `"text"`, "5", "true", "[]", `[1,"a",null]`, "{}", `{"a":{"b":[{}]}}`}
}

func oneOddField(t *testing.T) {
	for line := range bytes.Lines(input(t, "shape-02.jsonl")) {
		facts := hookOf(line)
		if len(facts) == 0 || facts[0].Session != "5e550000-0000-4000-8000-000000000001" {
			t.Errorf("%s gives %v", line, facts)
			continue
		}
		is(t, "returns", len(bodies[event.ToolReturned](facts)), 1)
		is(t, "tool", bodies[event.ToolReturned](facts)[0].Tool.Name, "Bash")
	}
	whole := map[string]string{"session_id": `"s"`, "cwd": `"/srv"`, "tool_name": `"Bash"`, "tool_input": `{"command":"ls"}`,
		"tool_response": `{"stdout":"out","stderr":""}`, "tool_use_id": `"toolu_1"`, "prompt_id": `"p"`}
	for field := range whole {
		for _, shape := range oddShapes() {
			body := `{"hook_event_name":"PostToolUse"`
			for name, value := range whole {
				if name == field {
					value = shape
				}
				body += fmt.Sprintf(",%q:%s", name, value)
			}
			checkOthersKept(t, field, shape, []byte(body+"}"))
		}
	}
	for _, shape := range oddShapes() {
		record := `{"type":"user","uuid":"00000000-0000-4000-8000-000000000001","sessionId":"s","timestamp":"2026-02-03T10:00:01.000Z","message":{"role":"user","content":` + shape + `}}`
		v := Transcript().NewReader("x.jsonl", nil).Value([]byte(record))
		is(t, shape+": id", v.ID, "00000000-0000-4000-8000-000000000001")
		is(t, shape+": session", v.Session, "s")
		want := "[]"
		if shape == `"text"` {
			want = "[text]"
		}
		is(t, shape+": prompts", prompts(Decode(wrap(v, []byte(record)))), want)
	}
}

// checkOthersKept: all but the odd field are as they should be, and the odd
// one is kept where a reader looks for it.
func checkOthersKept(t *testing.T, field, shape string, body []byte) {
	t.Helper()
	what := field + " = " + shape
	said := Hook().Identify("", body)
	facts := hookOf(body)
	returns := bodies[event.ToolReturned](facts)
	if len(returns) != 1 {
		t.Errorf("%s: %d returns, want 1", what, len(returns))
		return
	}
	r := returns[0]
	for name, check := range map[string][2]string{
		"session_id": {said.Session, "s"}, "cwd": {said.Cwd, "/srv"}, "tool_name": {said.Tool, "Bash"},
		"tool_use_id": {said.ID, "toolu_1"}, "tool_input": {r.Tool.Command, "ls"}, "tool_response": {r.Output, "out"},
		"prompt_id": {facts[0].Turn, "p"},
	} {
		if field == "tool_name" && name == "tool_input" { // without a tool no argument is a command
			check = [2]string{r.Tool.Input, `{"command":"ls"}`}
		}
		if name != field {
			is(t, what+": "+name, check[0], check[1])
		}
	}
	if field == "tool_input" {
		is(t, what+": kept", r.Tool.Input, shape)
	}
}

func unknownEvents(t *testing.T) {
	wants := []string{"agent.started", "unknown:BrandNewEvent", "unknown:", "unknown:", "tool.returned", "tool.returned"}
	i := 0
	for line := range bytes.Lines(input(t, "shape-05.jsonl")) {
		facts := hookOf(line)
		if len(facts) != 1 {
			t.Fatalf("%s: %d facts, want 1", line, len(facts))
		}
		got := string(facts[0].Body.Kind())
		if c, ok := facts[0].Body.(event.Counted); ok {
			got = c.What
		}
		is(t, string(line), got, wants[i])
		i++
	}
	is(t, "lines", i, len(wants))
	is(t, "event from the argument", Hook().Identify("Stop", []byte(`{"hook_event_name":""}`)).Event, "Stop")
	is(t, "unknown is noise", Hook().Noise("BrandNewEvent"), false)
	is(t, "unknown is known", Hook().Known("BrandNewEvent"), false)
	is(t, "answer", len(Hook().Answer("BrandNewEvent", adapter.Reply{Context: "c", Notice: "n"})), 0)
}

func danglingParent(t *testing.T) {
	facts := inputFacts(t, "tr-05.jsonl")
	is(t, "prompts", prompts(facts), "[text 1 text 3 text 5]")
	is(t, "texts", said(facts), "[text 2 text 4 text 6]")
}

func snapshotsAreNoMessages(t *testing.T) {
	facts := inputFacts(t, "tr-08.jsonl")
	is(t, "facts", len(facts), 2)
	r := Transcript().NewReader("x.jsonl", nil)
	types := map[string]bool{}
	for _, raw := range split(input(t, "tr-08.jsonl")) {
		v := r.Value(raw)
		types[v.Type+" "+v.ID] = true
	}
	is(t, "names", len(types), 3)
}

func rewrittenRows(t *testing.T) {
	facts := inputFacts(t, "tr-09.jsonl")
	is(t, "messages", len(prompts(facts))+len(said(facts)), 12)
	is(t, "compactions", len(bodies[event.CompactionDone](facts)), 1)
}

func agentFiles(t *testing.T) {
	// The fault's file is called agent-abc123.jsonl where it lives.
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/agent-abc123.jsonl", input(t, "tr-15.agent-abc123.jsonl"), 0o600); err != nil {
		t.Fatal(err)
	}
	facts := transcriptFacts(t, testdata+"faults/inputs/tr-15.parent.jsonl", dir+"/agent-abc123.jsonl")
	is(t, "prompts", prompts(facts), "[start]")
	is(t, "sessions", len(sessions(facts)), 1)
	spoke := 0
	for _, f := range facts {
		switch f.Body.(type) {
		case event.AssistantSaid:
			spoke++
			is(t, "speaker", f.Agent, "abc123")
		case event.AgentEnded:
			is(t, "agent", f.Agent, "abc123")
			is(t, "started by", f.ParentCall, "claude-code/toolu_0001")
		}
	}
	is(t, "texts", spoke, 1)
	is(t, "agent ends", len(bodies[event.AgentEnded](facts)), 1)
	is(t, "sidechain messages", count(facts)["sidechain_messages"], 2)
}

func growingAnswer(t *testing.T) {
	texts := bodies[event.AssistantSaid](inputFacts(t, "tr-17.jsonl"))
	kept := map[string]string{}
	for _, b := range texts {
		if b.Message == "" || !strings.HasPrefix(b.Text, kept[b.Message]) {
			t.Errorf("%q does not continue %q", b.Text, kept[b.Message])
		}
		kept[b.Message] = b.Text
	}
	is(t, "texts", len(texts), 3)
	is(t, "kept", kept, "map[msg_same:Partial answer, whole]")
}

func oneAnswerOfThreeBlocks(t *testing.T) {
	facts := inputFacts(t, "tr-19.jsonl")
	is(t, "texts", said(facts), "[answer]")
	calls := bodies[event.ToolCalled](facts)
	is(t, "calls", len(calls), 1)
	is(t, "command", calls[0].Tool.Command, "ls")
}

func summariesAreNoPrompts(t *testing.T) {
	facts := inputFacts(t, "tr-23.jsonl")
	is(t, "prompts", prompts(facts), "[text 1 text 3 real prompt]")
	is(t, "compactions", len(bodies[event.CompactionDone](facts)), 1)
	is(t, "summary", bodies[event.CompactionDone](facts)[0].Summary, "This session continues from an earlier one. Summary: ...")
}

func lastOfTheMainChain(t *testing.T) {
	var last string
	for _, f := range inputFacts(t, "tr-24.jsonl") {
		if b, ok := f.Body.(event.AssistantSaid); ok && f.Agent == "" {
			last = b.Text
		}
	}
	is(t, "last text", last, "the answer")
}

func deepInput(t *testing.T) {
	body := input(t, "own-04.json")
	said := Hook().Identify("", body)
	is(t, "session", said.Session, "5e550000-0000-4000-8000-000000000001")
	is(t, "tool", said.Tool, "Bash")
	is(t, "event", said.Event, "PostToolUse")
	r := bodies[event.ToolReturned](hookOf(body))
	is(t, "returns", len(r), 1)
	if depth := strings.Count(r[0].Tool.Input, "["); depth < 10_050 {
		t.Errorf("input has %d levels, want them all", depth)
	}
	whole := `{"type":"user","uuid":"u","sessionId":"s","message":{"content":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}}`
	v := Transcript().NewReader("x.jsonl", nil).Value([]byte(whole))
	is(t, "record's session", v.Session, "s")
	is(t, "prompts", len(prompts(Decode(wrap(v, []byte(whole))))), 0)
	is(t, "normal is the value", len(Transcript().Normal([]byte(whole))) > 40_000, true)
}

func exactKeys(t *testing.T) {
	said := Hook().Identify("", input(t, "own-15.json"))
	is(t, "prompt", said.Prompt, "open <private>CANARY-own-15</private>")
	is(t, "read and decoded alike", prompts(hookOf(input(t, "own-15.json"))), "["+said.Prompt+"]")
	twice := []byte(`{"SESSION_ID":"no","session_id":"one","session_id":"two","Hook_Event_Name":"no","hook_event_name":"Stop"}`)
	is(t, "session", Hook().Identify("x", twice).Session, "one")
	is(t, "event", Hook().Identify("x", twice).Event, "Stop")
	escaped := []byte(`{"session\u005fid":"s"}`)
	is(t, "escaped key", Hook().Identify("x", escaped).Session, "s")
}

// events are the events of every recorded session, and some never seen.
func events() []string {
	return slices.Concat([]string{"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure",
		"Stop", "SubagentStart", "SubagentStop", "SessionEnd", "PreCompact", "PostCompact", "UserPromptExpansion",
		"Notification", "PermissionRequest", "MessageDisplay", "PostToolBatch", "InstructionsLoaded", "Setup"},
		[]string{"StopFailure", "PermissionDenied", "Elicitation", "BrandNewEvent", ""})
}
