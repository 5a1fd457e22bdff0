package ingest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"cmem/ingest/filter"
	"cmem/ingest/home"
	"cmem/ingest/host"
	"cmem/ingest/internal/cut"
	"cmem/ingest/redact"
	"cmem/ingest/transcript"
	"cmem/streams/envelope"
	"cmem/streams/event"
)

// transcribe gives what a fresh Transcriber makes of a file.
func transcribe(t testing.TB, path string, settings home.Settings, each func(transcript.Value, Transcribed)) *Transcriber {
	t.Helper()
	f, err := transcript.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tr := transcriber(t, f, settings)
	for v, err := range f.Values() {
		if err != nil {
			t.Fatal(err)
		}
		each(v, tr.Value(v))
	}
	return tr
}

func transcriber(t testing.TB, f *transcript.File, settings home.Settings) *Transcriber {
	t.Helper()
	head, err := f.Head(64 << 10)
	if err != nil {
		t.Fatal(err)
	}
	h, ok := host.Detect(f.Path, head)
	if !ok {
		t.Fatalf("%s: no host's", f.Path)
	}
	r, problems := redact.New(settings)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return NewTranscriber(TranscriberConfig{
		Host: h, Path: f.Path, Redactor: r, Filter: filter.New(settings, home.Dir(t.TempDir())),
		SkipTools: settings.SkipTools != nil, State: f.Start().State,
	})
}

func BenchmarkTranscriber(b *testing.B) {
	for _, hostName := range []string{"claude-code", "codex"} {
		files, _ := filepath.Glob("../testdata/transcripts/" + hostName + "/*.jsonl")
		b.Run(hostName, func(b *testing.B) {
			var size int64
			for _, path := range files {
				info, err := os.Stat(path)
				if err != nil {
					b.Fatal(err)
				}
				size += info.Size()
			}
			b.SetBytes(size)
			for b.Loop() {
				for _, path := range files {
					transcribe(b, path, home.Settings{ToolHooks: true}, func(transcript.Value, Transcribed) {})
				}
			}
		})
	}
}

// noSettings are the default ones.
var noSettings = home.Settings{ToolHooks: true}

// envelopesOf gives the envelopes of a file, bodies kept.
func envelopesOf(t testing.TB, path string, settings home.Settings) (envs []envelope.Envelope, rules map[string]int) {
	t.Helper()
	rules = map[string]int{}
	transcribe(t, path, settings, func(_ transcript.Value, said Transcribed) {
		if said.Rule != "" {
			rules[said.Rule]++
		}
		if said.Envelope.ID != "" {
			said.Envelope.Body = bytes.Clone(said.Envelope.Body)
			envs = append(envs, said.Envelope)
		}
	})
	return envs, rules
}

