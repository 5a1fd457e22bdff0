package search

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"cmem/projections/records"
	"cmem/streams"
)

func sortChanges(all []records.Change) {
	slices.SortFunc(all, func(a, b records.Change) int {
		return cmp.Or(cmp.Compare(a.Position, b.Position), cmp.Compare(a.ID, b.ID))
	})
}

func cpu() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// fill applies m in batches.
func fill(tb testing.TB, x *Index, m memory, batch int) {
	tb.Helper()
	for part := range slices.Chunk(m.changes(), batch) {
		last := part[len(part)-1].Position
		if err := x.Apply(part, streams.Checkpoint{Log: "test", Position: last}); err != nil {
			tb.Fatal(err)
		}
	}
}

// BenchmarkIndex reports CPU a document with all that indexing it causes
// (analysis, segments, merging), and the bytes of its index.
func BenchmarkIndex(b *testing.B) {
	m := goCorpus(b, 30_000)
	for b.Loop() {
		dir := b.TempDir()
		before := cpu()
		x, err := Open(dir, Config{Source: m})
		if err != nil {
			b.Fatal(err)
		}
		fill(b, x, m, 2000)
		if err := x.Close(); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64((cpu()-before).Microseconds())/float64(len(m)), "cpu-µs/doc")
		b.ReportMetric(float64(size(b, dir))/float64(len(m)), "B/doc")
	}
}

// BenchmarkAnalyze is the part of it that cuts text into terms.
func BenchmarkAnalyze(b *testing.B) {
	texts := goText()[:10_000]
	bytes := 0
	var a analyzer
	for i := 0; b.Loop(); i++ {
		t := texts[i%len(texts)]
		newDocument(&a, "x1", content{records.Document{Text: t}})
		bytes += len(t)
	}
	b.SetBytes(int64(bytes / b.N))
}

// sentences are queries of n words that somebody might remember of a text: of
// four letters and more, in the order they have there.
func sentences(n int) []string {
	var all []string
	for i, text := range goText() {
		var words []string
		for _, w := range strings.Fields(text) {
			if len(w) > 3 && strings.Trim(strings.ToLower(w), "abcdefghijklmnopqrstuvwxyz") == "" {
				words = append(words, w)
			}
		}
		if i%173 == 0 && len(words) > 20 {
			all = append(all, strings.Join(words[10:10+n], " "))
		}
	}
	return all[:min(len(all), 200)]
}

// BenchmarkQuery reports the median and the 99th percentile of 1,000 queries
// over 100,000 documents.
func BenchmarkQuery(b *testing.B) {
	m := goCorpus(b, 100_000)
	x := open(b, b.TempDir(), Config{Source: m})
	fill(b, x, m, 2000)
	filtered := func(q Query) Query {
		q.Projects, q.Kinds = []string{"project-3", "project-4"}, []records.DocKind{records.ObservationDoc, records.TextDoc}
		q.From, q.To, q.Sort = time.Unix(1750000000, 0), time.Unix(1750000000+80_000*60, 0), DateDesc
		return q
	}
	plain := func(q Query) Query { return q }
	for _, c := range []struct {
		name  string
		texts []string
		with  func(Query) Query
	}{
		{"one word", sentences(1), plain},
		{"one word by date", sentences(1), func(q Query) Query { q.Sort = DateDesc; return q }},
		{"three words", sentences(3), plain},
		{"three words filtered by date", sentences(3), filtered},
		{"ten words", sentences(10), plain},
		{"very common word", []string{"the", "func", "return", "a"}, plain},
		{"phrase of common words", []string{`"of the"`, `"if err"`, `"is the"`, `"return nil"`}, plain},
		{"misspelled", []string{"retrun", "fucntion", "bufer", "contxt", "intreface"}, plain},
		{"beginning", []string{"proces", "conne", "alloca", "unmarsha"}, plain},
		{"with snippets", sentences(1), func(q Query) Query { q.Snippets = true; return q }},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				var took []time.Duration
				for i := range 1000 {
					start := time.Now()
					if _, err := x.Query(b.Context(), c.with(Query{Text: c.texts[i%len(c.texts)]})); err != nil && !errors.Is(err, ErrNoText) {
						b.Fatal(err)
					}
					took = append(took, time.Since(start))
				}
				slices.Sort(took)
				b.ReportMetric(float64(took[500].Microseconds()), "p50-µs")
				b.ReportMetric(float64(took[990].Microseconds()), "p99-µs")
			}
		})
	}
}
