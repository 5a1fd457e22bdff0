package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"cmem/cmd/internal/worker"
)

// multiplied writes copies of every recorded transcript under fresh ids until
// together they have so many bytes, and gives the files and their size.
func multiplied(b *testing.B, dir string, first int, bytesWanted int64) (files []string, total int64) {
	b.Helper()
	recorded, err := filepath.Glob(testdata + "/transcripts/*/*.jsonl")
	if err != nil || len(recorded) == 0 {
		b.Fatal("no transcripts", err)
	}
	recorded = slices.DeleteFunc(recorded, func(p string) bool {
		// Second captures and cut copies of others would mostly be held already.
		return strings.Contains(p, "g04a") || strings.Contains(p, "g17")
	})
	for n := first; total < bytesWanted; n++ {
		for _, path := range recorded {
			data, err := os.ReadFile(path)
			if err != nil {
				b.Fatal(err)
			}
			data = freshIDs(data, n)
			name := filepath.Join(dir, fmt.Sprintf("%04d-%s", n, filepath.Base(path)))
			if err := os.WriteFile(name, data, 0o600); err != nil {
				b.Fatal(err)
			}
			files, total = append(files, name), total+int64(len(data))
		}
	}
	return files, total
}

var idForms = regexp.MustCompile(`(toolu_|call_|msg_|req_)[0-9A-Za-z]{6}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-`)

// freshIDs changes every id in the same way, so that references still hold.
func freshIDs(data []byte, n int) []byte {
	return idForms.ReplaceAllFunc(data, func(id []byte) []byte {
		out := bytes.Clone(id)
		stamp := fmt.Sprintf("%04x", n)
		if at := bytes.IndexByte(out, '_'); at >= 0 {
			copy(out[at+1:], stamp)
		} else {
			copy(out, stamp)
		}
		return out
	})
}

// filled is a data folder with about so many events, its worker stopped clean.
func filled(b *testing.B, events uint64) *place {
	b.Helper()
	p := newPlace(b)
	p.run("start")
	defer p.run("stop")
	const batch = 24 << 20
	for n := 0; p.stats().Log.Head < events; n++ {
		dir, err := os.MkdirTemp(b.TempDir(), "t")
		if err != nil {
			b.Fatal(err)
		}
		files, _ := multiplied(b, dir, n*100, batch)
		args := append([]string{"replay", "--json", "--transcript"}, files...)
		if r := p.try(args...); r.code != 0 {
			b.Fatalf("replay: %.500s", r.err)
		}
		if err := os.RemoveAll(dir); err != nil {
			b.Fatal(err)
		}
	}
	return p
}

// events of a benchmark's folder; CMEM_BENCH_EVENTS asks for others.
func benchEvents(b *testing.B) uint64 {
	b.Helper()
	if v := os.Getenv("CMEM_BENCH_EVENTS"); v != "" {
		n, err := strconv.ParseUint(v, 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		return n
	}
	return 10_000
}

// BenchmarkReplay measures a transcript's way to queryable records: a command
// in its own process, from start to exit.
func BenchmarkReplay(b *testing.B) {
	dir := b.TempDir()
	files, total := multiplied(b, dir, 0, 24<<20)
	for b.Loop() {
		p := newPlace(b)
		p.run("status") // the folder is made
		p.run("start")
		began := time.Now()
		if r := p.try(append([]string{"replay", "--json", "--transcript"}, files...)...); r.code != 0 {
			b.Fatalf("%.500s", r.err)
		}
		b.ReportMetric(float64(total)/1e6/time.Since(began).Seconds(), "MB/s")
		s := p.stats()
		b.ReportMetric(float64(s.Log.Bytes)/float64(total), "log-B/transcript-B")
		b.ReportMetric(float64(s.Log.Head), "events")
		p.kill()
	}
}

// BenchmarkHookToHit measures from a hook's exit to the search that finds it.
func BenchmarkHookToHit(b *testing.B) {
	p := newPlace(b)
	p.run("start")
	c := p.dial(b)
	defer c.Close()
	var took []time.Duration
	for n := 0; b.Loop(); n++ {
		word := fmt.Sprintf("latencyword%d", n)
		p.hook("UserPromptSubmit", prompt(fmt.Sprintf("bench-%d", n%7), word))
		began := time.Now()
		p.until(word+" is found", func() bool { return found(b, c, word) })
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
}

// BenchmarkWorker measures a folder of many events: start to ready after a clean
// stop and after a kill, the idle worker's memory, and a rebuild.
func BenchmarkWorker(b *testing.B) {
	p := filled(b, benchEvents(b))
	events := p.stats().Log.Head
	b.ReportMetric(float64(events), "events")
	for b.Loop() {
		b.ReportMetric(p.startTime(b), "clean-start-ms")
		pid := p.stats().Worker.PID
		var rss int
		p.until("its memory is at rest", func() bool {
			last := rss
			time.Sleep(time.Second)
			rss = rssAnon(b, pid)
			return rss == last
		})
		b.ReportMetric(float64(rss)/1024, "idle-RssAnon-MB")
		p.kill()
		b.ReportMetric(p.startTime(b), "start-after-kill-ms")
		p.run("stop")
		b.ReportMetric(p.rebuildCost(b)/float64(events)*1e6, "rebuild-cpu-s/M")
	}
}

// startTime is what the worker's log says from its first line to ready, in ms.
func (p *place) startTime(b *testing.B) float64 {
	b.Helper()
	p.run("start")
	log, err := os.ReadFile(filepath.Join(p.dir, "logs/worker.log"))
	if err != nil {
		b.Fatal(err)
	}
	all := regexp.MustCompile(`msg=ready .* in=(\S+)`).FindAllSubmatch(log, -1)
	if len(all) == 0 {
		b.Fatal("the log does not say ready")
	}
	took, err := time.ParseDuration(string(all[len(all)-1][1]))
	if err != nil {
		b.Fatal(err)
	}
	return float64(took.Microseconds()) / 1000
}

// rebuildCost is the CPU time of a rebuild of everything, in seconds.
func (p *place) rebuildCost(b *testing.B) float64 {
	b.Helper()
	c := p.command("cmem", "rebuild", "--json")
	out, err := c.Output()
	if err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	var r worker.RebuildResult
	if err := json.Unmarshal(out, &r); err != nil || len(r.Models) != 3 {
		b.Fatalf("%v: %s", err, out)
	}
	if u, ok := c.ProcessState.SysUsage().(*syscall.Rusage); ok {
		b.ReportMetric(float64(u.Maxrss)/1024, "rebuild-peak-RSS-MB")
	}
	return (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds()
}

func rssAnon(b *testing.B, pid int) int {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Skip("RssAnon is Linux's: ", err)
	}
	m := regexp.MustCompile(`RssAnon:\s+(\d+) kB`).FindSubmatch(status)
	if m == nil {
		b.Skip("no RssAnon here")
	}
	n, err := strconv.Atoi(string(m[1]))
	if err != nil {
		b.Fatal(err)
	}
	return n
}
