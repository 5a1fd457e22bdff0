package replay_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"cmem/ingest"
	"cmem/ingest/filter"
	"cmem/ingest/home"
	"cmem/ingest/identity"
	"cmem/ingest/redact"
	"cmem/projections"
	"cmem/projections/records"
	"cmem/replay"
	"cmem/streams"
	"cmem/streams/envelope"
	"cmem/streams/streamstest"
)

const testdata = "../testdata/transcripts"

// house is a log with records at its head: what a replay needs.
type house struct {
	t        testing.TB
	log      *streams.Log
	store    *records.Store
	ingester *ingest.Ingester
	files    replay.Files
	feed     projections.Feed[projections.Entry]
}

func newHouse(t testing.TB) *house {
	t.Helper()
	h := &house{t: t, log: streamstest.New(t), files: files(t)}
	h.feed = projections.NewLogFeed(h.log, ingest.Decode)
	h.store = h.open(filepath.Join(t.TempDir(), "records.db"))
	t.Cleanup(func() {
		if err := h.store.Close(); err != nil {
			t.Error(err)
		}
	})
	var err error
	if h.ingester, err = ingest.New(t.Context(), ingest.Config{Log: h.log, Table: h.store, Logger: streamstest.Logger(t)}); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *house) open(path string) *records.Store {
	h.t.Helper()
	s, err := records.Open(path, records.Config{Log: h.log.Identity()})
	if err != nil {
		h.t.Fatal(err)
	}
	return s
}

func files(t testing.TB) replay.Files {
	t.Helper()
	dir := home.Dir(t.TempDir())
	key, err := identity.LoadKey(dir.IDKey())
	if err != nil {
		t.Fatal(err)
	}
	r, problems := redact.New(home.Defaults())
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return replay.Files{Key: key, Redactor: r, Filter: filter.New(home.Defaults(), dir)}
}

func (h *house) config() replay.Config {
	return replay.Config{Files: h.files, Ingester: h.ingester, Table: h.store}
}

// replay brings files in and records to the head.
func (h *house) replay(paths ...string) *replay.Result {
	h.t.Helper()
	r := h.bring(paths...)
	h.catchUp()
	if err := r.Count(h.store); err != nil {
		h.t.Fatal(err)
	}
	return r
}

// bring is replay without records.
func (h *house) bring(paths ...string) *replay.Result {
	h.t.Helper()
	r, err := replay.Transcript(h.t.Context(), h.config(), paths...)
	if err != nil {
		h.t.Fatal(err)
	}
	return r
}

func (h *house) catchUp() {
	h.t.Helper()
	if _, err := projections.New(h.feed, projections.Projection[projections.Entry](h.store), projections.Config{}).RunToEnd(h.t.Context()); err != nil {
		h.t.Fatal(err)
	}
}

// dump is all that can be read, without what depends on the order of arrival.
func (h *house) dump() string {
	h.t.Helper()
	var b bytes.Buffer
	if err := h.store.Dump(&b, records.DumpOptions{}); err != nil {
		h.t.Fatal(err)
	}
	return b.String()
}

func path(name string) string {
	host := "claude-code"
	if strings.HasSuffix(name, "-codex.jsonl") {
		host = "codex"
	}
	return filepath.Join(testdata, host, name)
}

// rows reads a table of expectations.
func rows(t testing.TB, name string) (out []map[string]string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(testdata, name))
	if err != nil {
		t.Fatal(err)
	}
	var head []string
	for line := range strings.Lines(string(b)) {
		cells := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if head == nil {
			head = cells
			continue
		}
		row := map[string]string{}
		for i, c := range cells {
			row[head[i]] = c
		}
		out = append(out, row)
	}
	return out
}

// expected compares facts with a row, column by column.
func expected(t *testing.T, row map[string]string, f *replay.Facts) {
	t.Helper()
	b, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]int
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	compared := 0
	for column, n := range got {
		want, err := strconv.Atoi(row[column])
		if err != nil {
			continue
		}
		if compared++; n != want {
			t.Errorf("%s: %d, want %d", column, n, want)
		}
	}
	if compared < 6 {
		t.Errorf("only %d columns compared", compared)
	}
}

