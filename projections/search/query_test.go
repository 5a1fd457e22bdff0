package search

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"cmem/projections/records"
	"cmem/streams"
)

func TestQuery(t *testing.T) {
	c := openCorpus(t)
	for _, q := range []struct{ text, want string }{
		{"getUserById", "camel snake"}, // the name as typed, then its parts in a row
		{"get_user_by_id", "snake camel"},
		{"user by", "camel snake"},
		{"login.go", "path"},
		{"src/auth/login.go", "path"},
		{`auth\login.go`, "path"},
		{"POL-358", "tick"},
		{"555c3bb06f7a", "hex"},
		{"555c3b", "hex"}, // the beginning of a word that no document has
		{"2fa", "tfa"},
		{"tc装订", "mix"},
		{"🚀", "emoji"},
		{"--error-on-warnings", "flag"},
		{"error warnings", "flag"},
		{"index out of range [5] with length 3", "err"},
		{`"never again"`, "quote"},
		{`"again never"`, "quote"}, // no such phrase: its words
		{"DON'T", "apos"},
		{"dont", "apos"},
		{"agnets", "apos"}, // two letters swapped
		{"deplyo done", "emoji"},
		{"agents zzzzqq here", "apos"},  // what nothing has is left out
		{"agents here deploy", "apos"},  // most of them
		{"agents deploy", "apos emoji"}, // any of them
		{"zzzzqq", ""},
		{"/api", "404"},
	} {
		got, res := c.find(t, q.text)
		slices.Sort(got)
		want := strings.Fields(q.want)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("query %q (%s): %v, want %v", q.text, res.Interpreted, got, want)
		}
		if res.Total != len(got) {
			t.Errorf("query %q: total %d of %d", q.text, res.Total, len(got))
		}
	}
	c.first(t, "getUserById", "camel")
	c.first(t, "get_user_by_id", "snake")
}

func TestInterpreted(t *testing.T) {
	c := openCorpus(t)
	for text, want := range map[string]string{
		"agents":            "agents",
		"agents here":       "all of: agents, here",
		"agents deploy":     "any of: agents, deploy; nothing has more of them",
		"agnets here":       "all of: agnets, here; nothing has agnets, it was read as agents",
		"agent":             "agent; nothing has agent, it was read as a beginning",
		"zzzzqq":            "zzzzqq; nothing has zzzzqq",
		"agents here qqqqz": "all of: agents, here; nothing has qqqqz",
		"agents here log4j": "at least 2 of: agents, here, log4j; nothing has all of them",
		"zzzzqq qqqqz":      "all of: zzzzqq, qqqqz; nothing has zzzzqq; nothing has qqqqz",
		`"again never"`:     "all of: again, never; nothing has the phrase, its words were looked for",
		"  ":                "no words to look for",
	} {
		if _, res := c.find(t, text); res.Interpreted != want {
			t.Errorf("query %q was interpreted as %q, want %q", text, res.Interpreted, want)
		}
	}
}

func TestSnippet(t *testing.T) {
	c := openCorpus(t)
	_, res := c.find(t, "don’t use")
	if h := res.Hits[0]; h.Snippet != "don't use agents here" || !slices.Equal(h.Terms, []string{"don't", "use"}) {
		t.Errorf("snippet %q with %q", h.Snippet, h.Terms)
	}
	long := records.Document{Text: strings.Repeat("före 测试 word\x00 \x1b[31m", 300) + "needle in\nit " + strings.Repeat("nach é ", 300)}
	line, terms := snippet(long, map[string]bool{"needle": true})
	if !strings.Contains(line, "needle in it") || !utf8.ValidString(line) || len(line) > 2*snippetBytes || strings.ContainsAny(line, "\x00\x1b\n") {
		t.Errorf("snippet %q", line)
	}
	if !slices.Equal(terms, []string{"needle"}) {
		t.Errorf("terms %q", terms)
	}
}

