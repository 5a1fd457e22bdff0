package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cmem/cmd/internal/api"
	"cmem/ingest/home"
	"cmem/projections"
	"cmem/projections/records"
	"cmem/streams"
	"cmem/streams/envelope"
)

// TestFaults has one subtest per row of testdata/faults/faults.tsv that is about
// the composed rooms.
func TestFaults(t *testing.T) {
	for id, f := range map[string]func(*testing.T){
		"nats-04":  anOlderLogUnderNewerModels,
		"multi-07": aCopyOfALiveFolder,
		"bbolt-03": aSlowReaderBlocksNoWriter,
		"bbolt-05": func(t *testing.T) {
			mendsAll(t, "records.db: random pages, seed 1", "records.db: half of it", "records.db: zero pages")
		},
		"bbolt-10": aFailingStepIsTriedAgain,
		"own-07":   func(t *testing.T) { mendsAll(t, "records.db: 0 bytes") },
		"own-13":   func(t *testing.T) { mendsAll(t, damagesOf("search")...) },
		"grow-01":  aMegabyteIsKeptOnce,
		"grow-05":  oneNewEventIsOneStep,
	} {
		t.Run(id, f)
	}
}

// mendsAll does damages of testdata/readmodels.tsv and reads all there was.
func mendsAll(t *testing.T, names ...string) {
	whole := filledFolder(t)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			dir := damagedCopy(t, whole, damages()[name])
			n := open(t, dir)
			defer closed(t, n)
			if got := n.countPrompts(t); got != said {
				t.Errorf("%d prompts, want %d", got, said)
			}
			if got := n.countFound(t, "walrus"); got != said {
				t.Errorf("%d found, want %d", got, said)
			}
		})
	}
}

func damagesOf(model string) (names []string) {
	for name := range damages() {
		if strings.HasPrefix(name, model) && !strings.Contains(name, "held") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// An older copy of the store under read models that are ahead of it: whatever
// remembers how far the log came, no position is given twice and no new event is
// passed over.
func anOlderLogUnderNewerModels(t *testing.T) {
	for name, forget := range map[string]bool{"the head is known": false, "only the read models know": true} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t)
			n := open(t, dir)
			n.add(t, prompts("walrus-1", 10)...)
			closed(t, n)
			store := filepath.Join(dir.Log(), "jetstream")
			older := filepath.Join(t.TempDir(), "older")
			must(t, os.CopyFS(older, os.DirFS(store)))
			n = open(t, dir)
			n.add(t, prompts("walrus-2", 10)...)
			head := n.head()
			closed(t, n)
			must(t, os.RemoveAll(store), os.CopyFS(store, os.DirFS(older)), os.Remove(filepath.Join(dir.Log(), "clean")))
			if forget {
				must(t, os.Remove(dir.Head()))
			}
			n = open(t, dir)
			if _, err := n.stream.Append(t.Context(), prompts("walrus-3", 1)...); !errors.Is(err, streams.ErrHalted) {
				t.Errorf("the older log took something in: %v", err)
			}
			if s, err := n.Stats(t.Context()); err != nil || len(s.Notes) == 0 {
				t.Errorf("nothing is said of it: %v %v", s.Notes, err)
			}
			d, err := n.Doctor(t.Context(), false, func(api.Line) {})
			if err != nil {
				t.Fatal(err)
			}
			closed(t, n)
			out, err := Repair(t.Context(), dir, settings(), n.log, Plan(d.(api.Diagnosis).Findings, nil, false), true)
			if err != nil || len(out.Steps) == 0 || out.Steps[0].Failed != "" {
				t.Fatalf("%+v %v", out, err)
			}
			n = open(t, dir)
			defer closed(t, n)
			n.add(t, prompts("walrus-3", 10)...)
			if got := n.countFound(t, "walrus"); got < 20 {
				t.Errorf("%d found: new events were passed over", got)
			}
			if n.head() <= head {
				t.Errorf("the log ends at %d; it had come to %d", n.head(), head)
			}
		})
	}
}