func TestEveryTranscriptReplaysToItsCounts(t *testing.T) {
	for _, row := range rows(t, "EXPECTED.tsv") {
		name := row["file"]
		if row["client"] != "claude-code" && row["client"] != "codex" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			r := h.replay(path(name))
			f := r.Files[0]
			if f.Error != "" {
				t.Fatal(f.Error)
			}
			expected(t, row, f.Facts)
			for what, pair := range map[string][2]int{
				"values":     {f.Values, number(t, row["records"])},
				"copied":     {f.Copied, number(t, row["copied_records"])},
				"unreadable": {f.Unreadable, number(t, row["bad_lines"])},
				"the sum":    {f.New + f.Held + f.Conflicts + f.Skipped + f.Copied, f.Values},
				"bytes":      {int(f.Bytes), number(t, row["bytes"]) - unfinished(f)},
			} {
				if pair[0] != pair[1] {
					t.Errorf("%s: %d, want %d", what, pair[0], pair[1])
				}
			}
			head, before := h.log.Head(), h.dump()
			again := h.replay(path(name)).Files[0]
			if again.New != 0 || again.Conflicts != 0 || h.log.Head() != head || h.dump() != before {
				t.Errorf("a second replay: %+v, head %d after %d", again.Counts, h.log.Head().Position, head.Position)
			}
			if again.Held != f.New+f.Held+f.Conflicts || again.Skipped != f.Skipped {
				t.Errorf("a second replay counts %+v, the first %+v", again.Counts, f.Counts)
			}
		})
	}
}

