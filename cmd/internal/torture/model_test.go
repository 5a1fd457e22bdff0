package torture

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cmem/cmd/internal/api"
	"cmem/cmd/internal/config"
	"cmem/cmd/internal/worker"
	"cmem/ingest/home"
	"cmem/ingest/hook"
	"cmem/projections/records"
	"cmem/streams"
	"cmem/streams/envelope"
)

// op is one operation of a history: what, and numbers that say which. A history is
// a text of one operation a line; the same text does the same.
type op struct {
	what string
	a, b int
}

func (o op) String() string { return fmt.Sprintf("%s %d %d", o.what, o.a, o.b) }

// ops are all operations: what they do with the folder and with the model.
var ops = map[string]func(w *world, a, b int) error{
	"call":     func(w *world, a, b int) error { return w.tool("PreToolUse", a, b) },
	"tool":     func(w *world, a, b int) error { return w.tool("PostToolUse", a, b) },
	"prompt":   func(w *world, a, b int) error { return w.said("UserPromptSubmit", a, b, 3*time.Second) },
	"twice":    func(w *world, a, b int) error { return w.saidTwice(a, b) },
	"stop":     func(w *world, a, b int) error { return w.said("Stop", a, b, 3*time.Second) },
	"file":     func(w *world, a, b int) error { return w.transcript(a, a, b) },
	"fork":     func(w *world, a, b int) error { return w.transcript(a, a+50, b) },
	"clock":    func(w *world, a, b int) error { w.now = w.now.Add(time.Duration(a*30-b*10) * time.Hour); return nil },
	"summer":   func(w *world, _, b int) error { w.now = time.Date(2026, 3, 29, 0, 59, b%60, 0, time.UTC); return nil },
	"future":   func(w *world, _, _ int) error { w.now = w.now.AddDate(80, 0, 0); return nil },
	"restart":  func(w *world, _, _ int) error { return errors.Join(w.close(), w.open()) },
	"kill":     func(w *world, _, _ int) error { return w.kill(nil) },
	"wipe":     func(w *world, a, _ int) error { return w.kill(w.wipe(a)) },
	"truncate": func(w *world, _, b int) error { return w.kill(w.truncate(b)) },
	"hole":     func(w *world, _, b int) error { return w.kill(w.hole(b)) },
	"torn":     func(w *world, _, b int) error { return w.kill(w.torn(b)) },
	"full":     func(w *world, _, _ int) error { return w.full() },
	"rebuild":  func(w *world, _, _ int) error { return verifyModels(context.Background(), w.node) },
}

// world is a data folder and what must be in it.
type world struct {
	root    string
	lives   int // folders so far: a kill goes on in a copy
	dir     home.Dir
	reserve int
	node    *worker.Node
	now     time.Time // of the host's clock
	ids     map[string]bool
	counts  map[string]int // by event, of those that have no id of the host's
	tools   map[string]bool
	shown   map[int]int // file → bytes that were read of it
}

func newWorld(root string) *world {
	return &world{
		root: root, dir: home.Dir(filepath.Join(root, "0")), reserve: -1, now: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC),
		ids: map[string]bool{}, counts: map[string]int{}, tools: map[string]bool{}, shown: map[int]int{},
	}
}

func (w *world) open() (err error) {
	cfg := config.Default()
	cfg.ReserveMB, cfg.Zone = w.reserve, "UTC"
	w.node, err = worker.Open(context.Background(), w.dir, cfg, slog.New(slog.DiscardHandler))
	return err
}

func (w *world) close() error {
	err := w.node.Close()
	w.node = nil
	return err
}

// kill goes on with the folder as it was while it was in use, changed by spoil.
func (w *world) kill(spoil func(home.Dir) error) error {
	w.lives++
	next := home.Dir(filepath.Join(w.root, fmt.Sprint(w.lives)))
	if err := copyTree(string(next), string(w.dir)); err != nil {
		return err
	}
	if err := w.close(); err != nil {
		return err
	}
	if err := os.RemoveAll(string(w.dir)); err != nil {
		return err
	}
	w.dir = next
	if spoil != nil {
		if err := spoil(w.dir); err != nil {
			return err
		}
	}
	return w.open()
}

func (w *world) wipe(which int) func(home.Dir) error {
	return func(d home.Dir) error {
		name := []string{"records.db", "search", "context", ""}[which%4]
		return os.RemoveAll(filepath.Join(d.Read(), name))
	}
}

