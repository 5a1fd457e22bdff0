package hook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cmem/ingest/home"
	"cmem/ingest/host"
	"cmem/ingest/host/jsonscan"
	"cmem/ingest/identity"
	"cmem/ingest/internal/cut"
	"cmem/streams/envelope"
)

func TestEnvelope(t *testing.T) {
	b := newBench(t)
	payload := `{"session_id":"s1","cwd":"` + b.project + `","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"tool_response":"x","tool_use_id":"toolu_1"}`
	if out := b.say("PostToolUse", payload); out != "" {
		t.Errorf("printed %q", out)
	}
	e := b.one()
	key, err := identity.LoadKey(b.dir.IDKey())
	if err != nil {
		t.Fatal(err)
	}
	for what, pair := range map[string][2]string{
		"id": {e.ID, identity.HookID("claude-code", "PostToolUse", "toolu_1")}, "type": {e.Type, envelope.HookReceived},
		"source": {e.Source, "claude-code"}, "subject": {e.Subject, "s1"}, "event": {e.Event, "PostToolUse"},
		"digest": {e.Digest, key.Digest(wordsOf(payload))}, "body": {string(e.Body), payload},
		"time": {e.Time.String(), epoch.Add(time.Second).String()}, "redactions": {e.Redactions, ""},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: got %q, want %q", what, pair[0], pair[1])
		}
	}
}

// wordsOf are what was said in a payload, without how it was delivered.
func wordsOf(payload string) []byte {
	var out []byte
	for _, name := range []string{"hook_event_name", "tool_name", "tool_input", "tool_response", "error", "prompt"} {
		out = append(append(out, jsonscan.Get([]byte(payload), name)...), 0)
	}
	return out
}

// TestDigestIsOverWhatWasSaid: the same call said again in another turn is the
// same words; another answer under its id is not.
func TestDigestIsOverWhatWasSaid(t *testing.T) {
	said := func(turn, output string) string {
		b := newBench(t)
		b.say("PostToolUse", `{"session_id":"s","hook_event_name":"PostToolUse","prompt_id":"`+turn+`","tool_name":"Bash","tool_use_id":"toolu_01ABCDEFGHJKMNPQRSTUVWXY","tool_input":{"command":"ls"},"tool_response":"`+output+`"}`)
		key, err := identity.LoadKey(b.dir.IDKey())
		if err != nil {
			t.Fatal(err)
		}
		e := b.one()
		if e.Digest != key.Digest(wordsOf(string(e.Body))) {
			t.Errorf("digest %q is not over the words of %s", e.Digest, e.Body)
		}
		return string(wordsOf(string(e.Body)))
	}
	if said("t1", "a") != said("t2", "a") {
		t.Error("another turn made other words")
	}
	if said("t1", "a") == said("t1", "b") {
		t.Error("another output made the same words")
	}
}

// TestEventsWithoutAnID get the name of their words and their capture.
func TestEventsWithoutAnID(t *testing.T) {
	b := newBench(t)
	payload := `{"session_id":"s1","hook_event_name":"Stop"}`
	b.say("Stop", payload)
	e := b.one()
	key, err := identity.LoadKey(b.dir.IDKey())
	if err != nil {
		t.Fatal(err)
	}
	if want := identity.ContentID("claude-code", "Stop", key.ContentHash([]byte(payload)), e.Time.UnixNano()); e.ID != want {
		t.Errorf("got %q, want %q", e.ID, want)
	}
}

// TestRedaction: nothing private is in any file of the home (P6).
func TestRedaction(t *testing.T) {
	b := newBench(t)
	secret := "CANARY-" + strings.Repeat("x", 8)
	for _, payload := range []string{
		`{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":"fix <private>` + secret + `</private> this"}`,
		`{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"<private>` + secret + `</private>":"<PRIVATE>` + secret + `"},"tool_use_id":"toolu_2"}`,
		`{"session_id":"s<private>` + secret + `</private>","hook_event_name":"Ev<private>` + secret + `</private>"}`,
		`not JSON <private>` + secret,
		`{"session_id":"s","prompt":"<private>` + secret + ` cut off`,
		`{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Skill","tool_input":"` + secret + `"}`, // a skipped tool
		`{"session_id":"s","hook_event_name":"Stop","x":"` + strings.Repeat("a", cut.MaxText*6/10-20) + `<private>` + strings.Repeat(secret, cut.MaxText/8) + `</private>"}`,
	} {
		b.say("UserPromptSubmit", payload)
	}
	if n := len(b.envelopes()); n != 7 {
		t.Fatalf("the spool holds %d", n)
	}
	assertNowhere(t, string(b.dir), "CANARY-")
}

