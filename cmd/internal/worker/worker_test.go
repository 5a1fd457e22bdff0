package worker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"cmem/cmd/internal/api"
	"cmem/cmd/internal/config"
	"cmem/ingest/home"
	"cmem/projections/records"
	"cmem/projections/search"
	"cmem/replay"
	"cmem/streams/durable"
	"cmem/streams/envelope"
	"cmem/streams/streamstest"
)

func settings() config.Config {
	c := config.Default()
	c.ReserveMB, c.TCP, c.Zone = -1, false, "UTC"
	return c
}

// folder is a data folder whose path is short enough for a socket.
func folder(t testing.TB) home.Dir {
	t.Helper()
	dir, err := os.MkdirTemp("", "cm")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return home.Dir(filepath.Join(dir, "d"))
}

func open(t testing.TB, dir home.Dir) *Node {
	t.Helper()
	n, err := Open(t.Context(), dir, settings(), streamstest.Logger(t))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func closed(t testing.TB, n *Node) {
	t.Helper()
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
}

// prompts are n UserPromptSubmits of one session, a minute apart.
func prompts(session string, n int) []envelope.Envelope {
	at := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	envs := make([]envelope.Envelope, n)
	for i := range envs {
		envs[i] = envelope.Envelope{
			ID: fmt.Sprintf("claude-code/UserPromptSubmit/%s-%d", session, i), Type: envelope.HookReceived, Source: "claude-code",
			Subject: session, Event: "UserPromptSubmit", Time: at.Add(time.Duration(i) * time.Minute),
			Body: fmt.Appendf(nil, `{"session_id":%q,"cwd":"/srv/demo","hook_event_name":"UserPromptSubmit","prompt_id":"%s-%d","prompt":"walrus number%d"}`, session, session, i, i),
		}
	}
	return envs
}

func (n *Node) add(t testing.TB, envs ...envelope.Envelope) {
	t.Helper()
	if _, err := n.ingester.Add(t.Context(), envs...); err != nil {
		t.Fatal(err)
	}
	if err := n.settle(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func (n *Node) countPrompts(t testing.TB) (count int) {
	t.Helper()
	err := n.Records(func(s *records.Store) error {
		all, err := s.Prompts(records.Filter{})
		count = len(all)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return count
}

func (n *Node) countFound(t testing.TB, text string) (count int) {
	t.Helper()
	err := n.Search(func(x *search.Index) error {
		r, err := x.Query(t.Context(), search.Query{Text: text})
		count = r.Total
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return count
}

func TestWhatCannotBeUsedIsBuiltAgain(t *testing.T) {
	dir := folder(t)
	n := open(t, dir)
	n.add(t, prompts("walrus-1", 20)...)
	closed(t, n)
	read := func(name string) string { return filepath.Join(dir.Read(), name) }
	for name, damage := range map[string]func() error{
		"records empty": func() error { return os.Truncate(read("records.db"), 0) },
		"records cut":   func() error { return os.Truncate(read("records.db"), 5000) },
		"records gone":  func() error { return os.Remove(read("records.db")) },
		"search marked by another version": func() error {
			return os.WriteFile(read("search/search.json"), []byte(`{"format":1,"version":"old","store":"store-x"}`), 0o600)
		},
		"search's mark unreadable": func() error { return os.WriteFile(read("search/search.json"), []byte(`{"form`), 0o600) },
		"search gone":              func() error { return os.RemoveAll(read("search")) },
		"all gone":                 func() error { return os.RemoveAll(dir.Read()) },
	} {
		t.Run(name, func(t *testing.T) {
			if err := damage(); err != nil {
				t.Fatal(err)
			}
			n := open(t, dir)
			defer closed(t, n)
			if got := n.countPrompts(t); got != 20 {
				t.Errorf("%d prompts, want 20", got)
			}
			if got := n.countFound(t, "walrus"); got != 20 {
				t.Errorf("%d found, want 20", got)
			}
		})
	}
}

// TestReadersAreToldOfARebuild stops a build half-way and asks.
func TestReadersAreToldOfARebuild(t *testing.T) {
	dir := folder(t)
	n := open(t, dir)
	n.add(t, prompts("walrus-1", 20)...)
	closed(t, n)
	if err := os.Truncate(filepath.Join(dir.Read(), "records.db"), 0); err != nil {
		t.Fatal(err)
	}
	n = newNode(dir, settings(), streamstest.Logger(t), time.Now)
	if err := n.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer closed(t, n)
	var e *api.Error
	err := n.Records(func(*records.Store) error { return nil })
	if !errors.As(err, &e) || e.Code != api.Rebuilding || !strings.Contains(e.Message, "% done") {
		t.Errorf("a reader is told %v", err)
	}
	s, err := n.Stats(t.Context())
	if err != nil || s.Models[0].State != stateRebuilding || s.Models[0].Reason == "" {
		t.Errorf("status says %+v, %v", s.Models, err)
	}
	if err := n.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := n.countPrompts(t); got != 20 {
		t.Errorf("%d prompts, want 20", got)
	}
}

func TestARebuildWhileReading(t *testing.T) {
	n := open(t, folder(t))
	defer closed(t, n)
	n.add(t, prompts("walrus-1", 200)...)
	ctx, stop := context.WithCancel(t.Context())
	var reading sync.WaitGroup
	for range 3 {
		reading.Go(func() {
			for ctx.Err() == nil {
				if got := n.countPrompts(t); got < 200 {
					t.Errorf("a reader saw %d prompts", got)
				}
				if got := n.countFound(t, "walrus"); got < 200 {
					t.Errorf("a reader found %d", got)
				}
			}
		})
	}
	for range 3 {
		out, err := n.Rebuild(t.Context(), api.RebuildRequest{Verify: true}, func(api.Line) {})
		if err != nil || !out.(RebuildResult).Equal {
			t.Errorf("rebuild: %+v, %v", out, err)
		}
		n.add(t, prompts("walrus-2", 50)...)
	}
	stop()
	reading.Wait()
}

// TestFollowersOfANewBuildBeginAgain: after a build of records alone, what
// follows them is built too, and answers meanwhile.
func TestFollowersOfANewBuildBeginAgain(t *testing.T) {
	n := open(t, folder(t))
	defer closed(t, n)
	n.add(t, prompts("walrus-1", 20)...)
	if _, err := n.Rebuild(t.Context(), api.RebuildRequest{Only: "records"}, func(api.Line) {}); err != nil {
		t.Fatal(err)
	}
	if got := n.countFound(t, "walrus"); got != 20 {
		t.Errorf("%d found before search was built again", got)
	}
	n.add(t, prompts("walrus-2", 5)...)
	if got := n.countFound(t, "walrus"); got != 25 {
		t.Errorf("%d found, want 25", got)
	}
	if m := n.search.status(); m.State != stateReady || m.Behind != 0 || m.Reason == "" {
		t.Errorf("search is %+v", m)
	}
}

// TestAQuietSessionIsIdled turns the clock, not the time.
func TestAQuietSessionIsIdled(t *testing.T) {
	dir := folder(t)
	now := time.Date(2026, 1, 2, 4, 0, 0, 0, time.UTC)
	var mu sync.Mutex
	clock := func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	turn := func(d time.Duration) { mu.Lock(); now = now.Add(d); mu.Unlock() }
	n := newNode(dir, settings(), streamstest.Logger(t), clock)
	if err := errors.Join(n.open(t.Context()), n.prepare(t.Context())); err != nil {
		t.Fatal(err)
	}
	envs := prompts("quiet-1", 2)
	n.add(t, envs...)
	idled := func() (ids []string) {
		for r, err := range n.stream.Read(t.Context(), 0) {
			if err != nil {
				t.Fatal(err)
			}
			if r.Envelope.Type == envelope.SessionIdled {
				ids = append(ids, r.Envelope.ID)
			}
		}
		return ids
	}
	step := func(d time.Duration, want int) {
		t.Helper()
		turn(d)
		if err := n.closeQuiet(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := n.settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := idled(); len(got) != want {
			t.Fatalf("after %s: %v, want %d", d, got, want)
		}
	}
	step(2*time.Minute, 0)
	step(2*time.Minute, 1)
	if got, want := idled()[0], replay.Idled(envs[1]).ID; got != want {
		t.Errorf("the id is %s, a replay's would be %s", got, want)
	}
	step(time.Hour, 1)
	n.add(t, prompts("quiet-1", 3)[2])
	step(time.Minute, 1)
	closed(t, n)
	// A worker that comes back finds what was open when the last one went.
	turn(time.Hour)
	n = newNode(dir, settings(), streamstest.Logger(t), clock)
	if err := errors.Join(n.open(t.Context()), n.prepare(t.Context()), n.idle.seed(t.Context(), n)); err != nil {
		t.Fatal(err)
	}
	defer closed(t, n)
	step(0, 2)
}

// serve runs a worker until the test's end or until it is stopped.
func serve(t *testing.T, dir home.Dir, cfg config.Config) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, dir, cfg, streamstest.Logger(t)) }()
	var once sync.Once
	var err error
	stop = func() error {
		once.Do(func() { cancel(); err = <-done })
		return err
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	for {
		select {
		case err := <-done:
			t.Fatalf("the worker ended: %v", err)
		default:
		}
		if _, err := ReadState(dir); err == nil {
			return stop
		}
	}
}

func socketClient(dir home.Dir) *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", dir.Socket())
	}}}
}

func TestServeLeavesNothingBehind(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	dir := folder(t)
	stop := serve(t, dir, settings())
	c := socketClient(dir)
	res, err := c.Get("http://localhost/api/ready")
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 1<<12)
	var got strings.Builder
	for err == nil {
		var n int
		n, err = res.Body.Read(b)
		got.Write(b[:n])
	}
	_ = res.Body.Close()
	for _, p := range []api.Phase{api.PhaseStarting, api.PhaseLogReady, api.PhaseProjectionsReady, api.PhaseServing, api.PhaseReady} {
		if !strings.Contains(got.String(), `"phase":"`+string(p)+`"`) {
			t.Errorf("/api/ready does not tell %s: %s", p, got.String())
		}
	}
	if err := Serve(t.Context(), dir, settings(), streamstest.Logger(t)); !errors.Is(err, durable.ErrLocked) {
		t.Errorf("a second worker: %v", err)
	}
	if _, err := Open(t.Context(), dir, settings(), streamstest.Logger(t)); !errors.Is(err, durable.ErrLocked) {
		t.Errorf("a node beside the worker: %v", err)
	}
	c.CloseIdleConnections()
	if err := stop(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir.Socket()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
}

func TestAStreamDoesNotHoldUpTheStop(t *testing.T) {
	dir := folder(t)
	n := open(t, dir)
	n.add(t, prompts("walrus-1", 1)...)
	closed(t, n)
	stop := serve(t, dir, settings())
	c := socketClient(dir)
	defer c.CloseIdleConnections()
	ready, err := c.Get("http://localhost/api/ready")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, ready.Body); err != nil || ready.Body.Close() != nil {
		t.Fatal(err)
	}
	tail, err := c.Get("http://localhost/api/log/tail?follow=true")
	if err != nil {
		t.Fatal(err)
	}
	defer tail.Body.Close()
	lines := bufio.NewScanner(tail.Body)
	if !lines.Scan() || !strings.Contains(lines.Text(), "walrus-1-0") {
		t.Fatalf("the tail tells %q, %v", lines.Text(), lines.Err())
	}
	if err := stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
	if lines.Scan() || lines.Err() != nil {
		t.Errorf("the tail ended with %q, %v", lines.Text(), lines.Err())
	}
}

func TestAnIdleWorkerExits(t *testing.T) {
	dir := folder(t)
	cfg := settings()
	cfg.IdleExit, cfg.SessionIdle = 50*time.Millisecond, time.Second
	if err := Serve(t.Context(), dir, cfg, streamstest.Logger(t)); err != nil {
		t.Error(err)
	}
}

func TestASocketOfAnotherKindIsNotRemoved(t *testing.T) {
	dir := folder(t)
	if err := dir.Make(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir.Socket(), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := Serve(t.Context(), dir, settings(), streamstest.Logger(t))
	if err == nil || !strings.Contains(err.Error(), "in the way") {
		t.Errorf("got %v", err)
	}
	if b, _ := os.ReadFile(dir.Socket()); string(b) != "mine" {
		t.Error("the file is gone")
	}
}