// filtersChangeTheResult: each filter, alone, takes out what it should.
func filtersChangeTheResult(t *testing.T) {
	at := func(i int) time.Time { return time.Date(2026, 1, 24, 20+i, 0, 0, 500_000, time.UTC) }
	m := memory{}
	for i, d := range []records.Document{
		{Doc: records.Doc{Kind: records.ObservationDoc, ID: 1}, Project: "git@x:a", Host: "codex", Session: "s1", Type: "bugfix", Concepts: []string{"gotcha"}, Files: []string{"/srv/demo/src/auth/login.go"}},
		{Doc: records.Doc{Kind: records.PromptDoc, ID: 2}, Project: "git@x:b", Host: "claude-code", Session: "s2"},
		{Doc: records.Doc{Kind: records.SummaryDoc, ID: 3}, Project: "git@x:b", Host: "codex", Session: "s3", Files: []string{`src\auth\deep\token.go`}},
	} {
		d.Position, d.Time, d.Text = streams.Position(i+1), at(i), "needle"
		m[d.Doc] = d
	}
	x := open(t, t.TempDir(), Config{Source: m})
	fill(t, x, m, 10)
	for name, c := range map[string]struct {
		q    Query
		want []int64
	}{
		"none":            {Query{}, []int64{3, 2, 1}},
		"kind":            {Query{Kinds: []records.DocKind{records.PromptDoc, records.SummaryDoc}}, []int64{3, 2}},
		"unknown kind":    {Query{Kinds: []records.DocKind{"nothing has agent, it was read as a beginning"}}, nil},
		"project":         {Query{Projects: []string{"git@x:b"}}, []int64{3, 2}},
		"part of project": {Query{Projects: []string{"b"}}, nil},
		"host":            {Query{Hosts: []string{"codex"}}, []int64{3, 1}},
		"session":         {Query{Sessions: []string{"s2"}}, []int64{2}},
		"type":            {Query{Types: []string{"Bugfix", "feature"}}, []int64{1}},
		"concept":         {Query{Concepts: []string{"gotcha"}}, []int64{1}},
		"file":            {Query{Files: []string{"auth/login.go"}}, []int64{1}},
		"whole path":      {Query{Files: []string{"/srv/demo/src/auth/login.go"}}, []int64{1}},
		"half a segment":  {Query{Files: []string{"ogin.go"}}, nil},
		"windows path":    {Query{Files: []string{"deep/token.go"}}, []int64{3}},
		"folder":          {Query{Files: []string{"src/auth"}, Folder: true}, []int64{1}},
		"folder below":    {Query{Files: []string{"src/auth/deep/"}, Folder: true}, []int64{3}},
		"from":            {Query{From: at(1)}, []int64{3, 2}},
		"to":              {Query{To: at(1)}, []int64{1}},
		"to includes":     {Query{To: at(1).Add(time.Millisecond)}, []int64{2, 1}},
		"both":            {Query{From: at(1), To: at(2)}, []int64{2}},
		"oldest first":    {Query{Sort: DateAsc}, []int64{1, 2, 3}},
		"newest first":    {Query{Sort: DateDesc, Limit: 2}, []int64{3, 2}},
		"second page":     {Query{Sort: DateDesc, Offset: 2, Limit: 2}, []int64{1}},
		"past the end":    {Query{Offset: 9}, nil},
		"two at once":     {Query{Projects: []string{"git@x:b"}, Hosts: []string{"codex"}}, []int64{3}},
	} {
		t.Run(name, func(t *testing.T) {
			c.q.Text = "needle"
			if c.q.Sort == Relevance {
				c.q.Sort = DateDesc
			}
			res, err := x.Query(t.Context(), c.q)
			if err != nil {
				t.Fatal(err)
			}
			var got []int64
			for _, h := range res.Hits {
				got = append(got, h.ID)
				if want := m[h.Doc].Time.Truncate(time.Millisecond); !h.Time.Equal(want) || h.Position != m[h.Doc].Position {
					t.Errorf("hit %d has %v at %d, want %v", h.ID, h.Time, h.Position, want)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestWhatHasNoTimeIsInNoRangeOfTimes(t *testing.T) {
	m := memory{}
	for i, at := range []time.Time{{}, time.Date(2026, 1, 24, 20, 0, 0, 0, time.UTC)} {
		d := records.Document{Doc: records.Doc{Kind: records.PromptDoc, ID: int64(i)}, Text: "needle", Time: at}
		d.Position = streams.Position(i + 1)
		m[d.Doc] = d
	}
	x := open(t, t.TempDir(), Config{Source: m})
	fill(t, x, m, 10)
	for name, c := range map[string]struct {
		q    Query
		want int
	}{
		"no range": {Query{}, 2}, "until now": {Query{To: time.Now()}, 1}, "since 1969": {Query{From: time.Unix(-1000, 0)}, 1},
		"1970": {Query{From: time.Unix(0, 0), To: time.Unix(86400, 0)}, 0},
	} {
		c.q.Text = "needle"
		res, err := x.Query(t.Context(), c.q)
		if err != nil || res.Total != c.want || len(res.Hits) != c.want {
			t.Errorf("%s: %+v, %v; want %d", name, res.Hits, err, c.want)
		}
		for _, h := range res.Hits {
			if !h.Time.Equal(m[h.Doc].Time) {
				t.Errorf("%s: %v has the time %v", name, h.Doc, h.Time)
			}
		}
	}
}

// A word weighs more in the title than in the facts, the text and the paths.
func TestPlacesWeigh(t *testing.T) {
	m := memory{}
	for i, d := range []records.Document{
		{Files: []string{"needle"}}, {Text: "needle"}, {Facts: []string{"needle"}}, {Title: "needle"},
	} {
		// Later ones are newer, which must not decide: give the order the other way round.
		d.Doc = records.Doc{Kind: records.ObservationDoc, ID: int64(i)}
		d.Position = streams.Position(10 - i)
		m[d.Doc] = d
	}
	x := open(t, t.TempDir(), Config{Source: m})
	fill(t, x, m, 10)
	res, err := x.Query(t.Context(), Query{Text: "needle"})
	if err != nil {
		t.Fatal(err)
	}
	for i, h := range res.Hits {
		if h.ID != int64(3-i) {
			t.Fatalf("hits %v, want title, fact, text, path", res.Hits)
		}
	}
}

func TestNoPhraseCrossesTexts(t *testing.T) {
	m := memory{{Kind: records.ObservationDoc, ID: 1}: {Title: "one two", Facts: []string{"three four"}, Text: "five", Position: 1}}
	x := open(t, t.TempDir(), Config{Source: m})
	fill(t, x, m, 1)
	for text, found := range map[string]bool{`"one two"`: true, `"two three"`: false, `"four five"`: false} {
		res, err := x.Query(t.Context(), Query{Text: text})
		if err != nil {
			t.Fatal(err)
		}
		if phrase := !strings.Contains(res.Interpreted, "nothing has"); phrase != found {
			t.Errorf("%s: %s", text, res.Interpreted)
		}
	}
}

func TestDeadline(t *testing.T) {
	c := openCorpus(t)
	ctx, cancel := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer cancel()
	if _, err := c.Query(ctx, Query{Text: "agents"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want the context's", err)
	}
}

func TestNoText(t *testing.T) {
	c := openCorpus(t)
	for _, text := range []string{"", " ", "(((", "+", "*", "\x00", "\x1b[31m", `""`, "_", "\u0301"} {
		if res, err := c.Query(t.Context(), Query{Text: text}); !errors.Is(err, ErrNoText) || res.Interpreted == "" {
			t.Errorf("query %q: %v %q, want ErrNoText", text, err, res.Interpreted)
		}
	}
}

func TestPagesFitTogether(t *testing.T) {
	m := goCorpus(t, 300)
	x := open(t, t.TempDir(), Config{Source: m})
	fill(t, x, m, 64)
	for _, s := range []Sort{Relevance, DateAsc, DateDesc} {
		whole, err := x.Query(t.Context(), Query{Text: "the", Sort: s, Limit: 1000})
		if err != nil || whole.Total < 50 || len(whole.Hits) != whole.Total {
			t.Fatalf("%d of %d hits, %v", len(whole.Hits), whole.Total, err)
		}
		var paged []Hit
		for len(paged) < whole.Total {
			res, err := x.Query(t.Context(), Query{Text: "the", Sort: s, Limit: 7, Offset: len(paged)})
			if err != nil || len(res.Hits) == 0 {
				t.Fatal(len(res.Hits), err)
			}
			paged = append(paged, res.Hits...)
		}
		if !slices.EqualFunc(paged, whole.Hits, func(a, b Hit) bool { return a.Doc == b.Doc }) {
			t.Errorf("%q: the pages are not the whole list", s)
		}
	}
}

func FuzzQuery(f *testing.F) {
	m := memory{}
	for i, text := range []string{"use ask-codex", "spec 38.101 foo.bar()", "don't use agents", "作者 张益唐 的论文", "こんにちは、世界", "getUserById", "a b c"} {
		m[records.Doc{Kind: records.TextDoc, ID: int64(i)}] = records.Document{Text: text, Position: streams.Position(i + 1)}
	}
	x := open(f, f.TempDir(), Config{Source: m})
	fill(f, x, m, 100)
	for _, s := range []string{`"unclosed`, "AND OR", "title:", "(((", "*", "-foo", "+", "foo~9", "https://x", "a/b", "/[/", "张益", "は", `"a b`, "don't", "\xff\x00", "“a b”", "ab* cd?", "usr agnts"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		res, err := x.Query(t.Context(), Query{Text: text, Snippets: true})
		switch {
		case err != nil && !errors.Is(err, ErrNoText):
			t.Fatalf("query %q: %v", text, err)
		case res.Interpreted == "":
			t.Fatalf("query %q: not said how it was read", text)
		case len(res.Hits) > res.Total:
			t.Fatalf("query %q: %d hits of %d", text, len(res.Hits), res.Total)
		}
	})
}

func ExampleQuery() {
	a := strict(parse(`parse_json "exact words" -v`))
	fmt.Println(a.told(nil))
	// Output: all of: parse_json, "exact words", v; a leading minus does not exclude
}

func TestATextThatIsTooLongIsCutBetweenWords(t *testing.T) {
	r := parse(strings.Repeat("alpha beta ", maxQueryBytes/11) + strings.Repeat("gamma", 5))
	for _, c := range r.clauses {
		if c.shown != "alpha" && c.shown != "beta" {
			t.Errorf("%q was looked for", c.shown)
		}
	}
	if len(r.notes) == 0 {
		t.Error("not said")
	}
}
