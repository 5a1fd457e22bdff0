package codex

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"cmem/ingest/host/adapter"
	"cmem/streams/envelope"
	"cmem/streams/event"
)

func TestFaults(t *testing.T) {
	t.Run("tr-11", forkWithTheParentsRecords)
}

func forkWithTheParentsRecords(t *testing.T) {
	const fork, parent = "0190bbbb-0000-7000-8000-00000000000b", "0190aaaa-0000-7000-8000-00000000000a"
	envs, skipped := rollout(t, filepath.Join(testdata, "faults/inputs/tr-11.jsonl"))
	var said []string
	var parents []string
	for _, e := range envs {
		if e.Subject != fork {
			t.Errorf("%s belongs to %q, want the fork's id", e.Event, e.Subject)
		}
		for _, f := range Decode(e) {
			switch b := f.Body.(type) {
			case event.PromptSubmitted:
				said = append(said, "user: "+b.Text)
			case event.AssistantSaid:
				said = append(said, "agent: "+b.Text)
			case event.SessionStarted:
				parents = append(parents, b.Parent)
			}
		}
	}
	if got, want := strings.Join(said, ", "), "user: fork q, agent: fork a"; got != want {
		t.Errorf("said %q, want %q", got, want)
	}
	if len(parents) != 1 || parents[0] != parent {
		t.Errorf("parents %q, want one link to %s", parents, parent)
	}
	if skipped["copied"] != 5 {
		t.Errorf("%d copied, want the parent's turn_context and 4 items: %v", skipped["copied"], skipped)
	}
}

// TestEraChangesOnResume: the same thread goes on in a version that tells calls
// by item_completed.
func TestEraChangesOnResume(t *testing.T) {
	r := newReader("", nil)
	r.Value([]byte(`{"type":"session_meta","payload":{"id":"019d0000-0000-7000-8000-000000000001","cli_version":"0.133.0"}}`))
	exec := []byte(`{"type":"response_item","payload":{"type":"custom_tool_call","name":"exec","input":"x","call_id":"call_1"}}`)
	if v := r.Value(exec); v.HostVersion != "" {
		t.Errorf("before items: %q", v.HostVersion)
	}
	r.Value([]byte(`{"type":"session_meta","payload":{"id":"019d0000-0000-7000-8000-000000000001","cli_version":"0.171.0"}}`))
	r.Value([]byte(`{"type":"event_msg","payload":{"type":"item_completed","turn_id":"019d0000-0001-7000-8000-000000000001","item":{"type":"UserMessage","id":"u","content":[]}}}`))
	if v := r.Value(exec); v.HostVersion != "0.171.0+items" {
		t.Errorf("with items: %q", v.HostVersion)
	}
}

// TestExitOfALongCommandReachesItsCall: the exit code comes in the output of a
// later write_stdin.
func TestExitOfALongCommandReachesItsCall(t *testing.T) {
	const start, wait = "call_aaaaaaaaaaaaaaaaaaaaaaaa", "call_bbbbbbbbbbbbbbbbbbbbbbbb"
	lines := []string{
		`{"type":"session_meta","payload":{"id":"019d0000-0000-7000-8000-000000000001","cli_version":"0.133.0"}}`,
		`{"type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"make\"}","call_id":"` + start + `"}}`,
		`{"type":"response_item","payload":{"type":"function_call_output","call_id":"` + start + `","output":"Wall time: 1.0019 seconds\nProcess running with session ID 50644\nOutput:\nwait"}}`,
		`{"type":"response_item","payload":{"type":"function_call","name":"write_stdin","arguments":"{\"session_id\":50644,\"chars\":\"\"}","call_id":"` + wait + `"}}`,
		`{"type":"response_item","payload":{"type":"function_call_output","call_id":"` + wait + `","output":"Process exited with code 2\nOutput:\nno"}}`,
	}
	envs, _ := values(t, "x.jsonl", []byte(strings.Join(lines, "\n")+"\n"))
	outcomes := map[string][]event.Outcome{}
	for _, e := range envs {
		for _, f := range Decode(e) {
			if r, ok := f.Body.(event.ToolReturned); ok {
				outcomes[f.Key] = append(outcomes[f.Key], r.Outcome)
			}
		}
	}
	want := map[string][]event.Outcome{"codex/" + start: {event.Unknown, event.Failed}, "codex/" + wait: {event.Failed}}
	if !reflect.DeepEqual(outcomes, want) {
		t.Errorf("got %v, want %v", outcomes, want)
	}
}

