package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"cmem/streams"
	"cmem/streams/envelope"
)

// BenchmarkStartAfterKill measures a worker that was killed while it had a log of
// CMEM_BENCH_LOG_MB: its next start, from the first line to ready, with the blocks
// in the system's memory and, where dd can drop them from it, from the disk; and
// the most memory it had until then.
func BenchmarkStartAfterKill(b *testing.B) {
	megabytes := 64
	if v := os.Getenv("CMEM_BENCH_LOG_MB"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil {
			b.Fatal(err)
		}
		megabytes = n
	}
	p := newPlace(b)
	p.run("start")
	p.run("stop")
	fillLog(b, filepath.Join(p.dir, "log"), int64(megabytes)<<20)
	p.run("start") // the read models follow
	p.until("the read models have come to the head", p.caughtUp)
	b.ReportMetric(float64(blockBytes(b, p.dir))/1e6, "log-MB")
	for b.Loop() {
		for _, drop := range []bool{false, true} {
			p.kill()
			where := "cached"
			if drop {
				where = "from-disk"
				dropCached(b, p.dir)
			}
			ms := p.startTime(b)
			b.ReportMetric(ms, where+"-start-ms")
			b.ReportMetric(float64(blockBytes(b, p.dir))/1e3/ms, where+"-MB/s")
			b.ReportMetric(float64(peakRSS(b, p.stats().Worker.PID))/1024, where+"-peak-RSS-MB")
		}
	}
}

// fillLog appends values of 64 KB that do not get smaller and tell no read model
// anything: the log's files are what is measured.
func fillLog(b *testing.B, dir string, bytes int64) {
	b.Helper()
	l, err := streams.Open(b.Context(), streams.Config{Dir: dir, Reserve: -1})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	r := rand.NewChaCha8([32]byte{3})
	batch := make([]envelope.Envelope, 100)
	for n := 0; int64(n)<<16 < bytes; n += len(batch) {
		for i := range batch {
			body := make([]byte, 64<<10)
			_, _ = r.Read(body)
			batch[i] = envelope.Envelope{
				ID: fmt.Sprint("noise/", n+i), Type: envelope.SessionIdled, Source: "noise", Time: time.Unix(int64(n+i), 0), Body: body,
			}
		}
		if _, err := l.Append(b.Context(), batch...); err != nil {
			b.Fatal(err)
		}
	}
}

// dropCached has the system forget what it holds of the blocks.
func dropCached(b *testing.B, dir string) {
	b.Helper()
	blocks, err := filepath.Glob(filepath.Join(dir, "log/jetstream/*/streams/*/msgs/*.blk"))
	if err != nil || len(blocks) == 0 {
		b.Fatal("no blocks", err)
	}
	for _, f := range blocks {
		if out, err := exec.Command("dd", "if="+f, "iflag=nocache", "count=0", "status=none").CombinedOutput(); err != nil {
			b.Skipf("this dd drops nothing: %v %s", err, out)
		}
	}
}

// peakRSS is the most memory that a process ever had, in KB.
func peakRSS(b *testing.B, pid int) int {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Skip("VmHWM is Linux's: ", err)
	}
	m := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	if m == nil {
		b.Skip("no VmHWM here")
	}
	n, err := strconv.Atoi(string(m[1]))
	if err != nil {
		b.Fatal(err)
	}
	return n
}