// A folder that was copied while it was written to opens with what was in it, or
// says that it is not whole; nothing is invented.
func aCopyOfALiveFolder(t *testing.T) {
	dir := folder(t)
	n := open(t, dir)
	defer closed(t, n)
	n.add(t, prompts("walrus-0", 50)...)
	done := make(chan struct{})
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		defer close(done)
		for i := 1; ctx.Err() == nil; i++ {
			if _, err := n.ingester.Add(t.Context(), prompts(fmt.Sprint("walrus-", i), 20)...); err != nil {
				t.Error(err)
			}
			if err := n.settle(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}()
	for range 5 {
		c := folder(t)
		must(t, copyLive(string(c), string(dir)))
		opensWithTheFirst(t, c)
	}
	stop()
	<-done
}

// copyLive copies as rsync does: file after file, what vanishes is left out.
func copyLive(to, from string) error {
	return filepath.WalkDir(from, func(path string, e os.DirEntry, err error) error {
		name, err2 := filepath.Rel(from, path)
		if err != nil || err2 != nil {
			return nil
		}
		if e.IsDir() {
			return os.MkdirAll(filepath.Join(to, name), 0o700)
		}
		data, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) || !e.Type().IsRegular() {
			return nil
		}
		return errors.Join(err, os.WriteFile(filepath.Join(to, name), data, 0o600))
	})
}

func opensWithTheFirst(t *testing.T, dir home.Dir) {
	t.Helper()
	n, err := Open(t.Context(), dir, settings(), discard())
	if err != nil {
		t.Errorf("the copy: %v", err)
		return
	}
	defer closed(t, n)
	if got := n.countFound(t, "walrus"); got < 50 {
		t.Errorf("%d found in the copy", got)
	}
	if r, err := n.Verify(t.Context()); err != nil || !r.OK {
		t.Errorf("the copy's log: %+v %v", r, err)
	}
}

// stuckWriter is a caller who asked for much and reads nothing.
type stuckWriter struct {
	http.ResponseWriter
	begun, goOn chan struct{}
}

func (s *stuckWriter) Write(b []byte) (int, error) {
	select {
	case <-s.begun:
	default:
		close(s.begun)
	}
	<-s.goOn
	return len(b), nil
}

func aSlowReaderBlocksNoWriter(t *testing.T) {
	n := open(t, folder(t))
	defer closed(t, n)
	n.add(t, prompts("walrus-1", 50)...)
	h := n.Handler()
	for _, route := range []string{"/api/search?query=walrus&format=json&limit=1000", "/api/prompts?limit=100", "/api/log/export", "/api/stats"} {
		w := &stuckWriter{httptest.NewRecorder(), make(chan struct{}), make(chan struct{})}
		done := make(chan struct{})
		go func() {
			defer close(done)
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, route, nil))
		}()
		<-w.begun
		// Enough that bbolt has to map its file anew.
		n.add(t, big(route, 40)...)
		close(w.goOn)
		<-done
	}
}

// aFailingStepIsTriedAgain: an I/O error while a batch is applied leaves the
// checkpoint where it was, and the next attempt applies the batch.
func aFailingStepIsTriedAgain(t *testing.T) {
	n := open(t, folder(t))
	defer closed(t, n)
	n.add(t, prompts("walrus-1", 5)...)
	err := n.records.read(func(s *records.Store) error {
		before, err := s.Checkpoint()
		must(t, err)
		m := &failingOnce{Store: s}
		if _, err := n.ingester.Add(t.Context(), prompts("walrus-2", 5)...); err != nil {
			return err
		}
		p := projections.New(n.records.feed(), projections.Projection[projections.Entry](m), projections.Config{})
		if _, err := p.RunToEnd(t.Context()); !errors.Is(err, errDisk) {
			t.Errorf("first: %v", err)
		}
		if at, err := s.Checkpoint(); err != nil || at != before {
			t.Errorf("the checkpoint moved from %d to %d: %v", before.Position, at.Position, err)
		}
		_, err = p.RunToEnd(t.Context())
		return err
	})
	must(t, err)
	if got := n.countPrompts(t); got != 10 {
		t.Errorf("%d prompts", got)
	}
}

