package replay_test

import (
	"os"
	"path/filepath"
	"syscall"
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
	var bringing, applying, cpu time.Duration
	for b.Loop() {
		h := newHouse(b)
		began, used := time.Now(), cpuTime(b)
		h.bring(files...)
		bringing += time.Since(began)
		began = time.Now()
		h.catchUp()
		applying += time.Since(began)
		cpu += cpuTime(b) - used
	}
	b.SetBytes(total)
	b.ReportMetric(float64(cpu.Milliseconds())/(float64(total)*float64(b.N)/1e6), "cpu-ms/MB")
	b.ReportMetric(float64(total)*float64(b.N)/1e6/bringing.Seconds(), "MB/s-to-log")
	b.ReportMetric(float64(total)*float64(b.N)/1e6/applying.Seconds(), "MB/s-to-records")
}

// cpuTime is what this process has used, user and system.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