func TestInterruptedTurn(t *testing.T) {
	f := folded(rollouts(t, "b-interactive"))
	if len(f.stops) != 1 || len(f.compactions) != 1 {
		t.Errorf("%d interrupts and %d compactions, want 1 and 1", len(f.stops), len(f.compactions))
	}
	live := folded(hooks(t, "b-interactive"))
	same(t, "interrupts", live.stops, f.stops)
	same(t, "compactions", live.compactions, f.compactions)
	same(t, "turn ends", live.turnEnds, minus(f.turnEnds, f.compactionTurnEnds(live)))
}

// compactionTurnEnds: the turn of /compact ends in the rollout only.
func (f *fold) compactionTurnEnds(live *fold) map[string]bool {
	only := map[string]bool{}
	for name := range f.turnEnds {
		if !live.turnEnds[name] {
			only[name] = true
		}
	}
	if len(only) > 1 {
		return nil
	}
	return only
}

func minus(a, b map[string]bool) map[string]bool {
	rest := map[string]bool{}
	for name := range a {
		if !b[name] {
			rest[name] = true
		}
	}
	return rest
}

// TestSubagent: it works for its parent's session, has no prompts and ends no
// turn of it.
func TestSubagent(t *testing.T) {
	const agent, call = "01a22e4a-5b48-7951-93fa-da5b1087cf2a", "codex/call_Ou39kG7nuGnHT4STYZeozT"
	for name, envs := range map[string][]envelope.Envelope{"hooks": hooks(t, "a-exec"), "rollouts": rollouts(t, "a-exec")} {
		kinds := map[event.Kind]int{}
		started := 0
		for _, e := range envs {
			for _, f := range Decode(e) {
				if f.Agent == "" {
					continue
				}
				if f.Agent != agent || f.Session != "01a22e4a-4a59-7030-b2ef-af9a6af2cb07" {
					t.Errorf("%s: agent %s of session %s", name, f.Agent, f.Session)
				}
				kinds[f.Body.Kind()]++
				if f.ParentCall == call {
					started++
				}
			}
		}
		if kinds["prompt.submitted"]+kinds["turn.ended"] > 0 || kinds["tool.returned"] == 0 || kinds["agent.ended"] == 0 || started == 0 {
			t.Errorf("%s: facts %v, %d of the call that started it", name, kinds, started)
		}
	}
}