var errDisk = errors.New("input/output error")

type failingOnce struct {
	*records.Store
	failed bool
}

func (f *failingOnce) Apply(batch []projections.Entry, upto streams.Checkpoint) error {
	if !f.failed {
		f.failed = true
		return errDisk
	}
	return f.Store.Apply(batch, upto)
}

func oneNewEventIsOneStep(t *testing.T) {
	n := open(t, folder(t))
	defer closed(t, n)
	n.add(t, prompts("walrus-1", 500)...)
	if _, err := n.ingester.Add(t.Context(), prompts("walrus-2", 1)...); err != nil {
		t.Fatal(err)
	}
	err := n.records.read(func(s *records.Store) error {
		items, err := projections.New(n.records.feed(), projections.Projection[projections.Entry](s), projections.Config{}).RunToEnd(t.Context())
		if items > 2 {
			t.Errorf("%d records were applied for one new event", items)
		}
		return err
	})
	must(t, err)
}

// big are prompts of 64 KiB each.
func big(session string, n int) []envelope.Envelope {
	envs := prompts("walrus-"+session, n)
	text := strings.Repeat("a long story of walruses ", 64<<10/25)
	for i := range envs {
		envs[i].Body = fmt.Appendf(nil, `{"session_id":%q,"cwd":"/srv/demo","hook_event_name":"UserPromptSubmit","prompt_id":"big-%s-%d","prompt":"%d %s"}`, session, session, i, i, text)
	}
	return envs
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// aMegabyteIsKeptOnce: prompts of 1 MB of words that nothing repeats are whole in
// the log alone, read models keep what their caps let through, and status and
// doctor say how much that is.
func aMegabyteIsKeptOnce(t *testing.T) {
	const each = 1 << 20
	count := 40
	if raceEnabled || testing.Short() {
		count = 8
	}
	dir := folder(t)
	n := open(t, dir)
	var input int64
	r := rand.New(rand.NewPCG(5, 6))
	for i := range count {
		e := prompts(fmt.Sprint("grow-", i), 1)[0]
		e.Body = bytes.Replace(e.Body, []byte("number0"), randomWords(r, each), 1)
		input += int64(len(e.Body))
		n.add(t, e)
	}
	found := n.countFound(t, "walrus")
	s, err := n.Stats(t.Context())
	if err != nil || s.Database.Prompts != count || found != count {
		t.Errorf("%d prompts, %d found, want %d of each, %v", s.Database.Prompts, found, count, err)
	}
	out, err := n.Doctor(t.Context(), false, func(api.Line) {})
	must(t, err)
	d := out.(api.Diagnosis).Disk
	if d.Log < input/4 || d.Log != s.Disk.Log || d.Models == 0 || d.Free == 0 {
		t.Errorf("doctor says %+v, status %+v", d, s.Disk)
	}
	closed(t, n)
	if all := size(string(dir)); float64(all) > 1.5*float64(input) {
		t.Errorf("%d bytes are kept of %d", all, input)
	}
	// The read models have room to grow in; what they hold of a prompt is capped.
	if models := size(dir.Read()); models > input/2 {
		t.Errorf("read models take %d bytes of %d", models, input)
	}
}

// randomWords are at least n bytes of words of five to nine letters.
func randomWords(r *rand.Rand, n int) []byte {
	out := make([]byte, 0, n+16)
	for len(out) < n {
		for range 5 + r.IntN(5) {
			out = append(out, byte('a'+r.IntN(26)))
		}
		out = append(out, ' ')
	}
	return out
}