func (w *world) truncate(share int) func(home.Dir) error {
	return readModelOf("records.db", func(b []byte) []byte { return b[:len(b)*(share%100)/100] })
}

func (w *world) hole(at int) func(home.Dir) error {
	return readModelOf("records.db", func(b []byte) []byte {
		from := min(len(b), (3+at%8)*4096)
		clear(b[from:min(len(b), from+4096)])
		return b
	})
}

func readModelOf(name string, change func([]byte) []byte) func(home.Dir) error {
	return func(d home.Dir) error {
		path := filepath.Join(d.Read(), name)
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(path, change(data), 0o600)
	}
}

// torn leaves the beginning of a record behind the last whole one.
func (w *world) torn(n int) func(home.Dir) error {
	return func(d home.Dir) error {
		blocks, err := filepath.Glob(filepath.Join(d.Log(), "jetstream", "$G", "streams", "cmem", "msgs", "*.blk"))
		if err != nil || len(blocks) == 0 {
			return err
		}
		data, err := os.ReadFile(blocks[len(blocks)-1])
		if err != nil {
			return err
		}
		return os.WriteFile(blocks[len(blocks)-1], append(data, data[:min(len(data), 1+n)]...), 0o600)
	}
}

// full restarts on a disk that has not the reserve: the log takes nothing in, and
// hooks go on. Then there is room again.
func (w *world) full() error {
	w.reserve = 1 << 30
	if err := errors.Join(w.close(), w.open()); err != nil {
		return err
	}
	w.reserve = -1
	if err := w.tool("PostToolUse", 7, len(w.ids)+1000); err != nil {
		return err
	}
	return errors.Join(w.close(), w.open())
}

func sessionName(n int) string { return fmt.Sprintf("8dbfb15e-e7bf-4702-b464-%012d", n) }

// send runs the publisher.
func (w *world) send(event, payload string) error {
	now := w.now
	exit := hook.Run(hook.Config{
		Args: []string{"--data", string(w.dir), "claude-code", event}, Stdin: strings.NewReader(payload),
		Stdout: io.Discard, Stderr: io.Discard, Env: []string{"CMEM_AUTOSTART=false"},
		Now: func() time.Time { return now }, Dir: string(w.dir),
	})
	if exit != 0 {
		return fmt.Errorf("the hook ended with %d", exit)
	}
	return nil
}

func (w *world) tool(event string, s, n int) error {
	w.now = w.now.Add(3 * time.Second)
	id := fmt.Sprintf("toolu_01Model%013d", n)
	w.ids["claude-code/"+event+"/"+id] = true
	w.tools[id] = true
	answer := ""
	if event == "PostToolUse" {
		answer = fmt.Sprintf(`,"tool_response":"done %d"`, n)
	}
	return w.send(event, fmt.Sprintf(`{"session_id":%q,"hook_event_name":%q,"cwd":"/nowhere","tool_name":"Bash","tool_use_id":%q,"tool_input":{"command":"echo %d"}%s}`,
		sessionName(n%5), event, id, n, answer))
}

// said sends what has no id of the host's: each time it is another event.
func (w *world) said(event string, s, n int, later time.Duration) error {
	w.now = w.now.Add(later)
	w.counts[event]++
	return w.send(event, w.words(event, s, w.counts[event]))
}

func (w *world) words(event string, s, n int) string {
	return fmt.Sprintf(`{"session_id":%q,"hook_event_name":%q,"cwd":"/nowhere","prompt":"make number %d work","nonce":%d}`, sessionName(s%5), event, n, n)
}

// saidTwice delivers equal words again within the window: that is one event.
func (w *world) saidTwice(s, n int) error {
	if err := w.said("UserPromptSubmit", s, n, 3*time.Second); err != nil {
		return err
	}
	w.now = w.now.Add(time.Second)
	return w.send("UserPromptSubmit", w.words("UserPromptSubmit", s, w.counts["UserPromptSubmit"]))
}

const fileLines = 12

// line gives one record of file n: it has its own id whatever file repeats it.
func line(n, i int, session string) (id, text string) {
	uuid := fmt.Sprintf("%08x-0000-4000-8000-%012d", n+1, i)
	at := time.Date(2026, 2, 1, 8, 0, i, 0, time.UTC).Format(time.RFC3339)
	common := fmt.Sprintf(`"uuid":%q,"timestamp":%q,"sessionId":%q,"cwd":"/nowhere","version":"2.1.0"`, uuid, at, session)
	if i%2 == 0 {
		return "claude-code/user/" + uuid, fmt.Sprintf(`{"type":"user",%s,"message":{"role":"user","content":"please %d of %d"}}`, common, i, n)
	}
	return "claude-code/assistant/" + uuid, fmt.Sprintf(`{"type":"assistant",%s,"message":{"id":"msg_%d_%d","role":"assistant","model":"m","content":[{"type":"text","text":"did %d of %d"}]}}`, common, n, i, i, n)
}