func assertNowhere(t *testing.T, dir, canary string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(canary)) || strings.Contains(path, canary) {
			t.Errorf("%s is in %s", canary, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestSizes(t *testing.T) {
	b := newBench(t)
	head, tail := strings.Repeat("h", cut.MaxText), strings.Repeat("t", cut.MaxText)
	b.say("PostToolUse", `{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Bash","tool_use_id":"toolu_1","tool_response":"`+head+"é"+tail+`","n":1}`)
	b.say("BrandNewEvent", `{"session_id":"s","hook_event_name":"BrandNewEvent","x":"`+strings.Repeat("x", 2*cut.MaxUnknown)+`"}`)
	all := b.envelopes()
	var got struct {
		Response string `json:"tool_response"`
		N        int
	}
	if err := json.Unmarshal(all[0].Body, &got); err != nil {
		t.Fatal(err)
	}
	if got.N != 1 || len(got.Response) > cut.MaxText || !strings.HasPrefix(got.Response, head[:cut.MaxText/10*6]) ||
		!strings.HasSuffix(got.Response, tail[:cut.MaxText/10*3]) || !strings.Contains(got.Response, fmt.Sprintf("of %d bytes cut, hash ", 2*cut.MaxText+2)) {
		t.Errorf("cut to %d bytes: %.100q", len(got.Response), got.Response[cut.MaxText/10*6-10:])
	}
	if !strings.Contains(all[0].Redactions, `"cut"`) {
		t.Errorf("redactions: %s", all[0].Redactions)
	}
	if hook, _ := host.Hook("claude-code"); hook.Known != nil && len(all[1].Body) > cut.MaxUnknown+200 {
		t.Errorf("an unknown event of %d bytes", len(all[1].Body))
	}
}

// TestManyMegabytes: no part is over the limit of a part, so all is kept.
func TestManyMegabytes(t *testing.T) {
	b := newBench(t)
	parts := slices.Repeat([]string{`"` + strings.Repeat("word ", (1<<20)/5-10) + `"`}, 6)
	payload := `{"session_id":"s","hook_event_name":"PostToolUse","tool_use_id":"toolu_1","tool_response":[` + strings.Join(parts, ",") + `]}`
	b.say("PostToolUse", payload)
	if e := b.one(); string(e.Body) != payload {
		t.Errorf("%d bytes of %d", len(e.Body), len(payload))
	}
}

func TestEmptyPayload(t *testing.T) {
	b := newBench(t)
	notices := 0
	for n := range 5 {
		if out := b.run("claude-code", "UserPromptSubmit", strings.NewReader([]string{"", "\n", " ", "\x00", "\xef\xbb\xbf"}[n])); out != "" {
			notices++
			if !json.Valid([]byte(out)) || !strings.Contains(out, "systemMessage") {
				t.Errorf("printed %q", out)
			}
		}
	}
	if n := b.counter("empty-payload"); notices != 1 || n != 5 || len(b.envelopes()) != 0 {
		t.Errorf("%d notices, counter %d, %d events", notices, n, len(b.envelopes()))
	}
	b.now = b.now.Add(time.Hour)
	if out := b.run("claude-code", "Stop", nil); out != "" {
		t.Errorf("Stop printed %q", out)
	}
	if out := b.run("claude-code", "UserPromptSubmit", nil); out == "" {
		t.Error("an hour later there is no notice")
	}
}

func TestSkippedEvents(t *testing.T) {
	b := newBench(t)
	b.env = append(b.env, "CMEM_EXCLUDED_PROJECTS="+b.project)
	b.say("PostToolUse", `{"session_id":"s","cwd":"`+b.project+`/src","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"SECRET"},"tool_use_id":"toolu_1"}`)
	e := b.one()
	if e.Type != envelope.EventSkipped || e.ID != "skip/claude-code/PostToolUse/toolu_1" || e.Origin != "" || e.Subject != "s" {
		t.Errorf("got %+v", e)
	}
	if strings.Contains(string(e.Body), "SECRET") || strings.Contains(string(e.Body), b.project) || !strings.Contains(string(e.Body), `"rule":"excluded"`) {
		t.Errorf("body %s", e.Body)
	}
	b.writeContext("for nobody", epoch)
	if out := b.say("SessionStart", `{"session_id":"s","cwd":"`+b.project+`/src","hook_event_name":"SessionStart"}`); out != "" {
		t.Errorf("context in an excluded project: %q", out)
	}
}

func TestOwnSessionsDoNothing(t *testing.T) {
	b := newBench(t)
	b.env = append(b.env, "CMEM_INTERNAL=1")
	if out := b.say("UserPromptSubmit", `{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":"x"}`); out != "" || len(b.envelopes()) != 0 {
		t.Errorf("printed %q, %d events", out, len(b.envelopes()))
	}
	if _, err := os.Stat(string(b.dir)); !os.IsNotExist(err) {
		t.Errorf("the home: %v", err)
	}
}

func TestNoiseIsCounted(t *testing.T) {
	b := newBench(t)
	b.say("Stop", `{"session_id":"s","hook_event_name":"Stop"}`)
	b.say("MessageDisplay", `{"session_id":"s","hook_event_name":"MessageDisplay"}`)
	if n := b.counter("noise:MessageDisplay"); n == 0 || len(b.envelopes()) != 1 {
		t.Errorf("counter %d, %d events", n, len(b.envelopes()))
	}
}

// TestEveryRecordedPayload: each makes one event or is noise, and prints nothing.
func TestEveryRecordedPayload(t *testing.T) {
	for _, name := range host.Names() {
		files, err := filepath.Glob(filepath.Join(testdata, "hooks", name, "*", "*.json"))
		if err != nil {
			t.Fatal(err)
		}
		h, _ := host.Hook(name)
		b := newBench(t)
		b.env = append(b.env, "CMEM_SKIP_TOOLS=,", "CMEM_FAIL_LOUD=0")
		for _, file := range files {
			payload, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, event, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".json"), "-")
			if out := b.run(name, event, bytes.NewReader(payload)); out != "" {
				t.Errorf("%s printed %q", file, out)
			}
			want := 1
			if h.Noise(event) {
				want = 0
			}
			all := b.envelopes()
			if err := os.RemoveAll(b.dir.Spool()); err != nil {
				t.Fatal(err)
			}
			if len(all) != want {
				t.Errorf("%s: %d events, want %d", file, len(all), want)
			} else if want == 1 && (all[0].Event == "" || all[0].Subject == "") {
				t.Errorf("%s: event %q of session %q", file, all[0].Event, all[0].Subject)
			}
		}
		if len(files) == 0 {
			t.Errorf("%s: no recorded payloads", name)
		}
	}
}

