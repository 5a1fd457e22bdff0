package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"cmem/cmd/internal/api"
	"cmem/cmd/internal/client"
	"cmem/ingest/home"
	"cmem/replay"
)

func TestFaults(t *testing.T) {
	t.Run("lost-01", workerKilledBetweenPublishes)
	t.Run("dup-08", savedTwice)
	t.Run("proj-06", everyParameterCounts)
	t.Run("proj-05", aSessionIsMovedForGood)
	t.Run("time-01", eveningWorkIsFoundUnderItsDay)
	t.Run("cobra-01", mistakesAreOneLine)
	t.Run("fs-09", oneWatcherInTheWorkerAlone)
	t.Run("priv-01", privateTextIsInNoFile)
	t.Run("search-08", brokenSyntaxIsWords)
	t.Run("tr-20", transcriptsMayGo)
	t.Run("port-01", mutePortIsPassedBy)
	t.Run("port-04", secondWorkerSaysSo)
	t.Run("multi-01", otherUsersAreRefused)
	t.Run("multi-04", noProxyIsAsked)
	t.Run("bbolt-01", commandsNeverWaitOnALock)
	t.Run("port-03", oneAnswerToWhoServes)
	t.Run("bleve-03", fewOpenFilesAreEnough)
	t.Run("bleve-07", littleMemoryIsEnough)
	t.Run("grow-02", nothingIsKeptForWhatIsOff)
}

func workerKilledBetweenPublishes(t *testing.T) {
	p := newPlace(t)
	p.run("start")
	for n := range 3 {
		p.hook("PostToolUse", payload("lost-1", n))
	}
	p.kill()
	for n := range 5 {
		p.hook("PostToolUse", payload("lost-1", 3+n))
	}
	p.run("start")
	p.until("8 events are in the log", func() bool { return p.stats().Log.Head >= 8 })
	seen := map[string]int{}
	for _, e := range p.events() {
		seen[e.ID]++
	}
	for n := range 8 {
		id := fmt.Sprintf("claude-code/PostToolUse/toolu_lost1%06d", n)
		if seen[id] != 1 {
			t.Errorf("%s is %d times in the log", id, seen[id])
		}
	}
}

func savedTwice(t *testing.T) {
	p := newPlace(t)
	save := func(text, project string) (a api.SaveAnswer) {
		t.Helper()
		p.read(&a, "save", "--project", project, text)
		return a
	}
	first := save("bbolt waits without a timeout", "alpha")
	second := save("  bbolt waits without a timeout\n", "alpha")
	if second.ID != first.ID || !second.Existing || first.Existing {
		t.Errorf("the same note again: got %+v after %+v", second, first)
	}
	if other := save("bbolt waits without a timeout", "beta"); other.ID == first.ID || other.Existing {
		t.Errorf("another project's note is %+v, the first %+v", other, first)
	}
	p.run("start")
	if third := save("bbolt waits without a timeout", "alpha"); third.ID != first.ID {
		t.Errorf("through the worker: got %+v", third)
	}
	if n := p.stats().Database.Observations; n != 2 {
		t.Errorf("there are %d observations, want 2", n)
	}
}