func TestOutputs(t *testing.T) {
	code := func(n int) *int { return &n }
	tests := map[string]struct {
		raw     string
		text    string
		exit    *int
		outcome event.Outcome
	}{
		"json":        {`"{\"output\":\"x\\n\",\"metadata\":{\"exit_code\":3,\"duration_seconds\":0.5}}"`, "x\n", code(3), event.Failed},
		"exit code":   {`"Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess.\n"`, "Success.\n", code(0), event.OK},
		"process":     {`"Command: /bin/zsh -lc pwd\nChunk ID: 8c7cc0\nWall time: 0.0000 seconds\nProcess exited with code 1\nOutput:\n/x\n"`, "/x\n", code(1), event.Failed},
		"fake header": {`"Process exited with code 1 is what it said"`, "Process exited with code 1 is what it said", nil, event.OK},
		"in the text": {`"Chunk ID: a\nProcess exited with code 0\nOutput:\nProcess exited with code 9\n"`, "Process exited with code 9\n", code(0), event.OK},
		"aborted":     {`"Wall time: 2.2 seconds\naborted by user"`, "Wall time: 2.2 seconds\naborted by user", nil, event.Interrupted},
		"verify":      {`"apply_patch verification failed: no such file"`, "apply_patch verification failed: no such file", nil, event.Failed},
		"unsupported": {`"unsupported call: x"`, "unsupported call: x", nil, event.Failed},
		"refused":     {`"exec command rejected by user"`, "exec command rejected by user", nil, event.Refused},
		"parts":       {`[{"type":"input_text","text":"Wall time: 0.1 seconds\nOutput:"},{"type":"input_text","text":"{}"}]`, "{}", nil, event.OK},
		"script":      {`[{"type":"input_text","text":"Script failed\nWall time 0.7 seconds\nOutput:\n"},{"type":"input_text","text":"boom"}]`, "\nboom", nil, event.Failed},
		"server":      {`{"content":[{"type":"text","text":"a"}]}`, "a", nil, event.OK},
		"null":        {`null`, "", nil, event.OK},
		"plan":        {`"Plan updated"`, "Plan updated", nil, event.OK},
	}
	for name, tt := range tests {
		got := readOutput([]byte(tt.raw))
		if got.text != tt.text || !reflect.DeepEqual(got.exit, tt.exit) || got.outcome != tt.outcome {
			t.Errorf("%s: got %q, %v, %s; want %q, %v, %s", name, got.text, got.exit, got.outcome, tt.text, tt.exit, tt.outcome)
		}
	}
}

func TestPatches(t *testing.T) {
	patch := strings.Join([]string{
		"*** Begin Patch", "*** Add File: a.txt", "+one", "+two", "*** Update File: b.go", "*** Move to: c.go",
		"@@ func x", " keep", "-old", "+new", "", "@@", "+tail", "*** Delete File: d.txt", "*** End Patch",
	}, "\n")
	files, edits := readPatch(patch)
	wantFiles := []string{"a.txt", "b.go", "c.go", "d.txt"}
	wantEdits := []event.Change{
		{Path: "a.txt", New: "one\ntwo\n"},
		{Path: "c.go", Old: "keep\nold\n\n", New: "keep\nnew\n\n"},
		{Path: "c.go", New: "tail\n"},
		{Path: "d.txt"},
	}
	if !reflect.DeepEqual(files, wantFiles) || !reflect.DeepEqual(edits, wantEdits) {
		t.Errorf("got %q\n%+v\nwant %q\n%+v", files, edits, wantFiles, wantEdits)
	}
	tool := runTool("apply_patch <<'EOF'\n"+patch+"\nEOF", "")
	if tool.Action != event.Run || !reflect.DeepEqual(tool.Writes, wantFiles) {
		t.Errorf("in a command line: %+v", tool)
	}
}

// TestToolsAreTheSameFromBothSides: a hook's shape of a call and a rollout's.
func TestToolsAreTheSameFromBothSides(t *testing.T) {
	tests := []struct{ hookName, hookInput, name, args string }{
		{"Bash", `{"command":"cat a b"}`, "exec_command", `{"cmd":"cat a b"}`},
		{"Bash", `{"command":"cat a b"}`, "shell", `{"command":["bash","-lc","cat a b"]}`},
		{"Bash", `{"command":"cat a b"}`, "shell_command", `{"command":"cat a b"}`},
		{"view_image", `{"path":"/a.png"}`, "view_image", `{"path":"/a.png"}`},
		{"mcp__s__t", `{"a":1}`, mcpName("s", "t"), `{ "a": 1 }`},
	}
	for _, tt := range tests {
		a, b := translate(tt.hookName, []byte(tt.hookInput)), translate(tt.name, []byte(tt.args))
		if !reflect.DeepEqual(a, b) {
			t.Errorf("hook %+v\nrollout %+v", a, b)
		}
	}
	if got := translate("Bash", []byte(`{"command":"sed -n '1,20p' go.mod"}`)).Reads; !reflect.DeepEqual(got, []string{"go.mod"}) {
		t.Errorf("sed reads %q", got)
	}
	if got := translate("Bash", []byte(`{"command":"cat a | tee b"}`)).Reads; got != nil {
		t.Errorf("a pipe reads %q", got)
	}
}

