package hook

import (
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"cmem/ingest/host"
	"cmem/ingest/project"
)

var update = flag.Bool("update", false, "write the golden files")

// writeContext caches a context for the bench's project.
func (b *bench) writeContext(text string, at time.Time) {
	b.t.Helper()
	for _, name := range host.Names() {
		path := b.dir.ContextFile(project.Find(b.project).Key(), name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			b.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			b.t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			b.t.Fatal(err)
		}
	}
}

// contextOf gives the context a Claude Code answer carries.
func contextOf(t *testing.T, out string) string {
	t.Helper()
	var answer struct {
		Out struct{ HookEventName, AdditionalContext string } `json:"hookSpecificOutput"`
	}
	if out == "" {
		return ""
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil || answer.Out.HookEventName != "SessionStart" {
		t.Fatalf("answer %q: %v", out, err)
	}
	return answer.Out.AdditionalContext
}

func (b *bench) start() string {
	b.t.Helper()
	return b.say("SessionStart", `{"session_id":"s","cwd":"`+b.project+`","hook_event_name":"SessionStart","source":"startup"}`)
}

func TestContext(t *testing.T) {
	tagged := func(s string) string { return "<cmem-context>\n" + s + "\n</cmem-context>" }
	for _, c := range []struct {
		name, cached, worker string
		age                  time.Duration
		want                 string
	}{
		{"fresh", "# memory", "not asked", time.Hour, tagged("# memory")},
		{"stale, a worker", "# old", "# new", 25 * time.Hour, tagged("# new")},
		{"stale, no worker", "# old", "", 73 * time.Hour, tagged("(as it was 3 days ago; newer memories could not be asked for)\n# old")},
		{"from the future", "# old", "# new", -48 * time.Hour, tagged("# new")},
		{"none, a worker", "", "# new", 0, tagged("# new")},
		{"none, no worker", "", "", 0, ""},
		{"wrapped already", tagged("# memory"), "", time.Hour, tagged("# memory")},
		{"tags inside", "a <private>b</private> </CMEM-context> <b> 1<2", "", time.Hour, tagged("a &lt;private>b&lt;/private> &lt;/CMEM-context> <b> 1<2")},
		{"terminal sequences", "a\x1b[31mred\x1b[0m\x1b]0;title\x07\x00\x08b\r\n\u009b", "", time.Hour, tagged("aredb")},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			if err := b.dir.Make(); err != nil {
				t.Fatal(err)
			}
			if c.cached != "" {
				b.writeContext(c.cached, epoch.Add(-c.age))
			}
			if c.worker != "" {
				b.serve(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, c.worker) })
			}
			if got := contextOf(t, b.start()); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestContextIsShort in bytes, whole in characters, and closed.
func TestContextIsShort(t *testing.T) {
	for _, unit := range []string{"x", "é", "漢", "😀", "line\n", strings.Repeat("y", 300) + "\n", "<private>"} {
		b := newBench(t)
		b.writeContext(strings.Repeat(unit, 20000/len(unit)), epoch)
		got := contextOf(t, b.start())
		if len(got) > contextLimit || len(got) < contextLimit/2 || !utf8.ValidString(got) || !strings.HasSuffix(got, "\n</cmem-context>") {
			t.Errorf("%q: %d bytes, ends %q", unit, len(got), got[max(0, len(got)-40):])
		}
	}
}

// serve answers on the worker's socket until the test ends.
func (b *bench) serve(h http.HandlerFunc) {
	b.t.Helper()
	if err := b.dir.Make(); err != nil {
		b.t.Fatal(err)
	}
	l, err := net.Listen("unix", b.dir.Socket())
	if err != nil {
		b.t.Fatal(err)
	}
	server := &http.Server{Handler: h}
	done := make(chan struct{})
	go func() { defer close(done); server.Serve(l) }()
	b.t.Cleanup(func() { server.Close(); <-done })
}

func TestAskingTheWorker(t *testing.T) {
	b := newBench(t)
	asked := make(chan string, 10)
	b.serve(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Method + " " + r.URL.Path + "?" + r.URL.Query().Encode()
		if r.URL.Path == "/api/context/inject" {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			fmt.Fprint(w, strings.Repeat("long enough to be sent in chunks\n", 200))
		}
	})
	if got := contextOf(t, b.start()); !strings.Contains(got, "long enough") {
		t.Errorf("got %q", got)
	}
	seen := map[string]bool{<-asked: true, <-asked: true}
	if !seen["POST /api/spool/nudge?"] {
		t.Errorf("no nudge: %v", seen)
	}
	want := "GET /api/context/inject?platformSource=claude-code&project="
	for s := range seen {
		if strings.HasPrefix(s, "GET") && !strings.HasPrefix(s, want) {
			t.Errorf("asked %q", s)
		}
	}
}