// transcript shows file n, under the session as, up to a share of it: it grows, and
// is cut in the middle of a line.
func (w *world) transcript(n, as, share int) error {
	var all bytes.Buffer
	var ends []int
	for i := range fileLines {
		_, text := line(n, i, sessionName(as))
		all.WriteString(text + "\n")
		ends = append(ends, all.Len())
	}
	size := max(w.shown[as], all.Len()*(share%101)/100)
	w.shown[as] = size
	path := filepath.Join(w.root, fmt.Sprintf("%s.jsonl", sessionName(as)))
	if err := os.WriteFile(path, all.Bytes()[:size], 0o600); err != nil {
		return err
	}
	for i, end := range ends {
		if end-1 <= size { // the last line needs no end of line
			id, _ := line(n, i, "")
			w.ids[id] = true
		}
	}
	_, err := w.node.Replay(context.Background(), api.ReplayRequest{Paths: []string{path}}, func(api.Line) {})
	return err
}

// check says what is missing, twice there, or there for no reason.
func (w *world) check() error {
	if err := errors.Join(w.close(), w.open()); err != nil {
		return err
	}
	if err := verifyModels(context.Background(), w.node); err != nil {
		return err
	}
	tools, err := w.toolUses()
	if err = errors.Join(err, w.close()); err != nil {
		return err
	}
	if tools != len(w.tools) {
		err = fmt.Errorf("records know %d tool uses, want %d", tools, len(w.tools))
	}
	return errors.Join(err, w.checkLog())
}

func (w *world) toolUses() (n int, err error) {
	err = w.node.Records(func(s *records.Store) error {
		all, err := s.Sessions(records.Filter{Limit: 1000})
		for _, x := range all {
			n += x.Counts.ToolUses + x.Counts.Orphans
		}
		return err
	})
	return n, err
}

func (w *world) checkLog() error {
	ctx := context.Background()
	l, err := streams.Open(ctx, streams.Config{Dir: w.dir.Log(), Reserve: -1, HeadFile: w.dir.Head()})
	if err != nil {
		return err
	}
	defer l.Close()
	ids, counts := map[string]int{}, map[string]int{}
	for r, err := range l.Read(ctx, 0) {
		if err != nil {
			return err
		}
		switch e := r.Envelope; {
		case e.Type == envelope.SessionIdled, e.Type == envelope.SessionForked:
		case e.Event == "UserPromptSubmit" || e.Event == "Stop":
			counts[e.Event]++
		default:
			ids[e.ID]++
		}
	}
	report, err := l.Verify(ctx, nil)
	if err == nil && !report.OK() {
		err = fmt.Errorf("verify: %+v", report)
	}
	return errors.Join(err, w.compare(ids, counts))
}

func (w *world) compare(ids, counts map[string]int) error {
	var errs []error
	all := slices.Collect(maps.Keys(w.ids))
	for id := range ids {
		if !w.ids[id] {
			all = append(all, id)
		}
	}
	slices.SortFunc(all, cmp.Compare[string])
	for _, id := range all {
		want := 0
		if w.ids[id] {
			want = 1
		}
		if ids[id] != want {
			errs = append(errs, fmt.Errorf("%s is in the log %d times, want %d", id, ids[id], want))
		}
	}
	if !maps.Equal(counts, w.counts) {
		errs = append(errs, fmt.Errorf("events without an id: %v, want %v", counts, w.counts))
	}
	return errors.Join(errs...)
}

// live does a history from an empty folder and checks.
func live(root string, history []op) (err error) {
	w := newWorld(root)
	if err := w.open(); err != nil {
		return err
	}
	defer func() {
		if w.node != nil {
			err = errors.Join(err, w.close())
		}
	}()
	for n, o := range history {
		do := ops[o.what]
		if do == nil {
			return fmt.Errorf("operation %d: %q is none", n+1, o.what)
		}
		if err := do(w, o.a, o.b); err != nil {
			return fmt.Errorf("operation %d, %s: %w", n+1, o, err)
		}
	}
	return w.check()
}
