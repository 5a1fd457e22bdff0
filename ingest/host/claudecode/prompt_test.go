package claudecode

import (
	"strings"
	"testing"

	"cmem/streams/envelope"
	"cmem/streams/event"
)

const someUUID = "00000000-0000-4000-8000-000000000001"

// userRecord is a record of type user with some members more.
func userRecord(members string) []byte {
	return []byte(`{"type":"user","uuid":"` + someUUID + `","sessionId":"s","version":"2.1.332",` + members + `}`)
}

func recordFacts(raw []byte) []event.Fact {
	return Decode(wrap(Transcript().NewReader("x.jsonl", nil).Value(raw), raw))
}

func TestWhoseWordsAUserRecordHolds(t *testing.T) {
	for name, test := range map[string]struct{ members, want string }{
		"typed":             {`"message":{"content":"hello"}`, `prompt.submitted {"Text":"hello"}`},
		"blocks":            {`"message":{"content":[{"type":"text","text":"a"},{"type":"image","source":{}},{"type":"text","text":"b"}]}`, `prompt.submitted {"Images":1,"Text":"a\nb"}`},
		"beside an editor":  {`"message":{"content":[{"type":"text","text":"<ide_opened_file>x</ide_opened_file>"},{"type":"text","text":"fix it"}]}`, `prompt.submitted {"Text":"fix it"}`},
		"from a person":     {`"origin":{"kind":"human"},"message":{"content":"hello"}`, `prompt.submitted {"Text":"hello"}`},
		"of unknown origin": {`"origin":{"kind":"task-notification"},"message":{"content":"hello"}`, ""},
		"a tag of his own":  {`"message":{"content":"<div> is broken"}`, `prompt.submitted {"Text":"\u003cdiv\u003e is broken"}`},
		"a path":            {`"message":{"content":"/usr/bin/x is broken"}`, `prompt.submitted {"Text":"/usr/bin/x is broken"}`},
		"blank":             {`"message":{"content":" \n"}`, ""},
		"host's":            {`"isMeta":true,"message":{"content":"Base directory for this skill: /x"}`, ""},
		"summary":           {`"isCompactSummary":true,"message":{"content":"sum"}`, `compaction.done {"Summary":"sum"}`},
		"command":           {`"message":{"content":"<command-name>/x</command-name>\n <command-message>x</command-message>\n <command-args>a b</command-args>"}`, `command.run {"Args":"a b","Name":"/x"}`},
		"command of 1.0":    {`"message":{"content":"<command-message>x is running…</command-message>\n<command-name>/x</command-name>"}`, `command.run {"Name":"/x"}`},
		"command's output":  {`"message":{"content":"<local-command-stdout>out</local-command-stdout>"}`, ""},
		"shell":             {`"message":{"content":"<bash-input>ls -l</bash-input>"}`, `command.run {"Args":"ls -l","Name":"!"}`},
		"shell's output":    {`"message":{"content":"<bash-stdout>x</bash-stdout><bash-stderr></bash-stderr>"}`, ""},
		"interrupt":         {`"message":{"content":[{"type":"text","text":"[Request interrupted by user for tool use]"}]}`, `turn.ended {"Interrupted":true}`},
		"notification":      {`"message":{"content":"<task-notification>\n<task-id>1</task-id></task-notification>"}`, ""},
		"our own":           {`"message":{"content":"<session-start-hook># Memory</session-start-hook>"}`, ""},
		"our own, later":    {`"message":{"content":"<user-prompt-submit-hook>Memory</user-prompt-submit-hook>"}`, ""},
		"caveat":            {`"message":{"content":"Caveat: The messages below were generated"}`, ""},
		"refusal":           {`"message":{"content":[{"type":"tool_result","tool_use_id":"toolu_1","is_error":true,"content":"The user doesn't want to proceed"},{"type":"text","text":"use make"}]}`, `tool.returned {"Error":"The user doesn't want to proceed\nuse make","Outcome":"refused"}`},
		"sub-agent's":       {`"isSidechain":true,"message":{"content":"Warmup"}`, `counted {"What":"sidechain_message"}`},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, f := range recordFacts(userRecord(test.members)) {
				kind, rest := string(f.Body.Kind()), tell(f)
				got = append(got, kind+" "+rest[strings.Index(rest, "{"):])
			}
			is(t, "facts", strings.Join(got, "\n"), test.want)
		})
	}
}

