package contextcache

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cmem/projections/projectiontest"
	"cmem/projections/records"
	"cmem/streams"
	"cmem/streams/event"
)

var _ Reader = (*records.Store)(nil)

// table is a Reader of values.
type table struct {
	projects     []records.Project
	observations []records.Observation
	summaries    []records.Summary
}

func (r *table) Projects() ([]records.Project, error) { return r.projects, nil }

func (r *table) Observations(f records.Filter) ([]records.Observation, error) {
	return page(f, r.observations, func(o records.Observation) bool {
		return slices.Contains(f.Projects, o.Project) && (f.Types == nil || slices.Contains(f.Types, o.Type))
	}), nil
}

func (r *table) Summaries(f records.Filter) ([]records.Summary, error) {
	return page(f, r.summaries, func(s records.Summary) bool { return slices.Contains(f.Projects, s.Project) }), nil
}

func page[T any](f records.Filter, all []T, match func(T) bool) []T {
	var out []T
	for _, v := range all {
		if match(v) {
			out = append(out, v)
		}
	}
	slices.Reverse(out) // newest first
	out = out[min(f.Offset, len(out)):]
	return out[:min(f.Limit, len(out))]
}

// three are two projects and a worktree of the first.
func three() *table {
	r := &table{projects: []records.Project{{Key: "a", Name: "a", Observations: 60}, {Key: "b", Name: "b", Observations: 60}, {Key: "a#x", Name: "a/x", Parent: "a"}}}
	for i := range 120 {
		key := []string{"a", "b"}[i%2]
		r.observations = append(r.observations, records.Observation{
			ID: int64(i + 1), Project: key, Time: at("2026-01-01T00:00:00Z").Add(time.Duration(i) * time.Hour),
			Observation: event.Observation{Type: []string{"change", "change", "decision"}[i%3], Title: fmt.Sprintf("canary-%s-%d", key, i)},
		})
		r.summaries = append(r.summaries, records.Summary{
			ID: int64(1000 + i), Project: key, Host: "codex", Session: fmt.Sprintf("%s-%d", key, i/40), Time: at("2026-01-01T00:00:00Z").Add(time.Duration(i) * time.Hour),
			Summary: event.Summary{Request: fmt.Sprintf("request-%s-%d", key, i)},
		})
	}
	return r
}

func (r *table) changes() []records.Change {
	var all []records.Change
	for i, o := range r.observations {
		all = append(all, records.Change{Doc: records.Doc{Kind: records.ObservationDoc, ID: o.ID}, Position: streams.Position(i + 1), Project: o.Project})
	}
	return all
}