// failures are homes and command lines that do not work.
func failures(t *testing.T) map[string]func(*bench) []string {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	made := func(b *bench, change func(home.Dir) error) {
		if err := b.dir.Make(); err != nil {
			t.Fatal(err)
		}
		if err := change(b.dir); err != nil {
			t.Fatal(err)
		}
	}
	return map[string]func(*bench) []string{
		"none":                  func(b *bench) []string { return nil },
		"a file for a home":     func(b *bench) []string { b.dir = home.Dir(file); return nil },
		"a home below a file":   func(b *bench) []string { b.dir = home.Dir(filepath.Join(file, "home")); return nil },
		"a folder of others":    func(b *bench) []string { b.dir = home.Dir(filepath.Dir(file)); return nil },
		"no room in the kernel": func(b *bench) []string { b.dir = "/proc/cmem"; return nil },
		"a broken config": func(b *bench) []string {
			made(b, func(d home.Dir) error { return os.WriteFile(d.Config(), []byte("{broken"), 0o600) })
			return nil
		},
		"a key of the wrong size": func(b *bench) []string {
			made(b, func(d home.Dir) error { return os.WriteFile(d.IDKey(), []byte("short"), 0o600) })
			return nil
		},
		"a file for a spool": func(b *bench) []string {
			made(b, func(d home.Dir) error {
				if err := os.RemoveAll(d.Spool()); err != nil {
					return err
				}
				return os.WriteFile(d.Spool(), nil, 0o600)
			})
			return nil
		},
		"a folder for a counter": func(b *bench) []string {
			made(b, func(d home.Dir) error { return os.RemoveAll(d.Run()) })
			return nil
		},
		"read only": func(b *bench) []string {
			made(b, func(d home.Dir) error { return os.Chmod(d.SpoolTmp(), 0o500) })
			return nil
		},
		"a worker that cannot run": func(b *bench) []string {
			b.env = []string{"HOME=" + string(b.dir)}
			b.program = filepath.Join(filepath.Dir(file), "cmem-hook")
			if err := os.WriteFile(filepath.Join(filepath.Dir(file), "cmem"), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
			return nil
		},
		"a broken pattern":  func(b *bench) []string { b.env = append(b.env, "CMEM_REDACT=x=("); return nil },
		"no home told":      func(b *bench) []string { b.env = []string{"HOME="}; return []string{} },
		"no words":          func(b *bench) []string { return []string{} },
		"one word":          func(b *bench) []string { return []string{"claude-code"} },
		"three words":       func(b *bench) []string { return []string{"claude-code", "Stop", "x"} },
		"an unknown flag":   func(b *bench) []string { return []string{"--nonsense", "claude-code", "Stop"} },
		"--data at the end": func(b *bench) []string { return []string{"claude-code", "Stop", "--data"} },
		"an unknown host":   func(b *bench) []string { return []string{"no-such-host", "Stop"} },
	}
}

// events of all hosts, with some that no host has.
func events(t *testing.T) []string {
	names := []string{"", "BrandNewEvent", "../../x", "Stop\x00"}
	for _, name := range host.Names() {
		files, err := filepath.Glob(filepath.Join(testdata, "hooks", name, "*", "*.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			_, event, _ := strings.Cut(strings.TrimSuffix(filepath.Base(f), ".json"), "-")
			names = append(names, event)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// testExitMatrix: every event × every failure × good, empty and broken payloads
// ends with 0 and prints nothing, or a notice where one can be shown.
func testExitMatrix(t *testing.T) {
	for what, breakIt := range failures(t) {
		b := newBench(t)
		b.env = append(b.env, "CMEM_FAIL_LOUD=1")
		args := breakIt(b)
		for _, event := range events(t) {
			for _, payload := range []string{`{"session_id":"s","hook_event_name":"` + event + `","cwd":"/"}`, "", "{broken"} {
				words := args
				if words == nil {
					words = []string{"claude-code", event}
				}
				var out, errs bytes.Buffer
				code := Run(Config{
					Args: append([]string{"--data=" + string(b.dir)}, words...), Stdin: strings.NewReader(payload), Stdout: &out, Stderr: &errs,
					Env: b.env, Now: func() time.Time { return epoch }, Executable: b.program, Dir: b.project,
				})
				if code != 0 {
					t.Errorf("%s, %q: exit %d", what, event, code)
				}
				if out.Len() > 0 && (endsTurn(event) || !strings.HasPrefix(out.String(), `{"systemMessage":"cmem: `)) {
					t.Errorf("%s, %q with %q: printed %q", what, event, payload, out.String())
				}
			}
		}
	}
}

// TestPanicIsCaught wherever it comes from.
func TestPanicIsCaught(t *testing.T) {
	b := newBench(t)
	b.writeContext("# memory", epoch)
	stdin := strings.NewReader(`{"session_id":"s","hook_event_name":"SessionStart","cwd":"` + b.project + `"}`)
	code := Run(Config{
		Args: []string{"--data", string(b.dir), "claude-code", "SessionStart"}, Stdin: stdin, Stdout: panicWriter{},
		Env: b.env, Now: func() time.Time { return epoch }, Dir: b.project,
	})
	if n := b.counter("hook-panic"); n != 1 || code != 0 {
		t.Errorf("counted %d, exit %d", n, code)
	}
	if out := b.run("claude-code", "Stop", panicReader{}); out != "" || b.counter("empty-payload") != 1 {
		t.Errorf("printed %q", out)
	}
}

type panicWriter struct{}

func (panicWriter) Write([]byte) (int, error) { panic("writer") }

type panicReader struct{}

func (panicReader) Read([]byte) (int, error) { panic("reader") }

func TestAFailedPutIsCounted(t *testing.T) {
	b := newBench(t)
	if err := b.dir.Make(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(b.dir.SpoolTmp()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b.dir.SpoolTmp(), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b.say("Stop", `{"session_id":"s","hook_event_name":"Stop"}`)
	if n := b.counter("spool-failed:not a directory"); n != 1 {
		all, err := b.dir.Counters()
		t.Errorf("counters %+v, %v", all, err)
	}
}
