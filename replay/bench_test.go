package replay_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// BenchmarkTranscript brings every recorded transcript into an empty log and
// records to its head: what a replay costs without a worker around it.
func BenchmarkTranscript(b *testing.B) {
	files, err := filepath.Glob(testdata + "/*/*.jsonl")
	if err != nil {
		b.Fatal(err)
	}
	var total int64
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			b.Fatal(err)
		}
		total += info.Size()
	}
	var bringing, applying time.Duration
	for b.Loop() {
		h := newHouse(b)
		began := time.Now()
		h.bring(files...)
		bringing += time.Since(began)
		began = time.Now()
		h.catchUp()
		applying += time.Since(began)
	}
	b.SetBytes(total)
	b.ReportMetric(float64(total)*float64(b.N)/1e6/bringing.Seconds(), "MB/s-to-log")
	b.ReportMetric(float64(total)*float64(b.N)/1e6/applying.Seconds(), "MB/s-to-records")
}