// transcriptOf writes lines as a file.
func transcriptOf(t testing.TB, name string, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const claudeSession = "5e550000-0000-4000-8000-000000000001"

// said is a user record of Claude Code.
func said(n int, text string) string {
	return fmt.Sprintf(`{"type":"user","uuid":"00000000-0000-4000-8000-%012d","sessionId":%q,"cwd":"/srv/demo","version":"2.1.200","timestamp":"2026-02-03T10:00:00.000Z","message":{"role":"user","content":%q}}`, n, claudeSession, text)
}

func TestTranscriberStopsAndGoesOnAnywhere(t *testing.T) {
	for _, pattern := range []string{"claude-code/g0[15]*", "claude-code/g17*", "codex/g1[012]*"} {
		files, _ := filepath.Glob("../testdata/transcripts/" + pattern)
		if len(files) == 0 {
			t.Fatal("no files for " + pattern)
		}
		for _, path := range files {
			want, _ := envelopesOf(t, path, noSettings)
			f, err := transcript.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			scribe := transcriber(t, f, noSettings)
			var got []envelope.Envelope
			for v, err := range f.Values() {
				if err != nil {
					t.Fatal(err)
				}
				cfg := scribe.cfg
				cfg.State = scribe.State()
				scribe = NewTranscriber(cfg)
				if e := scribe.Value(v).Envelope; e.ID != "" {
					e.Body = bytes.Clone(e.Body)
					got = append(got, e)
				}
			}
			f.Close()
			if len(got) != len(want) {
				t.Fatalf("%s: %d envelopes, want %d", path, len(got), len(want))
			}
			ids := map[string]bool{}
			for i := range got {
				got[i].Origin, want[i].Origin = "", "" // written again after a stop
				if !reflect.DeepEqual(got[i], want[i]) {
					t.Fatalf("%s: envelope %d is %s, want %s", path, i, got[i].ID, want[i].ID)
				}
				ids[got[i].ID+got[i].Digest] = true
			}
			if len(got)-len(ids) > 1 { // g04b and its like repeat a glued record
				t.Errorf("%s: %d envelopes have %d names", path, len(got), len(ids))
			}
		}
	}
}

func TestEnvelopesAreWhatTheyPromise(t *testing.T) {
	files, _ := filepath.Glob("../testdata/transcripts/*/*.jsonl")
	for _, path := range files {
		if !strings.Contains(path, "claude-code") && !strings.Contains(path, "codex") {
			continue
		}
		envs, _ := envelopesOf(t, path, noSettings)
		for _, e := range envs {
			if e.ID == "" || e.Type == "" || e.Source == "" || e.Subject == "" || e.Event == "" || len(e.Digest) != 16 {
				t.Fatalf("%s: %+v", path, e)
			}
			if e.ContentType == "" && !json.Valid(e.Body) {
				t.Fatalf("%s: %s is no JSON", path, e.ID)
			}
		}
	}
}

func TestUnreadableBytesAreKept(t *testing.T) {
	secret := "ghp_" + strings.Repeat("a1B2", 9)
	path := transcriptOf(t, claudeSession+".jsonl", said(1, "one"), `{"type":"user","text":"half <private>mine</private> `+secret, said(2, "two"))
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	envs, _ := envelopesOf(t, path, noSettings)
	if len(envs) != 3 {
		t.Fatalf("%d envelopes, want 3", len(envs))
	}
	e := envs[1]
	at := int64(bytes.IndexByte(data, '\n') + 1)
	if e.ContentType != "application/octet-stream" || e.Event != "unreadable" || e.File != claudeSession+".jsonl" || e.Offset != at {
		t.Errorf("got %+v", e)
	}
	if s := string(e.Body); strings.Contains(s, "mine") || strings.Contains(s, secret) || !strings.Contains(s, "half") {
		t.Errorf("body %q", s)
	}
	facts := Decode(e)
	if want := (event.Unreadable{File: e.File, Offset: at, Bytes: int64(len(e.Body))}); len(facts) != 1 || facts[0].Body != want {
		t.Errorf("facts %+v, want %+v", facts, want)
	}
}

func TestUnknownTypesAreKeptShort(t *testing.T) {
	for name, record := range map[string]string{
		"long string": `{"type":"brand-new","sessionId":"` + claudeSession + `","text":"` + strings.Repeat("words ", 40_000) + `"}`,
		"long list":   `{"type":"brand-new","sessionId":"` + claudeSession + `","n":[1` + strings.Repeat(",1", 60_000) + `]}`,
	} {
		path := transcriptOf(t, claudeSession+".jsonl", said(1, "one"), record)
		envs, _ := envelopesOf(t, path, noSettings)
		e := envs[len(envs)-1]
		if len(envs) != 2 || len(e.Body) > cut.MaxUnknown+200 || !strings.Contains(e.Redactions, `"cut"`) || !bytes.Contains(e.Body, []byte("bytes cut, hash ")) {
			t.Errorf("%s: %d bytes, redactions %s", name, len(e.Body), e.Redactions)
		}
		if e.ContentType == "" != json.Valid(e.Body) {
			t.Errorf("%s: content type %q", name, e.ContentType)
		}
	}
}

func TestFiltersHoldForTranscripts(t *testing.T) {
	use := func(n int, id, tool, input string) string {
		return fmt.Sprintf(`{"type":"assistant","uuid":"00000000-0000-4000-8000-%012d","sessionId":%q,"cwd":"/srv/demo","version":"2.1.200","timestamp":"2026-02-03T10:00:00.000Z","message":{"content":[{"type":"tool_use","id":%q,"name":%q,"input":%s}]}}`, n, claudeSession, id, tool, input)
	}
	result := func(n int, id string) string {
		return fmt.Sprintf(`{"type":"user","uuid":"00000000-0000-4000-8000-%012d","sessionId":%q,"cwd":"/srv/demo","version":"2.1.200","timestamp":"2026-02-03T10:00:00.000Z","message":{"content":[{"type":"tool_result","tool_use_id":%q,"content":"secret words"}]}}`, n, claudeSession, id)
	}
	path := transcriptOf(t, claudeSession+".jsonl",
		use(1, "toolu_own", "mcp__cmem__search", `{"query":"x"}`), result(2, "toolu_own"),
		use(3, "toolu_line", "Bash", `{"command":"cmem search x"}`), result(4, "toolu_line"),
		use(5, "toolu_there", "Read", `{"file_path":"/srv/closed/a.txt"}`), result(6, "toolu_there"),
		use(7, "toolu_todo", "TodoWrite", `{"todos":[]}`), result(8, "toolu_todo"),
		use(9, "toolu_kept", "Read", `{"file_path":"/srv/demo/a.txt"}`), result(10, "toolu_kept"),
	)
	settings := home.Settings{ExcludedProjects: []string{"/srv/closed"}} // and tool hooks off: they are not asked for here
	envs, rules := envelopesOf(t, path, settings)
	want := map[string]int{"own-tool": 4, "excluded": 2}
	if !reflect.DeepEqual(rules, want) {
		t.Errorf("rules %v, want %v", rules, want)
	}
	for _, e := range envs {
		skipped := e.Type == envelope.EventSkipped
		if skipped != strings.HasPrefix(e.ID, "skip/") || skipped && (bytes.Contains(e.Body, []byte("secret")) || bytes.Contains(e.Body, []byte("closed"))) {
			t.Errorf("%s: %s", e.ID, e.Body)
		}
	}
	if len(envs) != 10 {
		t.Errorf("%d envelopes, want 10", len(envs))
	}
	settings.SkipTools = []string{"TodoWrite"}
	if _, rules := envelopesOf(t, path, settings); rules["skipped-tool"] != 2 {
		t.Errorf("chosen tools: %v", rules)
	}
	settings.ExcludedProjects = []string{"/srv/demo"}
	if _, rules := envelopesOf(t, path, settings); rules["excluded"] != 10 {
		t.Errorf("excluded project: %v", rules)
	}
}

func TestEqualValuesWithoutIdsAreAllKept(t *testing.T) {
	line := `{"type":"brand-new","sessionId":"` + claudeSession + `"}`
	path := transcriptOf(t, claudeSession+".jsonl", said(1, "one"), line, line, line)
	a, _ := envelopesOf(t, path, noSettings)
	b, _ := envelopesOf(t, path, noSettings)
	ids := map[string]bool{}
	for i, e := range a {
		ids[e.ID] = true
		if e.ID != b[i].ID {
			t.Errorf("second reading names %s %s", e.ID, b[i].ID)
		}
	}
	if len(ids) != 4 {
		t.Errorf("%d names for 4 values", len(ids))
	}
}

func testLargeTranscriptLine(t *testing.T) {
	line := strings.TrimSuffix(said(2, "big"), "}") + `,"toolUseResult":{"context":"` + strings.Repeat("x", 20_000_000) + `"}}`
	path := transcriptOf(t, claudeSession+".jsonl", said(1, "one"), line, said(3, "three"))
	line = ""
	envs, _ := envelopesOf(t, path, noSettings)
	if len(envs) != 3 {
		t.Fatalf("%d envelopes, want 3", len(envs))
	}
	big := envs[1]
	if len(big.Body) > cut.MaxText+1000 || !bytes.Contains(big.Body, []byte("of 20000000 bytes cut, hash ")) || !json.Valid(big.Body) {
		t.Errorf("the large one has %d bytes", len(big.Body))
	}
	if !strings.Contains(big.Redactions, `"cut"`) {
		t.Errorf("redactions %s", big.Redactions)
	}
}

// testSubagentFile: the sub-agent's file repeats its parent's session; it is
// told as the agent's, with no prompts of its own.
func testSubagentFile(t *testing.T) {
	parent, _ := envelopesOf(t, filepath.Join(faults, "tr-15.parent.jsonl"), noSettings)
	agent, _ := envelopesOf(t, filepath.Join(faults, "tr-15.agent-abc123.jsonl"), noSettings)
	prompts := map[string]int{}
	for _, e := range append(parent, agent...) {
		for _, f := range Decode(e) {
			if _, ok := f.Body.(event.PromptSubmitted); ok {
				prompts[f.Agent]++
			}
		}
	}
	if len(prompts) != 1 || prompts[""] == 0 {
		t.Errorf("prompts by agent: %v", prompts)
	}
	for _, e := range agent {
		if e.Subject != parent[0].Subject {
			t.Errorf("agent's record belongs to %q, want %q", e.Subject, parent[0].Subject)
		}
		for _, f := range Decode(e) {
			if f.Agent != "abc123" {
				t.Errorf("agent %q, want abc123", f.Agent)
			}
		}
	}
	if len(agent) == 0 {
		t.Error("nothing of the agent")
	}
}