// TestAnswers: byte for byte, since one unknown field loses them.
func TestAnswers(t *testing.T) {
	both := adapter.Reply{Context: "memory \"東京\"\n2", Notice: "note"}
	want := map[string]string{
		"SessionStart":     `{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"memory \"東京\"\n2"},"systemMessage":"note"}` + "\n",
		"UserPromptSubmit": `{"hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"memory \"東京\"\n2"},"systemMessage":"note"}` + "\n",
		"PreToolUse":       `{"hookSpecificOutput":{"hookEventName":"PreToolUse","additionalContext":"memory \"東京\"\n2"},"systemMessage":"note"}` + "\n",
		"PostToolUse":      `{"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"memory \"東京\"\n2"},"systemMessage":"note"}` + "\n",
		"Stop":             "", "SessionEnd": "", "SubagentStop": "", "Interrupt": "", "PreCompact": "", "PostCompact": "", "notify": "", "NewOne": "",
	}
	for name, w := range want {
		if got := string(answer(name, both)); got != w {
			t.Errorf("%s: got %s, want %s", name, got, w)
		}
		if got := answer(name, adapter.Reply{}); got != nil {
			t.Errorf("%s: nothing to say, and said %s", name, got)
		}
		if w != "" && !json.Valid([]byte(w)) {
			t.Errorf("%s: the wanted answer is no JSON", name)
		}
	}
	if got, want := string(answer("SessionStart", adapter.Reply{Notice: "n"})), `{"systemMessage":"n"}`+"\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if contextBytes >= 10_000 {
		t.Error("the host cuts at 10,000 bytes")
	}
}

func TestIdentifyRecordedHooks(t *testing.T) {
	ids := map[string]int{}
	for _, session := range []string{"a-exec", "b-interactive", "c-code-mode"} {
		files, _ := filepath.Glob(filepath.Join(testdata, "hooks/codex", session, "*.json"))
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, name, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".json"), "-")
			said := identify("", data)
			if said.Event != name || said.Session == "" || said.Cwd == "" {
				t.Errorf("%s: %+v", file, said)
			}
			if !known(said.Event) {
				t.Errorf("%s is not known", said.Event)
			}
			if said.Tool != "" && said.ID == "" {
				t.Errorf("%s: no id", file)
			}
			if said.IsPrompt != (name == "UserPromptSubmit" && said.Agent == "") {
				t.Errorf("%s: prompt %v", file, said.IsPrompt)
			}
			ids[name]++
		}
	}
	if len(ids) != 13 {
		t.Errorf("%d events, want the 13 recorded: %v", len(ids), ids)
	}
	odd := identify("NewEvent", []byte(`{"session_id":7,"tool_name":["x"],"cwd":"/a"}`))
	if odd.Event != "NewEvent" || odd.Cwd != "/a" || odd.Session != "" {
		t.Errorf("odd payload: %+v", odd)
	}
	facts := Decode(envelope.Envelope{Type: envelope.HookReceived, Source: Name, Event: "NewEvent", Body: []byte(`{}`)})
	if len(facts) != 1 || facts[0].Body != (event.Counted{What: "unknown:NewEvent"}) {
		t.Errorf("an unknown event gave %+v", facts)
	}
}

