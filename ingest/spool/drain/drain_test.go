package drain

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cmem/ingest/spool"
	"cmem/streams/envelope"
)

// bench is a spool folder with a clock and a receiver that can refuse.
type bench struct {
	t      *testing.T
	dir    string
	now    time.Time
	spool  *Spool
	taken  []string
	sizes  []int
	refuse func(envelope.Envelope) error
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, dir: filepath.Join(t.TempDir(), "spool"), now: time.Now()}
	b.restart()
	return b
}

func (b *bench) restart() {
	b.spool = New(Config{Dir: b.dir, Now: func() time.Time { return b.now }, Logger: slog.New(slog.DiscardHandler)})
}

func (b *bench) put(id string, captured time.Time) string {
	b.t.Helper()
	name, err := spool.Put(b.dir, envelope.Envelope{
		ID: id, Type: envelope.HookReceived, Source: "test", Time: captured, Body: []byte(`{}`),
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return name
}

func (b *bench) take(_ context.Context, envs []envelope.Envelope) error {
	for _, e := range envs {
		if b.refuse != nil {
			if err := b.refuse(e); err != nil {
				return err
			}
		}
	}
	for _, e := range envs {
		b.taken = append(b.taken, e.ID)
	}
	b.sizes = append(b.sizes, len(envs))
	return nil
}

func (b *bench) once() Report {
	b.t.Helper()
	report, err := b.spool.Once(b.t.Context(), b.take)
	if err != nil {
		b.t.Fatal(err)
	}
	return report
}

func (b *bench) files(folder string) []string {
	b.t.Helper()
	entries, err := os.ReadDir(filepath.Join(b.dir, folder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		b.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	return names
}

func (b *bench) write(name, data string) {
	b.t.Helper()
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.dir, name), []byte(data), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

func TestOrderIsByCapture(t *testing.T) {
	b := newBench(t)
	b.put("third", b.now)
	b.put("first", b.now.Add(-30*24*time.Hour)) // age alone expires nothing
	b.put("second", b.now.Add(-time.Hour))
	if got, want := b.once(), (Report{Taken: 3}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if want := []string{"first", "second", "third"}; !slices.Equal(b.taken, want) {
		t.Errorf("got %v, want %v", b.taken, want)
	}
	if left := b.files(""); left != nil {
		t.Errorf("left: %v", left)
	}
}

func TestBatches(t *testing.T) {
	b := newBench(t)
	b.spool.cfg.Batch = 100
	for n := range 234 {
		b.put(fmt.Sprint(n), b.now.Add(time.Duration(n)))
	}
	if got := b.once(); got.Taken != 234 || !slices.Equal(b.sizes, []int{100, 100, 34}) {
		t.Errorf("got %+v in %v", got, b.sizes)
	}
}

func name(n int) string { return fmt.Sprintf("%019d-1-0123456789abcdef.json", n) }

// TestWhatIsNoEvent: moved aside as it is, never deleted, and the rest goes on.
func TestWhatIsNoEvent(t *testing.T) {
	bad := []string{"", "\x00\x00\x00", "{", `{"specversion":"1.0"}`, `[]`, `{"specversion":"1.0","id":"x","type":"t","source":"s"} more`, strings.Repeat("[", 1<<20)}
	b := newBench(t)
	for n, data := range bad {
		b.write(name(n), data)
	}
	b.put("good", b.now)
	if got, want := b.once(), (Report{Taken: 1, Corrupt: len(bad)}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for n, data := range bad {
		if got, err := os.ReadFile(filepath.Join(b.dir, spool.CorruptDir, name(n))); err != nil || string(got) != data {
			t.Errorf("corrupt entry %d: %.20q, %v", n, got, err)
		}
	}
	// A second one of the same name does not replace the first.
	b.write(name(0), "other")
	b.once()
	if got := b.files(spool.CorruptDir); len(got) != len(bad)+1 {
		t.Errorf("corrupt holds %v", got)
	}
}

func TestWhatIsNotOurs(t *testing.T) {
	b := newBench(t)
	b.put("good", b.now)
	b.write(".DS_Store", "x")
	b.write("notes.json", "{}")
	b.write("failed.json", "{broken")
	b.write(".tmp-1", "half")
	if err := os.Mkdir(filepath.Join(b.dir, name(1)), 0o700); err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("elsewhere"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(b.dir, name(2))); err != nil {
		t.Fatal(err)
	}
	if names := Foreign(b.dir); len(names) != 4 {
		t.Errorf("not the spool's: %v", names)
	}
	if got, want := b.once(), (Report{Taken: 1, Foreign: 4}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for _, left := range []string{".DS_Store", "notes.json", name(1), name(2)} {
		if _, err := os.Lstat(filepath.Join(b.dir, left)); err != nil {
			t.Errorf("%s is gone: %v", left, err)
		}
	}
}

func TestTemporaryFiles(t *testing.T) {
	b := newBench(t)
	b.put("good", b.now)
	for _, name := range []string{"old", "new"} {
		if err := os.WriteFile(filepath.Join(b.dir, spool.TempDir, name), []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	old := b.now.Add(-2 * time.Hour)
	if err := os.Chtimes(filepath.Join(b.dir, spool.TempDir, "old"), old, old); err != nil {
		t.Fatal(err)
	}
	if got, want := b.once(), (Report{Taken: 1, Swept: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if left := b.files(spool.TempDir); !slices.Equal(left, []string{"new"}) {
		t.Errorf("left: %v", left)
	}
}

// TestRefused: one bad entry keeps no other out; it is held after 7 days of
// refusals, counted over restarts, and comes back by Retry.
func TestRefused(t *testing.T) {
	b := newBench(t)
	bad := errors.New("too large")
	b.refuse = func(e envelope.Envelope) error {
		if e.ID == "bad" {
			return bad
		}
		return nil
	}
	entry := b.put("bad", b.now.Add(-30*24*time.Hour))
	b.put("good", b.now)
	if got, want := b.once(), (Report{Taken: 1, Failed: 1}); got != want {
		t.Errorf("first: got %+v, want %+v", got, want)
	}
	b.now = b.now.Add(7*24*time.Hour - time.Minute)
	b.restart()
	if got, want := b.once(), (Report{Failed: 1}); got != want {
		t.Errorf("after nearly 7 days: got %+v, want %+v", got, want)
	}
	b.now = b.now.Add(time.Minute)
	b.restart()
	if got, want := b.once(), (Report{Held: 1}); got != want {
		t.Errorf("after 7 days: got %+v, want %+v", got, want)
	}
	if held := b.files(spool.HeldDir); !slices.Equal(held, []string{entry}) {
		t.Errorf("held: %v", held)
	}
	b.refuse = nil
	if n, err := Retry(b.dir); n != 1 || err != nil {
		t.Fatalf("retry: %d, %v", n, err)
	}
	if got, want := b.once(), (Report{Taken: 1}); got != want {
		t.Errorf("after retry: got %+v, want %+v", got, want)
	}
}

// TestUnavailable: a log that takes nothing for months holds nothing back.
func TestUnavailable(t *testing.T) {
	b := newBench(t)
	b.put("a", b.now)
	b.put("b", b.now.Add(1))
	b.refuse = func(envelope.Envelope) error { return fmt.Errorf("disk full: %w", ErrUnavailable) }
	for range 3 {
		if _, err := b.spool.Once(t.Context(), b.take); !errors.Is(err, ErrUnavailable) {
			t.Fatalf("got %v", err)
		}
		b.now = b.now.Add(30 * 24 * time.Hour)
	}
	b.refuse = nil
	if got, want := b.once(), (Report{Taken: 2}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestManyRefused: a log that refuses everything is not asked thousands of times.
func TestManyRefused(t *testing.T) {
	b := newBench(t)
	asked := 0
	b.refuse = func(envelope.Envelope) error { asked++; return errors.New("no") }
	for n := range 100 {
		b.put(fmt.Sprint(n), b.now.Add(time.Duration(n)))
	}
	if _, err := b.spool.Once(t.Context(), b.take); err == nil {
		t.Error("no error")
	}
	if asked > 2*tries {
		t.Errorf("asked %d times", asked)
	}
	if left := len(b.files("")) - 1; left != 100 { // besides failed.json
		t.Errorf("%d left, want 100", left)
	}
}

func TestCancelled(t *testing.T) {
	b := newBench(t)
	b.put("a", b.now)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.spool.Once(ctx, b.take); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if left := b.files(""); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
}

// TestSizes: from nothing to far above what is handed over at once.
func TestSizes(t *testing.T) {
	b := newBench(t)
	sizes := map[string]int{}
	for n, size := range []int{0, 600 << 10, 12 << 20} {
		id := fmt.Sprint(n)
		sizes[id] = size
		e := envelope.Envelope{ID: id, Type: envelope.HookReceived, Source: "test", Time: b.now.Add(time.Duration(n)), Body: []byte(`"` + strings.Repeat("é", size/2) + `"`)}
		if _, err := spool.Put(b.dir, e); err != nil {
			t.Fatal(err)
		}
	}
	report, err := b.spool.Once(t.Context(), func(_ context.Context, envs []envelope.Envelope) error {
		for _, e := range envs {
			if len(e.Body) != sizes[e.ID]+2 {
				t.Errorf("%s: %d bytes", e.ID, len(e.Body))
			}
			delete(sizes, e.ID)
		}
		return nil
	})
	if err != nil || report.Taken != 3 || len(sizes) != 0 {
		t.Errorf("got %+v, %v, missing %v", report, err, sizes)
	}
}
