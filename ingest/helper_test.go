package ingest

import (
	"context"
	"iter"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"cmem/ingest/spool"
	"cmem/streams"
	"cmem/streams/envelope"
	"cmem/streams/streamstest"
)

// memoryTable is a Table that follows a log as far as it is told.
type memoryTable struct {
	at       streams.Checkpoint
	ids      map[string]streams.Held
	captures map[string][]streams.Capture
}

func (m *memoryTable) Lookup(ids []string) ([]streams.Held, streams.Checkpoint, error) {
	held := make([]streams.Held, len(ids))
	for n, id := range ids {
		held[n] = m.ids[id]
	}
	return held, m.at, nil
}

func (m *memoryTable) Captures(session string, from, to time.Time) ([]streams.Capture, error) {
	var found []streams.Capture
	for _, c := range m.captures[session] {
		if !c.Time.Before(from) && !c.Time.After(to) {
			found = append(found, c)
		}
	}
	return found, nil
}

// follow applies at most n records after the table's checkpoint.
func (m *memoryTable) follow(t testing.TB, l *streams.Log, n int) {
	t.Helper()
	if m.ids == nil {
		m.ids, m.captures = map[string]streams.Held{}, map[string][]streams.Capture{}
	}
	for _, r := range streamstest.Records(t, l, m.at.Position) {
		if n == 0 {
			return
		}
		n--
		e := r.Envelope
		if _, ok := m.ids[e.ID]; !ok {
			m.ids[e.ID] = streams.Held{OK: true, Session: e.Subject, Digest: e.Digest}
		}
		if isCapture(&e) {
			m.captures[e.Subject] = append(m.captures[e.Subject], streams.Capture{ID: e.ID, Time: e.Time})
		}
		m.at = streams.Checkpoint{Log: l.Identity(), Position: r.Position, Chain: r.Chain}
	}
}

// brokenLog fails appends on demand, before or after they are saved.
type brokenLog struct {
	*streams.Log
	before, after error
}

func (b *brokenLog) Append(ctx context.Context, envs ...envelope.Envelope) ([]streams.Position, error) {
	if b.before != nil {
		return nil, b.before
	}
	at, err := b.Log.Append(ctx, envs...)
	if b.after != nil {
		return nil, b.after
	}
	return at, err
}

func (b *brokenLog) Read(ctx context.Context, after streams.Position) iter.Seq2[streams.Record, error] {
	return b.Log.Read(ctx, after)
}

func newIngester(t testing.TB, l Log, table Table) *Ingester {
	t.Helper()
	i, err := New(t.Context(), Config{Log: l, Table: table, Logger: streamstest.Logger(t)})
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func add(t testing.TB, i *Ingester, envs ...envelope.Envelope) []Status {
	t.Helper()
	results, err := i.Add(t.Context(), envs...)
	if err != nil {
		t.Fatal(err)
	}
	statuses := make([]Status, len(results))
	for n, r := range results {
		statuses[n] = r.Status
	}
	return statuses
}

var epoch = time.Date(2026, 3, 4, 5, 6, 7, 8, time.UTC)

// tool is a hook event with an id of its host.
func tool(session, id, digest string) envelope.Envelope {
	return envelope.Envelope{
		ID: "claude-code/PostToolUse/" + id, Type: envelope.HookReceived, Source: "claude-code", Subject: session,
		Time: epoch, Event: "PostToolUse", Digest: digest, Body: []byte(`{"session_id":"` + session + `"}`),
	}
}

// nameless is a hook event without one: words, captured at epoch + at.
func nameless(session, words string, at time.Duration) envelope.Envelope {
	digest := strings.Repeat(words[:1], 16)
	captured := epoch.Add(at)
	return envelope.Envelope{
		ID:   "claude-code/Stop/" + digest + digest + "@" + strconv.FormatInt(captured.UnixNano(), 10),
		Type: envelope.HookReceived, Source: "claude-code", Subject: session,
		Time: captured, Event: "Stop", Digest: digest, Body: []byte(`{"w":"` + words + `"}`),
	}
}

func ids(t testing.TB, l *streams.Log) map[string]int {
	t.Helper()
	n := map[string]int{}
	for _, r := range streamstest.Records(t, l, 0) {
		n[r.Envelope.ID]++
	}
	return n
}

// The test binary is also the worker that crash tests kill: it drains the spool
// of a folder into the log beside it, to the end or until a signal.
const childVar = "CMEM_TEST_DRAIN"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childVar); dir != "" {
		if err := drainChild(dir, os.Getenv("CMEM_TEST_ONCE") != ""); err != nil {
			slog.Error("child", "err", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func drainChild(dir string, once bool) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	logger := slog.New(slog.DiscardHandler)
	l, err := streams.Open(ctx, streams.Config{Dir: filepath.Join(dir, "log"), Logger: logger, Reserve: -1})
	if err != nil {
		return err
	}
	defer l.Close()
	i, err := New(ctx, Config{Log: l, Table: &memoryTable{}, Logger: logger})
	if err != nil {
		return err
	}
	d := NewDrainer(DrainConfig{Ingester: i, Dir: filepath.Join(dir, "spool"), Now: time.Now, Logger: logger})
	os.Stdout.WriteString("ready\n")
	if once {
		return d.RunToEnd(ctx)
	}
	return d.Run(ctx)
}

func put(t testing.TB, dir string, e envelope.Envelope) {
	t.Helper()
	if _, err := spool.Put(dir, e); err != nil {
		t.Fatal(err)
	}
}

// fill writes entries as spool.Put does, without the disk's syncs.
func fill(t testing.TB, dir string, envs ...envelope.Envelope) {
	t.Helper()
	if err := spool.Make(dir); err != nil {
		t.Fatal(err)
	}
	for n := range envs {
		line, err := envelope.MarshalLine(envs[n])
		if err != nil {
			t.Fatal(err)
		}
		name := spool.Name{Captured: envs[n].Time, PID: 1, Hash: envs[n].Digest}.String()
		if err := os.WriteFile(filepath.Join(dir, name), line, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