func TestNotify(t *testing.T) {
	decode := func(body string) []event.Fact {
		return Decode(envelope.Envelope{Type: envelope.HookReceived, Source: Name, Subject: "s", Event: notify, Body: []byte(body)})
	}
	facts := decode(`{"type":"agent-turn-complete","thread-id":"s","turn-id":"t","input-messages":["do it"],"last-assistant-message":"done"}`)
	stop := Decode(envelope.Envelope{Type: envelope.HookReceived, Source: Name, Subject: "s", Event: "Stop",
		Body: []byte(`{"hook_event_name":"Stop","session_id":"s","turn_id":"t","last_assistant_message":"done"}`)})
	if !reflect.DeepEqual(facts, stop) || len(facts) != 2 {
		t.Errorf("notify %+v\nStop %+v", facts, stop)
	}
	title := decode(`{"type":"agent-turn-complete","thread-id":"x","turn-id":"t","input-messages":["Generate a concise, single-line task title.\n\nUser prompt:\ndo it"],"last-assistant-message":"Do it"}`)
	if len(title) != 1 || title[0].Body.Kind() != "counted" {
		t.Errorf("title thread: %+v", title)
	}
}

func TestPrivatePrompt(t *testing.T) {
	e := envelope.Envelope{Type: envelope.HookReceived, Source: Name, Subject: "s", Event: "UserPromptSubmit",
		Redactions: `[{"kind":"private","bytes":9}]`, Body: []byte(`{"turn_id":"t","prompt":" "}`)}
	facts := Decode(e)
	if len(facts) != 1 || !facts[0].Body.(event.PromptSubmitted).Private {
		t.Errorf("got %+v", facts)
	}
}

func TestBareEra(t *testing.T) {
	const thread = "0198e000-0000-7000-8000-000000000001"
	lines := `{"id":"` + thread + `","timestamp":"2025-09-10T10:00:00.000Z","instructions":null,"git":{"branch":"main"}}
{"record_type":"state"}
{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>\nCurrent working directory: /src/app\nApproval policy: never\n</environment_context>"}]}
{"type":"message","role":"user","content":[{"type":"input_text","text":"fix it"}]}
{"type":"function_call","id":"fc_1","name":"shell","arguments":"{\"command\":[\"bash\",\"-lc\",\"make\"]}","call_id":"call_cccccccccccccccccccccccc"}
{"type":"function_call_output","call_id":"call_cccccccccccccccccccccccc","output":"{\"output\":\"ok\",\"metadata\":{\"exit_code\":0}}"}
{"type":"message","role":"assistant","content":[{"type":"output_text","text":"fixed"}]}
{"type":"message","role":"user","content":[{"type":"input_text","text":"fix it"}]}
`
	if !detect("/x/rollout.jsonl", []byte(lines)) {
		t.Error("not detected")
	}
	envs, skipped := values(t, "x.jsonl", []byte(lines))
	f := folded(envs)
	if len(f.prompts) != 2 || len(f.calls) != 1 || len(f.ends) != 1 || len(f.texts) != 1 || !f.sessions[thread] || len(f.unknown) > 0 {
		t.Errorf("%+v", f)
	}
	if skipped["noise:state"] != 1 || skipped["noise:injected"] != 1 {
		t.Errorf("skipped %v", skipped)
	}
	r := newReader("x.jsonl", nil)
	var last adapter.Value
	for line := range strings.SplitSeq(strings.TrimSpace(lines), "\n") {
		last = r.Value([]byte(line))
	}
	if last.Cwd != "/src/app" || last.Branch != "main" {
		t.Errorf("cwd %q, branch %q", last.Cwd, last.Branch)
	}
}