// everyParameterCounts: each documented parameter of each interface changes the
// result; and a project that is nobody's is an error, not everybody's memories.
func everyParameterCounts(t *testing.T) {
	p := newPlace(t)
	p.hookAt(time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC), "UserPromptSubmit", prompt("params-1", "walrus in the morning"))
	p.hookAt(time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC), "UserPromptSubmit", prompt("params-2", "walrus at noon, walrus at night"))
	p.session("a-print")
	for _, project := range []string{"alpha", "beta"} {
		p.run("save", "--project", project, "--title", "walrus "+project, "a walrus note of "+project)
	}
	p.run("start")
	p.until("everything is found", func() bool {
		for _, m := range p.stats().Models {
			if m.Behind > 0 {
				return false
			}
		}
		return true
	})
	c, err := client.Dial(t.Context(), home.Dir(p.dir))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	get := func(route string, q url.Values) string {
		t.Helper()
		var raw json.RawMessage
		if err := c.Get(t.Context(), route, q, &raw); err != nil {
			return "error: " + err.Error()
		}
		return string(raw)
	}
	base := url.Values{"query": {"walrus"}, "format": {"json"}}
	for _, change := range []string{
		"query=docstring", "type=prompts", "obs_type=decision", "type=bugfix", "concepts=what-changed", "concept=what-changed", "files=stock.py", "filePath=stock.py",
		"project=alpha", "project=beta", "platformSource=codex", "platform_source=codex", "session=params-1", "limit=1", "offset=1",
		"dateStart=2026-03-02", "dateEnd=2026-03-01", "date_start=2026-03-02", "date_end=2026-03-01", "date=2026-03-01", "orderBy=date_asc", "format=text",
	} {
		q := cloned(base, change)
		if get("/api/search", q) == get("/api/search", base) {
			t.Errorf("/api/search: %s changes nothing", change)
		}
	}
	files := url.Values{"files": {"inventory"}, "format": {"json"}}
	if get("/api/search", files) == get("/api/search", cloned(files, "isFolder=true")) {
		t.Error("/api/search: isFolder changes nothing")
	}
	var found api.SearchAnswer
	if err := c.Get(t.Context(), "/api/search", cloned(base, "type=observations"), &found); err != nil || len(found.Observations) < 2 {
		t.Fatalf("the notes are not found: %+v, %v", found, err)
	}
	anchor := url.Values{"anchor": {fmt.Sprint(found.Observations[0].ID)}, "format": {"json"}}
	for _, change := range []string{"depth_before=0", "depth_before=1", "project=beta", "format=text", "session=params-1", "platformSource=codex", fmt.Sprintf("anchor=%d", found.Observations[1].ID)} {
		if get("/api/timeline", cloned(anchor, change)) == get("/api/timeline", anchor) {
			t.Errorf("/api/timeline: %s changes nothing", change)
		}
	}
	for _, route := range []string{"/api/observations", "/api/summaries", "/api/prompts"} {
		for _, change := range []string{"limit=1", "offset=1", "project=alpha", "platformSource=codex"} {
			if get(route, cloned(nil, change)) == get(route, nil) {
				t.Errorf("%s: %s changes nothing", route, change)
			}
		}
	}
	for _, route := range []string{"/api/search", "/api/timeline", "/api/observations", "/api/prompts"} {
		if got := get(route, cloned(cloned(base, "project=nobody's"), "")); !strings.Contains(got, "no project is called") {
			t.Errorf("%s: a project that is not there gives %s", route, got)
		}
	}
	for _, args := range [][]string{{"search", "walrus", "--project", "alpha"}, {"search", "--project", "alpha"}, {"timeline", "--query", "walrus", "--project", "alpha"}} {
		if out := p.run(args...); !strings.Contains(out, "walrus alpha") || strings.Contains(out, "walrus beta") {
			t.Errorf("cmem %v: %s", args, out)
		}
	}
}

// aSessionIsMovedForGood: a move is an event, so the rebuilt models say the same
// as those that saw it happen.
func aSessionIsMovedForGood(t *testing.T) {
	p := newPlace(t)
	p.session("a-print")
	p.run("save", "--project", "warehouse", "a note that makes the project")
	p.run("start")
	session := "11111111-2222-4333-8444-555555555501"
	p.until("the session is there", func() bool { return p.stats().Database.Prompts == 3 })
	p.run("project", "move", "--session", session, "warehouse")
	where := func() string {
		var all struct {
			Items []struct{ Project, Title string }
		}
		c, err := client.Dial(t.Context(), home.Dir(p.dir))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := c.Get(t.Context(), "/api/observations", url.Values{"project": {"warehouse"}, "limit": {"100"}}, &all); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(all)
	}
	moved := where()
	if strings.Count(moved, "warehouse") < 4 || !strings.Contains(moved, "stock.py") {
		t.Errorf("after the move: %s", moved)
	}
	p.until("search and context follow", func() bool {
		return strings.Contains(p.run("search", "docstring", "--project", "warehouse"), "Found") &&
			strings.Contains(p.run("context", "--project", "warehouse"), "stock.py")
	})
	if out := p.run("search", "docstring", "--project", "acme-inventory"); !strings.HasPrefix(out, "No results") {
		t.Errorf("the old project still has it: %s", out)
	}
	p.run("rebuild", "--verify")
	if again := where(); again != moved {
		t.Errorf("rebuilt: %s\nmoved: %s", again, moved)
	}
	if out := p.run("project", "move", "--session", session, "warehouse"); !strings.Contains(out, "already") {
		t.Errorf("moved again: %s", out)
	}
}

