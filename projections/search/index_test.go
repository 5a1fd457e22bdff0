package search

import (
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cmem/projections"
	"cmem/projections/projectiontest"
	"cmem/projections/records"
	"cmem/streams"

	"context"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// feed gives a fixed list of changes.
type feed []records.Change

func (f feed) Next(_ context.Context, c streams.Checkpoint, limit int) ([]records.Change, streams.Checkpoint, error) {
	i, _ := slices.BinarySearchFunc(f, c.Position, func(ch records.Change, p streams.Position) int {
		if ch.Position <= p {
			return -1
		}
		return 1
	})
	part := f[i:min(len(f), i+limit)]
	if len(part) == 0 {
		return nil, c, nil
	}
	return part, streams.Checkpoint{Log: "test", Position: part[len(part)-1].Position}, nil
}

func (f feed) Wait(context.Context, streams.Checkpoint) error { return nil }

// broken is a document that its source cannot read.
var broken = records.Doc{Kind: records.TextDoc, ID: -1}

type brokenSource struct{ memory }

func (s brokenSource) Document(d records.Doc) (records.Document, bool, error) {
	if d == broken {
		return records.Document{}, false, errors.New("unreadable")
	}
	return s.memory.Document(d)
}

func TestContract(t *testing.T) {
	m := goCorpus(t, 60)
	all := m.changes()
	// Some are changed twice, some are gone again.
	rnd := rand.New(rand.NewPCG(1, 2))
	for i, d := range slices.Collect(maps.Keys(m))[:20] {
		ch := records.Change{Doc: d, Position: streams.Position(1000 + i)}
		if rnd.IntN(2) == 0 {
			ch.Deleted = true
			delete(m, d)
		}
		all = append(all, ch)
	}
	projectiontest.Run(t, projectiontest.Case[records.Change, *Index]{
		Open: func(path string) (*Index, error) {
			return Open(path, Config{Source: brokenSource{m}, Version: "1", Log: "test"})
		},
		Feed:   feed(all),
		Digest: (*Index).Digest,
		Poison: func(b []records.Change) []records.Change {
			return append(b, records.Change{Doc: broken, Position: 9999})
		},
		Step: 9,
	})
}

func TestRebuildBesideAnOpenIndex(t *testing.T) {
	m := goCorpus(t, 200)
	path := filepath.Join(t.TempDir(), "search")
	conf := Config{Source: m}
	old := open(t, path, conf)
	fill(t, old, m, 10)
	want, err := old.Digest()
	if err != nil {
		t.Fatal(err)
	}
	x, err := projections.Rebuild(t.Context(), path, func(p string) (*Index, error) { return Open(p, conf) }, feed(m.changes()), projections.Config{Batch: 50})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for _, i := range []*Index{old, x} {
		if got, err := i.Digest(); got != want || err != nil {
			t.Errorf("digest %s (%v), want %s", got, err, want)
		}
		if res, err := i.Query(t.Context(), Query{Text: "the"}); err != nil || res.Total == 0 {
			t.Errorf("%d hits, %v", res.Total, err)
		}
	}
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	// The old one's end left the new one's files alone.
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := open(t, path, conf).Digest(); got != want || err != nil {
		t.Errorf("after reopening: digest %s (%v), want %s", got, err, want)
	}
}

func TestOpenRefuses(t *testing.T) {
	filled := func(t *testing.T) string {
		m := goCorpus(t, 20)
		dir := filepath.Join(t.TempDir(), "search")
		x := open(t, dir, Config{Source: m, Version: "1"})
		fill(t, x, m, 10)
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	for name, c := range map[string]struct {
		prepare func(t *testing.T, dir string)
		conf    Config
		want    error
	}{
		"another version": {nil, Config{Version: "2"}, ErrVersion},
		"another log":     {nil, Config{Version: "1", Log: "other"}, ErrOtherLog},
		"a foreign folder": {func(t *testing.T, dir string) {
			remove(t, filepath.Join(dir, markName))
			write(t, filepath.Join(dir, "letter.txt"), "dear all")
		}, Config{Version: "1"}, ErrForeign},
		"a file": {func(t *testing.T, dir string) {
			remove(t, dir)
			write(t, dir, "x")
		}, Config{Version: "1"}, ErrForeign},
		"an unreadable mark": {func(t *testing.T, dir string) { write(t, filepath.Join(dir, markName), "{") }, Config{Version: "1"}, ErrDamaged},
		"a mark that leads elsewhere": {func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, markName), `{"format":1,"version":"1","store":"../x"}`)
		}, Config{Version: "1"}, ErrDamaged},
		"no store": {func(t *testing.T, dir string) { remove(t, storeOf(t, dir)) }, Config{Version: "1"}, ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filled(t)
			if c.prepare != nil {
				c.prepare(t, dir)
			}
			before := listing(t, dir)
			if _, err := Open(dir, c.conf); !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
			if after := listing(t, dir); after != before {
				t.Errorf("the folder was\n%s\nand is\n%s", before, after)
			}
		})
	}
}