func TestNormalIgnoresWhatAForkStamps(t *testing.T) {
	a := normal([]byte(`{"timestamp":"2026-01-01T00:00:00Z","ordinal":4,"type":"x","payload":{"b":1,"a":"\u00e9"}}`))
	b := normal([]byte(`{ "type": "x", "timestamp": "2027-01-01T00:00:00Z", "payload": {"a": "é", "b": 1} }`))
	c := normal([]byte(`{"type":"x","payload":{"b":2,"a":"é"}}`))
	if string(a) != string(b) || string(a) == string(c) {
		t.Errorf("\n%s\n%s\n%s", a, b, c)
	}
	output := func(chunk, wall, said string) string {
		return string(normal([]byte(`{"payload":{"type":"function_call_output","output":"Chunk ID: ` + chunk + `\nWall time: ` + wall + ` seconds\nProcess exited with code 0\nOutput:\n` + said + `"}}`)))
	}
	if output("a1", "0.1", "x") != output("b2", "0.2", "x") {
		t.Error("the shell tool's measures change a digest")
	}
	if output("a1", "0.1", "Wall time: 3 seconds") == output("a1", "0.1", "Wall time: 4 seconds") {
		t.Error("what the command said does not")
	}
}

func TestDetect(t *testing.T) {
	for _, name := range []string{"codex/g10-codex.jsonl", "codex/g11b-codex.jsonl", "codex/g12-codex.jsonl"} {
		data, err := os.ReadFile(filepath.Join(testdata, "transcripts", name))
		if err != nil {
			t.Fatal(err)
		}
		if !detect(name, data[:min(len(data), 64<<10)]) {
			t.Errorf("%s not detected", name)
		}
	}
	others, _ := filepath.Glob(filepath.Join(testdata, "transcripts/*/*"))
	for _, name := range others {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(name, "codex") && detect(name, data[:min(len(data), 64<<10)]) {
			t.Errorf("%s taken for a rollout", name)
		}
	}
}

func FuzzReader(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		r := newReader("x.jsonl", nil)
		r.Value(data)
		again := newReader("x.jsonl", r.State())
		if a, b := r.Value(data), again.Value(data); !reflect.DeepEqual(a, b) {
			t.Fatalf("after State:\n%+v\n%+v", a, b)
		}
		normal(data)
	})
}

func FuzzDecode(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, e := range []envelope.Envelope{
			{ID: "i", Type: envelope.TranscriptValue, Source: Name, Subject: "s", HostVersion: "1+items.for.x", Body: data},
			{ID: "i", Type: envelope.HookReceived, Source: Name, Subject: "s", Event: "PostToolUse", Body: data},
		} {
			a, b := Decode(e), Decode(e)
			if !reflect.DeepEqual(a, b) {
				t.Fatalf("not pure:\n%+v\n%+v", a, b)
			}
			for _, fact := range a {
				if fact.Host != Name {
					t.Fatalf("fact without host: %+v", fact)
				}
			}
		}
	})
}

func FuzzIdentify(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		identify("Stop", data)
	})
}

// seeds are one of each kind of record and hook.
func seeds(f *testing.F) {
	kinds := map[string]bool{}
	for _, session := range []string{"a-exec", "b-interactive", "c-code-mode"} {
		for _, e := range append(rollouts(f, session), hooks(f, session)...) {
			if !kinds[e.Event] && len(e.Body) < 8<<10 {
				kinds[e.Event] = true
				f.Add(e.Body)
			}
		}
	}
	f.Add([]byte(`{"type":"response_item","payload":{"type":"function_call_output","output":"Chunk ID: x\nOutput:"}}`))
}

func BenchmarkDecode(b *testing.B) {
	var envs []envelope.Envelope
	for _, name := range []string{"g10", "g11a", "g12"} {
		more, _ := rollout(b, filepath.Join(testdata, "transcripts/codex", name+"-codex.jsonl"))
		envs = append(envs, more...)
	}
	envs = append(envs, rollouts(b, "a-exec")...)
	var size int64
	for _, e := range envs {
		size += int64(len(e.Body))
	}
	b.SetBytes(size)
	for b.Loop() {
		for _, e := range envs {
			Decode(e)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(envs)), "µs/event")
}

func BenchmarkReader(b *testing.B) {
	data, err := os.ReadFile(filepath.Join(testdata, "transcripts/codex/g12-codex.jsonl"))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		r := newReader("x.jsonl", nil)
		for line := range strings.Lines(string(data)) {
			r.Value([]byte(line))
		}
	}
}