func cloned(q url.Values, change string) url.Values {
	out := url.Values{}
	for k, v := range q {
		out[k] = v
	}
	if k, v, ok := strings.Cut(change, "="); ok {
		out.Set(k, v)
	}
	return out
}

func eveningWorkIsFoundUnderItsDay(t *testing.T) {
	p := newPlace(t)
	f, err := os.Open(filepath.Join(testdata, "faults/inputs/time-01.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var at struct {
			Timestamp time.Time `json:"timestamp"`
		}
		if err := json.Unmarshal(lines.Bytes(), &at); err != nil {
			t.Fatal(err)
		}
		p.hookAt(at.Timestamp, "UserPromptSubmit", lines.Bytes())
	}
	// 2026-01-25T04:08Z is the evening of the 24th in Los Angeles only.
	for _, c := range []struct{ zone, date, evening, morning string }{
		{"America/Los_Angeles", "2026-01-24", "yes", "no"},
		{"America/Los_Angeles", "2026-01-25", "no", "yes"},
		{"UTC", "2026-01-25", "yes", "yes"},
		{"UTC", "2026-01-24", "no", "no"},
		{"Europe/Berlin", "2026-01-25", "yes", "yes"},
		{"Asia/Tokyo", "2026-01-25", "yes", "no"},
		{"Asia/Tokyo", "2026-01-26", "no", "yes"},
	} {
		p.env[len(p.env)-1] = "TZ=" + c.zone
		for _, args := range [][]string{{"search", "work", "--date", c.date}, {"search", "--date", c.date}, {"search", "work", "--from", c.date, "--to", c.date}} {
			out := p.run(args...)
			for text, want := range map[string]string{"evening work": c.evening, "morning work": c.morning} {
				if strings.Contains(out, text) != (want == "yes") {
					t.Errorf("TZ=%s cmem %v: %q found, want %s:\n%s", c.zone, args, text, want, out)
				}
			}
		}
	}
	if r := p.try("search", "work", "--date", "someday"); r.code != exitUsage || !strings.Contains(r.err, "is not a date") {
		t.Errorf("a garbage date: %+v", r)
	}
}

func mistakesAreOneLine(t *testing.T) {
	p := newPlace(t)
	for _, args := range [][]string{
		{"hook"}, {"hook", "--no-such-flag"}, {"hook", "nobody", "Stop"}, {"hook", "claude-code", "Stop", "--x", "y"},
		{"--data", "/proc/no/such/place", "hook", "claude-code", "Stop"}, {"hook", "--data"},
	} {
		for _, name := range []string{"cmem", "cmem-hook"} {
			own := args
			if name == "cmem-hook" {
				own = slices.DeleteFunc(slices.Clone(args), func(a string) bool { return a == "hook" })
			}
			r := p.with([]byte(`{"session_id":"s","hook_event_name":"Stop"}`), name, own...)
			if r.code != 0 || r.out != "" {
				t.Errorf("%s %v: exit code %d, stdout %q", name, own, r.code, r.out)
			}
		}
	}
	for want, list := range map[int][][]string{
		exitUsage: {
			{}, {"nonsense"}, {"--nonsense"}, {"search"}, {"search", "x", "--limit", "many"}, {"search", "x", "--limit", "-1"}, {"search", "x", "--from", "never"},
			{"show"}, {"show", "1", "2"}, {"log"}, {"log", "nonsense"}, {"replay"}, {"replay", "--observe", "all", "--transcript", "/dev/null"},
			{"rebuild", "--only", "everything"}, {"timeline"}, {"timeline", "1", "--query", "x"}, {"save"}, {"save", ""}, {"project", "move"}, {"project", "move", "onlyone"},
		},
		exitNotFound: {{"show", "12"}, {"show", "S12"}, {"show", "P7"}, {"show", "no-such-session"}, {"search", "x", "--project", "nobodys"}, {"replay", "--transcript", "/no/such/file"}, {"log", "verify", "/no/such/file"}},
	} {
		for _, args := range list {
			r := p.try(args...)
			if r.code != want || r.out != "" || strings.Count(r.err, "\n") != 1 || strings.Contains(r.err, "Usage") {
				t.Errorf("cmem %q: exit code %d, want %d; stdout %q, stderr %q", args, r.code, want, r.out, r.err)
			}
		}
	}
}