func TestPrivatePromptsAreTold(t *testing.T) {
	for redactions, want := range map[string]string{
		`[{"kind":"private","bytes":20}]`:         "[{ true  0}]",
		`[{"kind":"system-reminder","bytes":20}]`: "[]", // the host's words: nobody asked for anything
		"": "[]",
	} {
		for _, e := range []envelope.Envelope{
			{Type: envelope.TranscriptValue, Source: Name, Redactions: redactions, Body: userRecord(`"promptId":"` + someUUID + `","message":{"content":"  "}`)},
			{Type: envelope.HookReceived, Source: Name, Redactions: redactions, Event: "UserPromptSubmit", Body: []byte(`{"session_id":"s","prompt_id":"` + someUUID + `","prompt":" "}`)},
		} {
			is(t, string(e.Type)+" "+redactions, bodies[event.PromptSubmitted](Decode(e)), want)
		}
	}
}

// Where only one side has an id, the text and its turn in the row name a prompt.
func TestPromptsWithoutIDsMeetByText(t *testing.T) {
	hook := hookOf([]byte(`{"hook_event_name":"UserPromptSubmit","session_id":"s","prompt":"do it\r\nnow "}`))
	for _, members := range []string{
		`"message":{"content":"do it\nnow"}`,
		`"version":"2.1.100","promptId":"` + someUUID + `","message":{"content":"do it\nnow\n"}`,
	} {
		record := []byte(`{"type":"user","uuid":"` + someUUID + `","sessionId":"s",` + members + `}`)
		facts := append(recordFacts(record), hook...)
		is(t, members, things(facts, typedPrompt), 1)
		other := recordFacts([]byte(strings.Replace(string(record), "do it", "do that", 1)))
		other[0].Key = "" // another record
		is(t, members+" and another", things(append(facts, other...), typedPrompt), 2)
	}
}

func TestQueuedPrompts(t *testing.T) {
	attachment := func(inner string) []byte {
		return []byte(`{"type":"attachment","uuid":"` + someUUID + `","sessionId":"s","version":"2.1.100","attachment":{"type":"queued_command"` + inner + `}}`)
	}
	for inner, want := range map[string]string{
		`,"prompt":"also this","commandMode":"prompt"`:               "[{also this false queued 0}]",
		`,"prompt":"also this"`:                                      "[{also this false queued 0}]",
		`,"prompt":[{"type":"text","text":"also"},{"type":"image"}]`: "[{also false queued 1}]",
		`,"prompt":"<task-notification>x","commandMode":"prompt"`:    "[]",
		`,"prompt":"done","commandMode":"task-notification"`:         "[]",
		``: "[]",
	} {
		is(t, inner, bodies[event.PromptSubmitted](recordFacts(attachment(inner))), want)
	}
	queue := func(op, rest string) event.Fact {
		facts := recordFacts([]byte(`{"type":"queue-operation","operation":"` + op + `","sessionId":"s"` + rest + `}`))
		if len(facts) != 1 {
			t.Fatalf("%s: %d facts", op, len(facts))
		}
		return facts[0]
	}
	facts := []event.Fact{queue("enqueue", `,"content":"a"`), queue("enqueue", `,"content":"b"`), queue("remove", ""), queue("dequeue", "")}
	is(t, "queued only", queuedOnly(facts), 1)
	is(t, "text", facts[1].Body, "{enqueue b}")
}

func TestSlashCommandsInHooks(t *testing.T) {
	for prompt, want := range map[string]string{
		"/stock SKU-1 and 2": "command.run /stock SKU-1 and 2", "/a:b": "command.run /a:b ",
		"/usr/bin is full": "prompt.submitted", "/": "prompt.submitted", "no /x": "prompt.submitted",
		"<task-notification>x": "",
	} {
		var got string
		for _, f := range hookOf([]byte(`{"hook_event_name":"UserPromptSubmit","session_id":"s","prompt_id":"` + someUUID + `","prompt":"` + prompt + `"}`)) {
			got = string(f.Body.Kind())
			if c, ok := f.Body.(event.CommandRun); ok {
				got += " " + c.Name + " " + c.Args
			}
		}
		is(t, prompt, got, want)
	}
}
