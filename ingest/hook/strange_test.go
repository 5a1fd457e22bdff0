package hook

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf16"

	"cmem/ingest/host"
	"cmem/streams/event"
)

const real = `{"session_id":"s1","hook_event_name":"UserPromptSubmit","prompt":"REAL"}`

// TestThePayloadIsTheHostsObject: JSON of something else before it does not
// take its place, and is counted.
func TestThePayloadIsTheHostsObject(t *testing.T) {
	for _, c := range []struct {
		name, in, session, contentType string
		noise, odd, undecodable        int64
	}{
		{"a line of a JSON log", `{"level":"info","msg":"direnv"}` + "\n" + real, "s1", "", 1, 0, 0},
		{"an empty object", "{}" + real, "s1", "", 1, 0, 0},
		{"many lines", strings.Repeat(`{"level":"info","cwd":"/x","at":{"session_id":"no","hook_event_name":"Stop"}}`+"\n", 500) + real, "s1", "", 1, 0, 0},
		{"a line that names a session", `{"level":"info","session_id":"other"}` + "\n" + real, "s1", "", 1, 0, 0},
		{"text and an object behind", "hello {\n" + real + `{"session_id":"s2","hook_event_name":"Stop"}`, "s1", "", 1, 0, 0},
		{"nothing before", " \n" + real + "\n", "s1", "", 0, 0, 0},
		{"no name of an event", `{"x":1}` + "\n" + `{"session_id":"s1","prompt":"REAL"}`, "s1", "", 1, 0, 0},
		{"an object of nobody alone", `{"level":"REAL"}`, "", "", 0, 1, 0},
		{"only lines of a log", `{"level":"REAL"}` + "\n" + `{"level":"x"}`, "", "text/plain", 0, 0, 1},
		{"a log and a payload cut off", `{"level":"REAL"}` + "\n" + real[:len(real)-9], "s1", "text/plain", 0, 0, 1},
	} {
		for how, r := range map[string]io.Reader{"at once": strings.NewReader(c.in), "byte by byte": iotest.OneByteReader(strings.NewReader(c.in))} {
			b := newBench(t)
			b.run("claude-code", "UserPromptSubmit", r)
			e := b.one()
			if e.Subject != c.session || e.ContentType != c.contentType || c.undecodable == 0 && !bytes.Contains(e.Body, []byte("REAL")) {
				t.Errorf("%s, %s: session %q, %q, %s", c.name, how, e.Subject, e.ContentType, e.Body)
			}
			if n, o, u := b.counter("noise-before-payload"), b.counter("odd-payload"), b.counter("undecodable-payload"); n != c.noise || o != c.odd || u != c.undecodable {
				t.Errorf("%s, %s: noise %d, odd %d, undecodable %d, want %d, %d, %d", c.name, how, n, o, u, c.noise, c.odd, c.undecodable)
			}
		}
	}
}

// TestALineOfALogDoesNotKeepTheHookWaiting: the payload is there, the pipe stays
// open.
func TestALineOfALogDoesNotKeepTheHookWaiting(t *testing.T) {
	r, w := io.Pipe()
	defer r.Close()
	go w.Write([]byte(`{"level":"info"}` + real))
	run := run{}
	run.host, _ = host.Hook("claude-code")
	if got := readInput(r, patience{time.Hour, time.Hour}, maxPayload, run.fit); string(got.value) != real || !got.noise {
		t.Errorf("got %q, noise %v", got.value, got.noise)
	}
}

// wideText encodes text; bits 16 or 32.
func wideText(text string, bits int, order binary.AppendByteOrder) []byte {
	var b []byte
	if bits == 32 {
		for _, r := range text {
			b = order.AppendUint32(b, uint32(r))
		}
		return b
	}
	for _, u := range utf16.Encode([]rune(text)) {
		b = order.AppendUint16(b, u)
	}
	return b
}