// oneWatcherInTheWorkerAlone counts inotify descriptors: the worker has one,
// commands and hooks beside it none.
func oneWatcherInTheWorkerAlone(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("inotify is Linux's")
	}
	p := newPlace(t)
	p.run("start")
	pid := p.stats().Worker.PID
	p.until("the worker watches", func() bool { return inotifies(t, pid) == 1 })
	tail := p.command("cmem", "log", "tail", "--follow")
	out, err := tail.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := tail.Start(); err != nil {
		t.Fatal(err)
	}
	for n := range 20 {
		p.hook("PostToolUse", payload("watch-1", n))
	}
	if !bufio.NewScanner(out).Scan() {
		t.Fatal("log tail --follow told nothing")
	}
	if n := inotifies(t, tail.Process.Pid); n != 0 {
		t.Errorf("a command holds %d watchers", n)
	}
	if err := errors.Join(tail.Process.Signal(syscall.SIGTERM), ignoreExit(tail.Wait())); err != nil {
		t.Error(err)
	}
	if n := inotifies(t, pid); n != 1 {
		t.Errorf("the worker holds %d watchers, want 1", n)
	}
}

func ignoreExit(error) error { return nil }

func inotifies(t *testing.T, pid int) (n int) {
	t.Helper()
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, fd.Name())); err == nil && strings.Contains(to, "inotify") {
			n++
		}
	}
	return n
}

func privateTextIsInNoFile(t *testing.T) {
	p := newPlace(t)
	in, err := os.ReadFile(filepath.Join(testdata, "faults/inputs/priv-01.json"))
	if err != nil {
		t.Fatal(err)
	}
	p.hook("UserPromptSubmit", in) // before any worker: it waits in the spool
	absent(t, p.dir, "CANARY")
	p.run("start")
	p.hook("UserPromptSubmit", prompt("priv-1", "open <PRIVATE a=1>CANARY-2 and <private>CANARY-3</private> more"))
	p.run("save", "--project", "alpha", "--title", "t <private>CANARY-4</private>", "keep this <private>CANARY-5</private> note")
	file := filepath.Join(p.cwd, "priv.jsonl")
	line := `{"type":"user","uuid":"5e550000-0000-4000-8000-00000000aaaa","sessionId":"5e550000-0000-4000-8000-0000000000ab","cwd":"/srv/demo","version":"2.1.41","timestamp":"2026-01-24T10:00:00.000Z","isSidechain":false,"message":{"role":"user","content":"tell <private>CANARY-6</private> me about otters"}}` + "\n"
	if err := os.WriteFile(file, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	p.run("replay", "--transcript", file)
	p.until("it is all found", func() bool {
		return strings.Contains(p.run("search", "otters"), "otters") && strings.Contains(p.run("search", "keep", "note"), "Found")
	})
	p.run("rebuild", "--verify")
	p.run("log", "verify")
	// Blocks and segments may be packed: what they say when asked is looked at too.
	if out := p.run("log", "export"); strings.Contains(strings.ToUpper(out), "CANARY") || strings.Count(out, "\n") < 4 {
		t.Errorf("the log says %s", out)
	}
	for _, word := range []string{"canary", "CANARY-1", "CANARY-5"} {
		if out := p.run("search", word); strings.Contains(out, "Found") {
			t.Errorf("search for %s: %s", word, out)
		}
	}
	p.run("stop")
	absent(t, p.dir, "CANARY")
	if r := p.try("save", "<private>CANARY-7</private>"); r.code != exitUsage {
		t.Errorf("a wholly private note: %+v", r)
	}
	absent(t, p.dir, "CANARY")
}

// absent looks for a word in every file, as it stands.
func absent(t *testing.T, dir, word string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		files++
		b, err := os.ReadFile(path)
		if bytes.Contains(bytes.ToUpper(b), []byte(word)) {
			t.Errorf("%s holds %s", path, word)
		}
		return err
	})
	if err != nil || files < 3 {
		t.Fatalf("looked into %d files: %v", files, err)
	}
}

