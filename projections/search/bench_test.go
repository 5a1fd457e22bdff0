package search

import (
	"cmp"
	"slices"
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
	for i := 0; b.Loop(); i++ {
		t := texts[i%len(texts)]
		newDocument("x1", content{records.Document{Text: t}})
		bytes += len(t)
	}
	b.SetBytes(int64(bytes / b.N))
}
