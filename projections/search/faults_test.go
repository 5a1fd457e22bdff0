package search

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cmem/projections/records"
	"cmem/streams"
)

// inputs reads a JSON-lines file of testdata/faults/inputs.
func inputs[T any](t *testing.T, name string) []T {
	t.Helper()
	f, err := os.Open(filepath.Join("../../testdata/faults/inputs", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []T
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var v T
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all = append(all, v)
	}
	return all
}

type asked struct {
	Q        string  `json:"q"`
	MustHave *string `json:"must_have"`
}

// corpus is search-corpus.jsonl; names gives the line's id of a document.
type corpus struct {
	*Index
	source memory
	names  map[records.Doc]string
}

func openCorpus(t *testing.T) corpus {
	t.Helper()
	type line struct{ ID, Text string }
	c := corpus{source: memory{}, names: map[records.Doc]string{}}
	for i, l := range inputs[line](t, "search-corpus.jsonl") {
		d := records.Doc{Kind: records.TextDoc, ID: int64(i+1) * 1024}
		c.names[d] = l.ID
		c.source[d] = records.Document{Doc: d, Position: streams.Position(i + 1), Time: time.Unix(int64(i), 0), Project: "p", Host: "codex", Text: l.Text}
	}
	c.Index = open(t, t.TempDir(), Config{Source: c.source})
	fill(t, c.Index, c.source, 7)
	return c
}

func open(t testing.TB, dir string, conf Config) *Index {
	t.Helper()
	x, err := Open(dir, conf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return x
}

// find gives the names of the hits, best first.
func (c corpus) find(t *testing.T, text string) ([]string, Result) {
	t.Helper()
	res, err := c.Query(t.Context(), Query{Text: text, Snippets: true})
	if err != nil && !errors.Is(err, ErrNoText) {
		t.Fatalf("query %q: %v", text, err)
	}
	var names []string
	for _, h := range res.Hits {
		names = append(names, c.names[h.Doc])
	}
	return names, res
}

func (c corpus) first(t *testing.T, text, want string) {
	t.Helper()
	if got, res := c.find(t, text); len(got) == 0 || got[0] != want {
		t.Errorf("query %q (%s): %v, want %s first", text, res.Interpreted, got, want)
	}
}

// engineWords would tell the reader of a search engine instead of their query.
var engineWords = []string{"bleve", "scorch", "parse", "syntax", "field", "regex", "token", "error"}

func (c corpus) plain(t *testing.T, res Result) {
	t.Helper()
	for _, w := range engineWords {
		if strings.Contains(res.Interpreted, w) {
			t.Errorf("interpreted as %q: speaks of %q", res.Interpreted, w)
		}
	}
	if res.Interpreted == "" {
		t.Error("the result does not say how the query was read")
	}
}

func TestFaults(t *testing.T) {
	c := openCorpus(t)
	for _, id := range []string{"search-01", "search-02", "search-04", "search-06", "search-08"} {
		t.Run(id, func(t *testing.T) {
			for _, q := range inputs[asked](t, id+".queries.jsonl") {
				_, res := c.find(t, q.Q)
				c.plain(t, res)
				if q.MustHave != nil {
					c.first(t, q.Q, *q.MustHave)
				}
			}
		})
	}
	t.Run("search-04", func(t *testing.T) {
		c.first(t, "-38.101", "dot") // as documented: a leading minus does not exclude
		if _, res := c.find(t, "-38.101"); !strings.Contains(res.Interpreted, "minus does not exclude") {
			t.Errorf("interpreted as %q", res.Interpreted)
		}
	})
	t.Run("search-06", func(t *testing.T) {
		for q, want := range map[string]string{
			"张益唐": "zh1", `"张益唐"`: "zh1", "令牌怎么": "zh4", "こんにちは": "jp", "世界": "jp", "は": "jp", "界": "jp",
			"데이터베이스": "ko", `"데이터베이스 연결"`: "ko", "연결": "ko",
		} {
			if got, _ := c.find(t, q); len(got) != 1 || got[0] != want {
				t.Errorf("query %q: %v, want only %s", q, got, want)
			}
		}
		c.first(t, "张益唐张", "zh1") // not there as a whole: most of its pairs first
	})
	t.Run("search-08", func(t *testing.T) {
		for q, said := range map[string]string{
			`"never agents`: "not closed", "AND OR": "no operators", "title: agents": "no operators", "(((": "no words", "foo~9": "no operators",
		} {
			if _, res := c.find(t, q); !strings.Contains(res.Interpreted, said) {
				t.Errorf("query %q was interpreted as %q, which does not say %q", q, res.Interpreted, said)
			}
		}
		c.first(t, "title: agents", "apos")
		c.first(t, "http://example.com/x", "url")
	})
	t.Run("own-11", func(t *testing.T) {
		for _, q := range inputs[asked](t, "own-11.queries.jsonl") {
			_, res := c.find(t, q.Q)
			c.plain(t, res)
			if q.MustHave != nil {
				c.first(t, q.Q, *q.MustHave)
			}
		}
	})
	t.Run("bleve-06", changesLeaveNothingBehind)
	t.Run("search-10", c.orphans)
	t.Run("bleve-08", func(t *testing.T) {
		for _, q := range inputs[asked](t, "bleve-08.queries.jsonl") {
			if q.MustHave != nil {
				c.first(t, q.Q, *q.MustHave)
			}
		}
	})
	t.Run("bleve-12", func(t *testing.T) { c.first(t, "は", "jp") })
	t.Run("proj-06", filtersChangeTheResult)
	t.Run("bleve-01", damage)
	t.Run("bleve-11", func(t *testing.T) {
		dir := t.TempDir()
		if err := open(t, dir, Config{Version: "1"}).Close(); err != nil {
			t.Fatal(err)
		}
		for _, format := range []int{Format - 1, Format + 1} {
			b, _ := json.Marshal(mark{Format: format, Version: "1", Store: "store-x"})
			if err := os.WriteFile(filepath.Join(dir, markName), b, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(dir, Config{Version: "1"}); !errors.Is(err, ErrVersion) {
				t.Errorf("format %d: %v, want ErrVersion", format, err)
			}
		}
	})
}

// orphans: documents that went away while the index was down are gone after it
// caught up, and the ids can be compared with the source's.
func (c corpus) orphans(t *testing.T) {
	dir := t.TempDir()
	source := memory{}
	for d, doc := range c.source {
		source[d] = doc
	}
	x := open(t, dir, Config{Source: source})
	fill(t, x, source, 5)
	gone := c.source.changes()[3:6]
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	for i := range gone {
		delete(source, gone[i].Doc)
		gone[i].Position, gone[i].Deleted = streams.Position(100+i), true
	}
	// Applied one at a time, with a restart after each.
	for _, ch := range gone {
		x = open(t, dir, Config{Source: source})
		if err := x.Apply([]records.Change{ch}, streams.Checkpoint{Log: "test", Position: ch.Position}); err != nil {
			t.Fatal(err)
		}
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
	}
	x = open(t, dir, Config{Source: source})
	if got, want := ids(t, x), source.ids(); !slices.Equal(got, want) {
		t.Errorf("the index has %v, the source %v", got, want)
	}
}

func ids(t *testing.T, x *Index) []int64 {
	t.Helper()
	all := []int64{}
	for d, err := range x.IDs() {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, d.ID)
	}
	slices.Sort(all)
	return all
}

func (m memory) ids() []int64 {
	all := []int64{}
	for d := range m {
		all = append(all, d.ID)
	}
	slices.Sort(all)
	return all
}

// changesLeaveNothingBehind: an index of documents that changed, went and came back
// a hundred times is not much larger than one that was built from nothing.
func changesLeaveNothingBehind(t *testing.T) {
	c := openCorpus(t)
	all := memory{}
	for d, doc := range c.source {
		for i := range int64(20) {
			d.ID += 10_000
			doc.Text += fmt.Sprint(" copy ", i)
			all[d] = doc
		}
	}
	fresh, worn := t.TempDir(), t.TempDir()
	x := open(t, fresh, Config{Source: all})
	fill(t, x, all, 100)
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	source := memory{}
	x = open(t, worn, Config{Source: source})
	at := streams.Position(0)
	for round := range 100 {
		var changes []records.Change
		for d, doc := range all {
			at++
			if round%2 == 0 {
				source[d] = doc
			} else {
				delete(source, d)
			}
			changes = append(changes, records.Change{Doc: d, Position: at, Deleted: round%2 == 1})
		}
		if err := x.Apply(changes, streams.Checkpoint{Log: "test", Position: at}); err != nil {
			t.Fatal(err)
		}
	}
	for d, doc := range all {
		source[d] = doc
	}
	at++
	if err := x.Apply(all.changes(), streams.Checkpoint{Log: "test", Position: at}); err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if a, b := size(t, fresh), size(t, worn); b > 3*a {
		t.Errorf("%d bytes after all the changes, %d from nothing", b, a)
	}
}