func brokenSyntaxIsWords(t *testing.T) {
	p := newPlace(t)
	p.hook("UserPromptSubmit", prompt("syntax-1", "the unclosed title AND foo"))
	p.run("start")
	c, err := client.Dial(t.Context(), home.Dir(p.dir))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	f, err := os.Open(filepath.Join(testdata, "faults/inputs/search-08.queries.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	asked := 0
	for lines := bufio.NewScanner(f); lines.Scan(); asked++ {
		var q struct{ Q string }
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			t.Fatal(err)
		}
		var a api.SearchAnswer
		if err := c.Get(t.Context(), "/api/search", url.Values{"query": {q.Q}, "format": {"json"}}, &a); err != nil {
			t.Errorf("%q: %v", q.Q, err)
		}
		if a.InterpretedAs == "" {
			t.Errorf("%q: the answer does not say how it was read", q.Q)
		}
	}
	if asked < 10 {
		t.Fatalf("only %d queries", asked)
	}
	p.until(`"unclosed is found`, func() bool { return strings.Contains(p.run("search", `"unclosed`), "Found 1") })
}

func transcriptsMayGo(t *testing.T) {
	p := newPlace(t)
	file := filepath.Join(p.cwd, "g05-claude-code.jsonl")
	b, err := os.ReadFile(filepath.Join(testdata, "transcripts/claude-code/g05-claude-code.jsonl"))
	if err == nil {
		err = os.WriteFile(file, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	var r replay.Result
	p.read(&r, "replay", "--transcript", file)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	before := p.stats().Database
	if out := p.run("rebuild", "--verify"); strings.Count(out, "equal") != 3 {
		t.Errorf("rebuild --verify: %s", out)
	}
	if err := os.RemoveAll(filepath.Join(p.dir, "read")); err != nil {
		t.Fatal(err)
	}
	after := p.stats().Database
	before.Size, after.Size = 0, 0
	if fmt.Sprint(deref(before)) != fmt.Sprint(deref(after)) || after.Prompts != r.Facts.Prompts || after.ToolUses == 0 {
		t.Errorf("from the log alone: %+v, before %+v", deref(after), deref(before))
	}
}

func deref(d api.DatabaseStats) any {
	first := ""
	if d.FirstObservationAt != nil {
		first = *d.FirstObservationAt
	}
	d.FirstObservationAt = nil
	return []any{d, first}
}

func secondWorkerSaysSo(t *testing.T) {
	p := newPlace(t)
	p.run("start")
	began := time.Now()
	r := p.try("serve")
	if r.code != exitLocked || strings.Count(r.err, "\n") != 1 || !strings.Contains(r.err, fmt.Sprint(p.stats().Worker.PID)) {
		t.Errorf("a second worker: %+v", r)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it waited %s", took)
	}
	if out := p.run("start"); !strings.Contains(out, "running already") {
		t.Errorf("a second start: %s", out)
	}
	if out := p.run("rebuild"); !strings.Contains(out, "records") {
		t.Errorf("rebuild beside a worker: %s", out)
	}
}

func otherUsersAreRefused(t *testing.T) {
	p := newPlace(t)
	p.run("start")
	port := p.stats().Worker.Port
	token, err := os.ReadFile(filepath.Join(p.dir, "run/token"))
	if err != nil {
		t.Fatal(err)
	}
	ask := func(change func(*http.Request)) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/api/stats", port), nil)
		if err != nil {
			t.Fatal(err)
		}
		change(r)
		res, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var e api.Error
		if err := json.NewDecoder(res.Body).Decode(&e); err != nil {
			t.Errorf("status %d is no JSON: %v", res.StatusCode, err)
		}
		if res.StatusCode >= 400 && (e.Message == "" || e.Code == "") {
			t.Errorf("status %d without a sentence", res.StatusCode)
		}
		return res.StatusCode
	}
	bearer := "Bearer " + strings.TrimSpace(string(token))
	for name, c := range map[string]struct {
		want   int
		change func(*http.Request)
	}{
		"no token":      {401, func(*http.Request) {}},
		"another token": {401, func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+strings.Repeat("0", 64)) }},
		"our token":     {200, func(r *http.Request) { r.Header.Set("Authorization", bearer) }},
		"a foreign origin": {403, func(r *http.Request) {
			r.Header.Set("Authorization", bearer)
			r.Header.Set("Origin", "https://evil.example")
		}},
		"a foreign name": {403, func(r *http.Request) { r.Header.Set("Authorization", bearer); r.Host = "evil.example" }},
		"a rebound name": {403, func(r *http.Request) { r.Header.Set("Authorization", bearer); r.Host = "localhost.evil.example:80" }},
		"another site": {403, func(r *http.Request) {
			r.Header.Set("Authorization", bearer)
			r.Header.Set("Sec-Fetch-Site", "cross-site")
		}},
	} {
		if got := ask(c.change); got != c.want {
			t.Errorf("%s: status %d, want %d", name, got, c.want)
		}
	}
	// Two folders on one machine: neither takes the other's worker for its own.
	q := newPlace(t)
	q.run("start")
	if p.stats().Worker.Instance == q.stats().Worker.Instance {
		t.Error("two folders are served by one worker")
	}
	state, err := os.ReadFile(filepath.Join(p.dir, "run/state.json"))
	if err == nil {
		q.kill()
		err = os.WriteFile(filepath.Join(q.dir, "run/state.json"), state, 0o600)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(q.dir, "run/token"), token, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Dial(context.Background(), home.Dir(q.dir)); !errors.Is(err, client.ErrNoWorker) {
		t.Errorf("another folder's worker was trusted: %v", err)
	}
}

func mutePortIsPassedBy(t *testing.T) {
	p := newPlace(t)
	mute := listen(t)
	p.env = append(p.env, fmt.Sprintf("CMEM_PORT=%d", mute))
	p.hook("UserPromptSubmit", prompt("port-1", "before the worker"))
	p.run("start")
	if s := p.stats(); s.Worker.Port == mute || s.Worker.Port == 0 || s.Log.Head < 1 {
		t.Errorf("worker on %+v, head %d", s.Worker, s.Log.Head)
	}
	var state struct{ Port int }
	b, err := os.ReadFile(filepath.Join(p.dir, "run/state.json"))
	if err != nil || json.Unmarshal(b, &state) != nil || state.Port != p.stats().Worker.Port {
		t.Errorf("state.json says %s, %v", b, err)
	}
}

func noProxyIsAsked(t *testing.T) {
	p := newPlace(t)
	mute := listen(t)
	proxy := fmt.Sprintf("http://127.0.0.1:%d", mute)
	p.env = append(p.env, "HTTP_PROXY="+proxy, "http_proxy="+proxy, "HTTPS_PROXY="+proxy, "ALL_PROXY="+proxy, "NO_PROXY=")
	p.run("start")
	if !p.stats().Worker.Running {
		t.Error("the worker was not reached")
	}
	// Also where there is no socket and TCP is the only way.
	if err := os.Remove(filepath.Join(p.dir, "run/cmem.sock")); err != nil {
		t.Fatal(err)
	}
	if !p.stats().Worker.Running {
		t.Error("the worker was not reached over TCP")
	}
}

func commandsNeverWaitOnALock(t *testing.T) {
	p := newPlace(t)
	p.run("save", "--project", "alpha", "something")
	lock := holdLock(t, filepath.Join(p.dir, "log/lock"))
	defer lock()
	for _, args := range [][]string{{"status"}, {"search", "something"}, {"timeline", "1"}, {"show", "1"}, {"context"}, {"log", "tail"}, {"rebuild"}, {"save", "x"}, {"replay", "--transcript", "/dev/null"}} {
		r := p.try(args...)
		if r.code != exitLocked || !strings.Contains(r.err, fmt.Sprint(os.Getpid())) || strings.Count(r.err, "\n") != 1 {
			t.Errorf("cmem %v while the log is held: %+v", args, r)
		}
	}
}