// noOtherProject: a project's context has nothing of another, except a
// worktree's of its repository.
func noOtherProject(t *testing.T) {
	r := three()
	for key, others := range map[string][]string{"a": {"-b-"}, "b": {"-a-"}, "a#x": {"-b-"}} {
		v, err := Collect(r, []string{key}, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		text := Render(v, Options{})
		for _, o := range others {
			if strings.Contains(text, o) {
				t.Errorf("%s shows something of %s", key, o)
			}
		}
		if own := "canary-" + key[:1] + "-"; !strings.Contains(text, own) {
			t.Errorf("%s shows nothing of its own:\n%s", key, text)
		}
	}
}

func TestCollect(t *testing.T) {
	r := three()
	v, err := Collect(r, []string{"a"}, Limits{Observations: 5, Sessions: 2, Decisions: 3})
	if err != nil {
		t.Fatal(err)
	}
	if len(v.Observations) != 5 || v.Observations[0].ID != 119 || v.More != 55 {
		t.Errorf("%d observations from %d, %d more", len(v.Observations), v.Observations[0].ID, v.More)
	}
	if len(v.Decisions) != 3 || v.Decisions[0].Type != "decision" {
		t.Errorf("decisions %v", v.Decisions)
	}
	// Twenty summaries of a session stand between two sessions.
	if len(v.Summaries) != 2 || v.Summaries[0].ID != 1118 || v.Summaries[1].ID != 1078 {
		t.Errorf("summaries %v", v.Summaries)
	}
	if v, err = Collect(r, []string{"nobody"}, Limits{}); err != nil || Render(v, Options{}) != "" {
		t.Errorf("an unknown project has a context: %v", err)
	}
	if v, err = Collect(r, []string{"a", "b"}, Limits{}); err != nil || len(v.Related) != 1 || !strings.Contains(Render(v, Options{}), "canary-b-119 (b)") {
		t.Errorf("two projects: %v\n%s", err, Render(v, Options{}))
	}
}

// home opens a cache that writes below dir.
func home(t *testing.T, dir string, r Reader, now func() time.Time) *Cache {
	t.Helper()
	x, err := Open(filepath.Join(dir, "context.json"), conf(dir, r, now))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func conf(dir string, r Reader, now func() time.Time) Config {
	return Config{
		Reader: r, Now: now, Version: "1", Hosts: []Host{{Name: "claude-code"}, {Name: "codex", MaxBytes: 1500}},
		Path: func(project, host string) string {
			return filepath.Join(dir, "texts", fmt.Sprintf("%x-%s.md", sha256.Sum256([]byte(project)), host))
		},
	}
}

func (x *Cache) text(t *testing.T, project, host string) string {
	t.Helper()
	b, err := os.ReadFile(x.conf.Path(project, host))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(b)
}

func TestFlushWritesMarkedProjects(t *testing.T) {
	r, dir := three(), t.TempDir()
	x := home(t, dir, r, nil)
	if err := x.Apply(r.changes()[:1], streams.Checkpoint{Log: "l", Position: 1}); err != nil {
		t.Fatal(err)
	}
	if !x.Dirty() || x.text(t, "a", "codex") != "" {
		t.Error("Apply writes no texts, it marks")
	}
	// The marks outlive the process.
	x = home(t, dir, r, nil)
	if at, err := x.Checkpoint(); err != nil || at.Position != 1 || !x.Dirty() {
		t.Fatalf("checkpoint %v, dirty %v, %v", at, x.Dirty(), err)
	}
	if err := x.Flush(); err != nil || x.Dirty() {
		t.Fatalf("dirty %v, %v", x.Dirty(), err)
	}
	if n := len(x.text(t, "a", "codex")); n == 0 || n > 1500 {
		t.Errorf("%d bytes for codex", n)
	}
	fit(t, x.text(t, "a", "claude-code"), DefaultMaxBytes)
	if x.text(t, "a#x", "codex") == "" {
		t.Error("the worktree of a changed repository is not written")
	}
	if x.text(t, "b", "codex") != "" {
		t.Error("a project without changes is written")
	}
	// A project that lost everything loses its text; the one it moved from too.
	r.observations, r.summaries = nil, nil
	gone := records.Change{Doc: records.Doc{Kind: records.ObservationDoc, ID: 1}, Position: 2, Project: "b", From: "a", Deleted: true}
	if err := errors.Join(x.Apply([]records.Change{gone}, streams.Checkpoint{Log: "l", Position: 2}), x.Flush()); err != nil {
		t.Fatal(err)
	}
	if x.text(t, "a", "codex") != "" {
		t.Error("a text stays after its project is empty")
	}
}

func TestFreshness(t *testing.T) {
	r, dir := three(), t.TempDir()
	now := at("2026-02-01T00:00:00Z")
	x := home(t, dir, r, func() time.Time { return now })
	flush := func() time.Time {
		t.Helper()
		if err := errors.Join(x.Apply(r.changes()[:1], streams.Checkpoint{Log: "l", Position: 1}), x.Flush()); err != nil {
			t.Fatal(err)
		}
		return mtime(t, x.conf.Path("a", "codex"))
	}
	flush()
	path := x.conf.Path("a", "codex")
	age := func(d time.Duration) time.Time {
		t.Helper()
		old := now.Add(-d)
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
		return old
	}
	if old := age(time.Hour); !flush().Equal(old) {
		t.Error("an unchanged young text was written again")
	}
	if old := age(13 * time.Hour); flush().Equal(old) {
		t.Error("an unchanged old text was not written again")
	}
	old := age(time.Hour)
	r.observations[118].Title = "canary-a-changed"
	if flush().Equal(old) || !strings.Contains(x.text(t, "a", "codex"), "changed") {
		t.Error("a changed text was not written")
	}
	old = age(13 * time.Hour)
	if err := x.Renew(); err != nil || mtime(t, path).Equal(old) || x.text(t, "b", "codex") == "" {
		t.Errorf("Renew left an old or missing text: %v", err)
	}
}

func mtime(t *testing.T, path string) time.Time {
	t.Helper()
	i, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return i.ModTime()
}

func TestOpenRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want error
	}{
		"damaged":   {"{", ErrDamaged},
		"zero":      {"", ErrDamaged},
		"version":   {fmt.Sprintf(`{"format":%d,"version":"2"}`, format), ErrVersion},
		"format":    {`{"format":999,"version":"1"}`, ErrVersion},
		"other log": {fmt.Sprintf(`{"format":%d,"version":"1","checkpoint":{"Log":"other","Position":1}}`, format), ErrOtherLog},
	} {
		path := filepath.Join(t.TempDir(), "context.json")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path, Config{Version: "1", Log: "mine"}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// feed gives a fixed list of changes.
type feed []records.Change

func (f feed) Next(_ context.Context, c streams.Checkpoint, limit int) ([]records.Change, streams.Checkpoint, error) {
	part := f[c.Position:]
	part = part[:min(len(part), limit)]
	if len(part) == 0 {
		return nil, c, nil
	}
	return part, streams.Checkpoint{Log: "l", Position: part[len(part)-1].Position}, nil
}

func (f feed) Wait(context.Context, streams.Checkpoint) error { return nil }

func TestContract(t *testing.T) {
	r := three()
	projectiontest.Run(t, projectiontest.Case[records.Change, *Cache]{
		Open: func(path string) (*Cache, error) { return Open(path, conf(filepath.Dir(path), r, nil)) },
		Feed: feed(r.changes()[:24]),
		// A reader sees the texts, after what is marked was written.
		Digest: func(x *Cache) (string, error) {
			err := x.Flush()
			var all []string
			for _, p := range r.projects {
				for _, h := range x.conf.Hosts {
					all = append(all, x.text(t, p.Key, h.Name))
				}
			}
			return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(all, "\x00")))), err
		},
		Poison: func(b []records.Change) []records.Change {
			return append(b, records.Change{Doc: records.Doc{Kind: "none"}, Position: 99})
		},
		Step: 9,
	})
}
