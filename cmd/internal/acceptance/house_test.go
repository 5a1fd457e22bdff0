package acceptance

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"cmem/cmd/internal/api"
	"cmem/cmd/internal/config"
	"cmem/cmd/internal/worker"
	"cmem/ingest/home"
	"cmem/ingest/hook"
	"cmem/projections/records"
	"cmem/replay"
)

const testdata = "../../../testdata"

// house is one data folder with all rooms in this process.
type house struct {
	t    testing.TB
	dir  home.Dir
	node *worker.Node
	now  time.Time // of the next hook
}

func newHouse(t testing.TB) *house {
	t.Helper()
	h := &house{t: t, dir: home.Dir(t.TempDir()), now: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)}
	h.open()
	t.Cleanup(h.close)
	return h
}

// open opens the rooms; what lies in the spool is drained.
func (h *house) open() {
	h.t.Helper()
	cfg := config.Default()
	cfg.ReserveMB, cfg.Zone = -1, "UTC"
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	n, err := worker.Open(context.Background(), h.dir, cfg, log)
	if err != nil {
		h.t.Fatal(err)
	}
	h.node = n
}

func (h *house) close() {
	if h.node == nil {
		return
	}
	if err := h.node.Close(); err != nil {
		h.t.Error(err)
	}
	h.node = nil
}

func (h *house) reopen() { h.t.Helper(); h.close(); h.open() }

// hook runs the publisher on one payload, a second after the last one.
func (h *house) hook(host, event string, payload []byte) {
	h.t.Helper()
	h.now = h.now.Add(3 * time.Second)
	now := h.now
	exit := hook.Run(hook.Config{
		Args: []string{"--data", string(h.dir), host, event}, Stdin: bytes.NewReader(payload),
		Stdout: io.Discard, Stderr: io.Discard, Env: []string{"CMEM_AUTOSTART=false"},
		Now: func() time.Time { return now }, Dir: string(h.dir),
	})
	if exit != 0 {
		h.t.Fatalf("%s %s: exit %d", host, event, exit)
	}
}

// replay brings transcripts in and gives what came of them.
func (h *house) replay(paths ...string) replay.Result {
	h.t.Helper()
	got, err := h.node.Replay(context.Background(), api.ReplayRequest{Paths: paths}, func(api.Line) {})
	if err != nil {
		h.t.Fatalf("replay %v: %v", paths, err)
	}
	text, err := json.Marshal(got)
	if err != nil {
		h.t.Fatal(err)
	}
	var r replay.Result
	if err := json.Unmarshal(text, &r); err != nil {
		h.t.Fatal(err)
	}
	return r
}

func (h *house) records(f func(*records.Store)) {
	h.t.Helper()
	if err := h.node.Records(func(s *records.Store) error { f(s); return nil }); err != nil {
		h.t.Fatal(err)
	}
}

// dump is everything that records say, but for what depends on the order in
// which channels arrived.
func (h *house) dump() string {
	h.t.Helper()
	var b strings.Builder
	h.records(func(s *records.Store) {
		if err := s.Dump(&b, records.DumpOptions{}); err != nil {
			h.t.Fatal(err)
		}
	})
	return b.String()
}

// digest is the records' own; search must be equal too where the log is.
func (h *house) digest() string {
	h.t.Helper()
	var d string
	h.records(func(s *records.Store) {
		var err error
		if d, err = s.Digest(); err != nil {
			h.t.Fatal(err)
		}
	})
	return d
}

// counts adds up all sessions.
func (h *house) counts() records.Counts {
	h.t.Helper()
	var c records.Counts
	h.records(func(s *records.Store) {
		sessions, err := s.Sessions(records.Filter{Limit: 1000})
		if err != nil {
			h.t.Fatal(err)
		}
		for _, x := range sessions {
			c.Prompts += x.Counts.Prompts
			c.ToolUses += x.Counts.ToolUses
		}
	})
	return c
}

// hooksOf lists the recorded payloads of a session in firing order.
func hooksOf(t testing.TB, host, session string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(testdata, "hooks", host, session, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no hooks of %s %s: %v", host, session, err)
	}
	slices.Sort(files)
	return files
}

func (h *house) hookFile(host, path string) {
	h.t.Helper()
	payload, err := os.ReadFile(path)
	if err != nil {
		h.t.Fatal(err)
	}
	_, event, _ := strings.Cut(strings.TrimSuffix(filepath.Base(path), ".json"), "-")
	h.hook(host, event, payload)
}

// transcriptsOf lists the transcript files of a recorded session.
func transcriptsOf(t testing.TB, host, session string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(filepath.Join(testdata, "clients", host, "transcript", session), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".jsonl") {
			if info, e := d.Info(); e == nil && info.Size() > 0 {
				files = append(files, path)
			}
		}
		return err
	})
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts of %s %s: %v", host, session, err)
	}
	// A fork repeats its original, so the original is the one that ended first.
	slices.SortFunc(files, func(a, b string) int { return strings.Compare(lastMoment(t, a), lastMoment(t, b)) })
	return files
}

var timestamp = regexp.MustCompile(`"timestamp":"([^"]+)"`)

func lastMoment(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	last := ""
	for _, m := range timestamp.FindAllSubmatch(data, -1) {
		last = max(last, string(m[1]))
	}
	return last + path
}

// table reads a TSV with a header.
func table(t testing.TB, path string) []map[string]string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	head := strings.Split(lines[0], "\t")
	var out []map[string]string
	for _, l := range lines[1:] {
		row := map[string]string{}
		for i, v := range strings.Split(l, "\t") {
			if i < len(head) {
				row[head[i]] = v
			}
		}
		out = append(out, row)
	}
	return out
}

func homeDir(path string) home.Dir { return home.Dir(path) }