func TestOpenWaitsForNobody(t *testing.T) {
	m := goCorpus(t, 5)
	dir := t.TempDir()
	x := open(t, dir, Config{Source: m})
	fill(t, x, m, 5)
	before := listing(t, dir)
	if _, err := Open(dir, Config{Source: m}); !errors.Is(err, ErrLocked) {
		t.Errorf("error %v, want ErrLocked", err)
	}
	if after := listing(t, dir); after != before {
		t.Errorf("the folder was\n%s\nand is\n%s", before, after)
	}
	if n, err := x.Documents(); n != 5 || err != nil {
		t.Errorf("%d documents, %v", n, err)
	}
}

// damage: what a torn root.bolt leaves is refused as such or opened with the
// documents of its checkpoint; never a crash, never silently empty.
func damage(t *testing.T) {
	m := goCorpus(t, 50)
	whole := filepath.Join(t.TempDir(), "search")
	x := open(t, whole, Config{Source: m})
	fill(t, x, m, 10)
	want, err := x.Digest()
	if err = errors.Join(err, x.Close()); err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(3, 4))
	noise := make([]byte, 8192)
	for i := range noise {
		noise[i] = byte(rnd.Uint32())
	}
	for name, harm := range map[string]func(t *testing.T, store string){
		"empty":        func(t *testing.T, s string) { truncate(t, filepath.Join(s, "root.bolt"), 0) },
		"one page":     func(t *testing.T, s string) { truncate(t, filepath.Join(s, "root.bolt"), 4096) },
		"random bytes": func(t *testing.T, s string) { write(t, filepath.Join(s, "root.bolt"), string(noise)) },
		"gone":         func(t *testing.T, s string) { remove(t, filepath.Join(s, "root.bolt")) },
		"segments cut": func(t *testing.T, s string) {
			all, _ := filepath.Glob(filepath.Join(s, "*.zap"))
			for _, f := range all {
				truncate(t, f, 100)
			}
		},
		"segments gone": func(t *testing.T, s string) {
			all, _ := filepath.Glob(filepath.Join(s, "*.zap"))
			for _, f := range all {
				remove(t, f)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "search")
			if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
				t.Fatal(err)
			}
			harm(t, storeOf(t, dir))
			x, err := Open(dir, Config{Source: m, Log: "test"})
			if errors.Is(err, ErrDamaged) {
				return
			}
			if err != nil {
				t.Fatalf("error %v, want ErrDamaged", err)
			}
			defer x.Close()
			// An older snapshot was still there: it is behind and catches up.
			if _, err := projections.New(feed(m.changes()), projections.Projection[records.Change](x), projections.Config{}).RunToEnd(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got, err := x.Digest(); got != want || err != nil {
				t.Errorf("digest %s (%v) after catching up, want %s", got, err, want)
			}
		})
	}
}

func TestDocumentsWithMuchTextGoInParts(t *testing.T) {
	m := memory{}
	for i := range 5 {
		d := records.Doc{Kind: records.PromptDoc, ID: int64(i)}
		m[d] = records.Document{Doc: d, Position: streams.Position(i + 1), Text: strings.Repeat("lorem ipsum ", maxBatchBytes/24)}
	}
	x := open(t, t.TempDir(), Config{Source: m})
	fill(t, x, m, 100)
	if c, err := x.Checkpoint(); err != nil || c.Position != 5 {
		t.Errorf("checkpoint %v, %v", c, err)
	}
	if res, err := x.Query(t.Context(), Query{Text: "ipsum"}); err != nil || res.Total != 5 {
		t.Errorf("%d hits, %v", res.Total, err)
	}
}

func TestClosed(t *testing.T) {
	x := open(t, t.TempDir(), Config{Source: memory{}})
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Query(t.Context(), Query{Text: "x"}); !errors.Is(err, ErrClosed) {
		t.Errorf("query: %v", err)
	}
	if err := x.Apply(nil, streams.Checkpoint{}); !errors.Is(err, ErrClosed) {
		t.Errorf("apply: %v", err)
	}
	if err := x.Reset(); !errors.Is(err, ErrClosed) {
		t.Errorf("reset: %v", err)
	}
	if err := x.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

func truncate(t *testing.T, path string, n int64) {
	t.Helper()
	if err := os.Truncate(path, n); err != nil {
		t.Fatal(err)
	}
}

func storeOf(t *testing.T, dir string) string {
	t.Helper()
	all, _ := filepath.Glob(filepath.Join(dir, storePrefix+"*"))
	if len(all) != 1 {
		t.Fatalf("stores %v, want one", all)
	}
	return all[0]
}

// listing names every file with its size.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if filepath.Base(path) != lockName { // names its holder
			b.WriteString(path + " " + string(text[:min(len(text), 20)]) + "\n")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
