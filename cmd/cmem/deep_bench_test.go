package main

import (
	"io/fs"
	"log/slog"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"cmem/cmd/internal/api"
	"cmem/cmd/internal/config"
	"cmem/cmd/internal/worker"
	"cmem/ingest/home"
)

// BenchmarkDeep measures `doctor --deep` without and with the start of a process:
// what it costs to open the folder is in neither. MB are those of the log's blocks.
func BenchmarkDeep(b *testing.B) {
	p := filled(b, benchEvents(b))
	deep(b, p.dir)
}

func deep(b *testing.B, dir string) {
	b.Helper()
	n, err := worker.Open(b.Context(), home.Dir(dir), config.Default(), slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	defer n.Close()
	b.SetBytes(blockBytes(b, dir))
	cpu := processorTime(b)
	rounds := 0
	for b.Loop() {
		out, err := n.Doctor(b.Context(), true, func(api.Line) {})
		if d, ok := out.(api.Diagnosis); err != nil || !ok || !d.Healthy {
			b.Fatalf("%+v, %v", out, err)
		}
		rounds++
	}
	b.ReportMetric(float64((processorTime(b)-cpu).Milliseconds())/float64(rounds), "cpu-ms/op")
}

// blockBytes sums the log's block files.
func blockBytes(b *testing.B, dir string) (sum int64) {
	b.Helper()
	err := filepath.WalkDir(filepath.Join(dir, "log", "jetstream"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".blk") {
			return err
		}
		info, err := d.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return sum
}

// processorTime is what this process has used.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