// TestEncodingsWithZerosBetween: UTF-16 and UTF-32, with and without a mark,
// have their session, and what is private is seen.
func TestEncodingsWithZerosBetween(t *testing.T) {
	const text = `{"session_id":"s1","hook_event_name":"UserPromptSubmit","prompt":"ü漢{🚀\" <private>CANARY</private> password: CANARY1x"}`
	for _, bits := range []int{16, 32} {
		for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			for before, noise := range map[string]int64{"": 0, "\ufeff": 0, " \r\n": 0, "\ufeff{\"level\":\"x\"}\n": 1, "hi {\n": 1} {
				for _, cut := range []int{0, 3 * bits / 8} {
					raw := wideText(before+text+"\n", bits, order)
					raw = raw[:len(raw)-cut]
					b := newBench(t)
					b.run("claude-code", "UserPromptSubmit", iotest.HalfReader(bytes.NewReader(raw)))
					e := b.one()
					plain := bytes.ReplaceAll(bytes.ReplaceAll(e.Body, []byte{0}, nil), []byte(`\u0000`), nil)
					if bytes.Contains(plain, []byte("CANARY")) || bytes.Contains(e.Body, []byte{0}) {
						t.Errorf("%d %v %q cut %d: leaks %q", bits, order, before, cut, e.Body)
					}
					if cut > 0 {
						continue
					}
					if e.Subject != "s1" || !json.Valid(e.Body) || !bytes.Contains(e.Body, []byte(`ü漢{🚀\"`)) || b.counter("noise-before-payload") != noise {
						t.Errorf("%d %v %q: session %q, noise %d, %q", bits, order, before, e.Subject, b.counter("noise-before-payload"), e.Body)
					}
				}
			}
			b := newBench(t)
			b.run("claude-code", "UserPromptSubmit", bytes.NewReader(append([]byte("direnv: loading {\n"), wideText(text, bits, order)...)))
			if e := b.one(); e.Subject != "s1" || bytes.Contains(e.Body, []byte("CANARY")) {
				t.Errorf("%d %v behind UTF-8: session %q, %q", bits, order, e.Subject, e.Body)
			}
		}
	}
}

// TestZerosInATextHideNothing: a file in UTF-16 that a tool printed.
func TestZerosInATextHideNothing(t *testing.T) {
	inner := string(wideText("a <private>CANARY</private> ghp_"+strings.Repeat("aB3", 12), 16, binary.LittleEndian))
	raw, err := json.Marshal(map[string]any{"session_id": "s1", "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_response": map[string]string{"stdout": inner}})
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t)
	b.say("PostToolUse", string(raw))
	if plain := bytes.ReplaceAll(b.one().Body, []byte(`\u0000`), nil); bytes.Contains(plain, []byte("CANARY")) || bytes.Contains(plain, []byte("aB3aB3")) {
		t.Errorf("leaks %s", plain)
	}
}

// TestOfTwoEqualNamesTheFirstCounts: for the envelope and for whoever decodes
// it, whatever the letter case and the escapes.
func TestOfTwoEqualNamesTheFirstCounts(t *testing.T) {
	for name, c := range map[string]struct{ in, session, prompt string }{
		"twice":          {`{"session_id":"s1","hook_event_name":"UserPromptSubmit","prompt":"one","session_id":"s2","prompt":"two"}`, "s1", "one"},
		"escaped":        {`{"session\u005fid":"s1","hook_event_name":"UserPromptSubmit","prompt":"one","session_id":"s2"}`, "s1", "one"},
		"another case":   {`{"SESSION_ID":"s2","session_id":"s1","hook_event_name":"UserPromptSubmit","PROMPT":"two","prompt":"one"}`, "s1", "one"},
		"the event too":  {`{"session_id":"s1","hook_event_name":"UserPromptSubmit","prompt":"one","hook_event_name":"Stop"}`, "s1", "one"},
		"not a string":   {`{"session_id":7,"session_id":"s2","hook_event_name":"UserPromptSubmit","prompt":"one"}`, "", "one"},
		"a private name": {`{"session_id":"s1<private>x</private>","hook_event_name":"UserPromptSubmit","prompt":"one","session_id":"s2"}`, "s1", "one"},
	} {
		b := newBench(t)
		b.say("UserPromptSubmit", c.in)
		e := b.one()
		if e.Subject != c.session || e.Event != "UserPromptSubmit" {
			t.Errorf("%s: session %q, event %q", name, e.Subject, e.Event)
		}
		var prompts []string
		decode, _ := host.Decode(e.Source)
		for _, f := range decode(e) {
			if f.Session != e.Subject {
				t.Errorf("%s: decoded for session %q, the envelope's is %q", name, f.Session, e.Subject)
			}
			if p, ok := f.Body.(event.PromptSubmitted); ok {
				prompts = append(prompts, p.Text)
			}
		}
		if len(prompts) != 1 || prompts[0] != c.prompt {
			t.Errorf("%s: prompts %q, want %q", name, prompts, c.prompt)
		}
	}
}