// TestBadWorkers: whatever sits at the socket, an old context is shown in time.
func TestBadWorkers(t *testing.T) {
	for name, answer := range map[string]func(http.ResponseWriter, *http.Request){
		"an error": func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", 500) },
		"a page": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<html>")
		},
		"an empty": func(w http.ResponseWriter, r *http.Request) {},
		"cut off": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "short")
		},
		"no response": func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) },
		"too late":    func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.writeContext("# old", epoch.Add(-50*time.Hour))
			b.serve(answer)
			got := contextOf(t, b.start())
			if name == "an empty" {
				if got != "" {
					t.Errorf("got %q", got) // the worker says that there is nothing
				}
			} else if !strings.Contains(got, "# old") {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestParseAnswer(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
	for in, want := range map[string]string{
		ok + "Content-Length: 2\r\n\r\nabc":                                         "ab",
		ok + "transfer-ENCODING: chunked\r\n\r\n2\r\nab\r\n1;x=y\r\nc\r\n0\r\n\r\n": "abc",
		ok + "\r\nabc":                                            "abc",
		ok + "Content-Length: 9\r\n\r\nabc":                       "-",
		ok + "Content-Length: -1\r\n\r\nabc":                      "-",
		ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nab":          "-",
		ok + "Transfer-Encoding: chunked\r\n\r\nffffffffffff\r\n": "-",
		"HTTP/1.1 404 Not Found\r\n\r\nabc":                       "-",
		"":                                                        "-", "\r\n\r\n": "-", "garbage 200\r\n\r\nx": "-",
	} {
		body, valid := parseAnswer([]byte(in))
		if got := string(body); valid && got != want || !valid && want != "-" {
			t.Errorf("%q: got %q, %v", in, got, valid)
		}
	}
}

// TestAnswers is what is printed, per host and event, when there is a context
// and a notice to give: golden, because hosts drop an answer for one odd field.
func TestAnswers(t *testing.T) {
	var got strings.Builder
	for _, name := range host.Names() {
		for _, event := range events(t) {
			b := newBench(t)
			b.writeContext("# memory", epoch)
			b.env = append(b.env, "CMEM_FAIL_LOUD=1")
			out := b.run(name, event, strings.NewReader(`{"session_id":"s","cwd":"`+b.project+`"}`))
			out = strings.ReplaceAll(out, string(b.dir), "HOME")
			fmt.Fprintf(&got, "%s %q %s\n", name, event, strings.TrimSuffix(out, "\n"))
			if out != "" && !json.Valid([]byte(out)) {
				t.Errorf("%s %s: %q is no JSON", name, event, out)
			}
		}
	}
	const golden = "testdata/answers.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
}

// TestNotice: once a session, after three hooks in a row without a worker.
func TestNotice(t *testing.T) {
	b := newBench(t)
	prompt := func(session string) string {
		return b.say("UserPromptSubmit", `{"session_id":"`+session+`","hook_event_name":"UserPromptSubmit","prompt":"x"}`)
	}
	var got []bool
	for range 5 {
		got = append(got, prompt("s1") != "")
	}
	got = append(got, prompt("s2") != "", prompt("s2") != "")
	if want := "[false false true false false true false]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %v", got, want)
	}
	b.serve(func(http.ResponseWriter, *http.Request) {})
	prompt("s3")
	if data, err := os.ReadFile(filepath.Join(b.dir.Run(), "hooks-away")); err == nil {
		t.Errorf("a worker answered, and %q is counted", data)
	}
}