func number(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// unfinished is what a cut file holds behind its last value.
func unfinished(f replay.FileResult) (n int) {
	for _, b := range f.Bad {
		if !b.Kept {
			n += int(b.Bytes)
		}
	}
	return n
}

func TestPairsShareWhatTheyShare(t *testing.T) {
	for _, row := range rows(t, "EXPECTED_PAIRS.tsv") {
		first, second, ok := strings.Cut(row["files_in_order"], " then ")
		if !ok {
			t.Fatalf("%v", row)
		}
		for _, order := range [][]string{{first, second}, {second, first}} {
			t.Run(strings.Join(order, " then "), func(t *testing.T) {
				h := newHouse(t)
				r := h.replay(path(order[0]), path(order[1]))
				expected(t, row, r.Facts)
				head := h.log.Head()
				h.replay(path(order[1]), path(order[0]))
				if h.log.Head() != head {
					t.Errorf("replaying both again appended %d", h.log.Head().Position-head.Position)
				}
			})
		}
	}
}

func TestAForkIsToldOnce(t *testing.T) {
	h := newHouse(t)
	r := h.replay(path("g08a-claude-code.jsonl"), path("g08b-claude-code.jsonl"))
	h.replay(path("g08b-claude-code.jsonl"))
	var forks []envelope.Envelope
	for _, rec := range streamstest.Records(t, h.log, 0) {
		if rec.Envelope.Type == envelope.SessionForked {
			forks = append(forks, rec.Envelope)
		}
	}
	if len(forks) != 1 || len(r.Files[1].Forked) != 1 || r.Files[1].Forked[0] != r.Files[0].Sessions[0] {
		t.Fatalf("forks %v, told %v", forks, r.Files[1].Forked)
	}
	view, ok, err := h.store.SessionView(forks[0].Subject)
	if err != nil || !ok || len(view.Shared) == 0 {
		t.Errorf("the fork's view shows %d shared turns, %v", len(view.Shared), err)
	}
}

func TestADryRunAddsNothing(t *testing.T) {
	h := newHouse(t)
	c := h.config()
	c.DryRun = true
	dry, err := replay.Transcript(t.Context(), c, path("g05-claude-code.jsonl"))
	if err != nil || h.log.Head().Position != 0 {
		t.Fatalf("head %d, %v", h.log.Head().Position, err)
	}
	real := h.replay(path("g05-claude-code.jsonl"))
	if dry.Total.New != real.Total.New || dry.Total.Skipped != real.Total.Skipped {
		t.Errorf("dry %+v, real %+v", dry.Total, real.Total)
	}
	head := h.log.Head()
	if dry, err = replay.Transcript(t.Context(), c, path("g05-claude-code.jsonl")); err != nil || dry.Total.New != 0 || dry.Total.Held != real.Total.New {
		t.Errorf("dry again %+v, %v", dry.Total, err)
	}
	if h.log.Head() != head {
		t.Error("a dry run appended")
	}
}

// cuts are places where a writer may have been interrupted: every n-th line's end
// and one byte around it, and any others.
func cuts(data []byte, every, random int, seed uint64) (at []int) {
	lines := 0
	for i, b := range data {
		if b != '\n' {
			continue
		}
		if lines++; lines%every == 0 {
			at = append(at, i-1, i, i+1)
		}
	}
	rnd := rand.New(rand.NewPCG(seed, 1))
	for range random {
		at = append(at, rnd.IntN(len(data)))
	}
	return at
}

// seen is an Ingester that only remembers: what a cut file brings must be the
// beginning of what the whole one brings.
type seen struct{ ids []string }

func (s *seen) Add(_ context.Context, envs ...envelope.Envelope) ([]ingest.Result, error) {
	for _, e := range envs {
		if e.Type != envelope.SessionIdled {
			s.ids = append(s.ids, e.ID+" "+e.Digest)
		}
	}
	return make([]ingest.Result, len(envs)), nil
}

func TestACutFileBringsTheBeginningOfTheWhole(t *testing.T) {
	cut := filepath.Join(t.TempDir(), "cut.jsonl")
	f := files(t)
	bring := func(path, host string) []string {
		t.Helper()
		s := &seen{}
		if _, err := replay.Transcript(t.Context(), replay.Config{Files: f, Ingester: s, Host: host}, path); err != nil {
			t.Fatal(err)
		}
		return s.ids
	}
	for i, name := range []string{"g01-claude-code.jsonl", "g09-claude-code.jsonl", "g17-claude-code.jsonl", "g04b-claude-code.jsonl", "g10-codex.jsonl", "g11b-codex.jsonl"} {
		data, err := os.ReadFile(path(name))
		if err != nil {
			t.Fatal(err)
		}
		host := filepath.Base(filepath.Dir(path(name)))
		whole := bring(path(name), host)
		every := 1
		if len(data) > 90_000 {
			every = 7
		}
		for _, at := range cuts(data, every, 34, uint64(i)) {
			if err := os.WriteFile(cut, data[:max(at, 0)], 0o600); err != nil {
				t.Fatal(err)
			}
			part := bring(cut, host)
			if len(part) > len(whole) || fmt.Sprint(part) != fmt.Sprint(whole[:len(part)]) {
				t.Fatalf("%s cut at %d brings what the whole does not: %d values", name, at, len(part))
			}
		}
	}
}

// TestAGrowingFileIsTheWholeFile replays one file at every stage of its growth.
func TestAGrowingFileIsTheWholeFile(t *testing.T) {
	for _, name := range []string{"g09-claude-code.jsonl", "g05-claude-code.jsonl", "g10-codex.jsonl"} {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(path(name))
			if err != nil {
				t.Fatal(err)
			}
			whole := newHouse(t)
			whole.replay(path(name))
			growing := newHouse(t)
			growing.files = whole.files
			file := filepath.Join(t.TempDir(), name)
			for i := 1; i <= 12; i++ {
				if err := os.WriteFile(file, data[:len(data)*i/12], 0o600); err != nil {
					t.Fatal(err)
				}
				growing.replay(file)
			}
			if got, want := growing.dump(), whole.dump(); got != want {
				t.Errorf("a file that grew differs from the whole one:\n%s", firstDifference(got, want))
			}
		})
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d\n got %.600s\nwant %.600s", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}

func TestBadFilesAreNamedAndTheOthersRead(t *testing.T) {
	h := newHouse(t)
	strange := filepath.Join(t.TempDir(), "strange.jsonl")
	if err := os.WriteFile(strange, []byte("{\"hello\":1}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := h.replay("/no/such/file.jsonl", strange, path("g01-claude-code.jsonl"))
	if r.Failed() != 2 || r.Files[0].Error == "" || !strings.Contains(r.Files[1].Error, "strange.jsonl") || r.Files[2].New == 0 {
		t.Errorf("%+v", r)
	}
}

func TestRebuildComparesAtOnePosition(t *testing.T) {
	h := newHouse(t)
	h.replay(path("g05-claude-code.jsonl"))
	where := filepath.Join(t.TempDir(), "again.db")
	old := h.open(where)
	target := replay.Target[projections.Entry, *records.Store]{
		Path: where, Feed: h.feed,
		Open: func(p string) (*records.Store, error) {
			return records.Open(p, records.Config{Log: h.log.Identity()})
		},
	}
	if _, err := projections.New(h.feed, projections.Projection[projections.Entry](old), projections.Config{}).RunToEnd(t.Context()); err != nil {
		t.Fatal(err)
	}
	at, err := old.Checkpoint()
	if err != nil {
		t.Fatal(err)
	}
	// The log grows between; what is compared does not.
	h.replay(path("g01-claude-code.jsonl"))
	fresh, b, err := replay.Rebuild(t.Context(), target, old, true)
	if err != nil || !b.Equal || b.Before != b.After || b.Upto != uint64(at.Position) {
		t.Fatalf("%+v, %v", b, err)
	}
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	if err := fresh.Close(); err != nil {
		t.Fatal(err)
	}
}
