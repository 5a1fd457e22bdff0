package hook

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cmem/ingest/home"
)

// BenchmarkHookProcess starts the hook as it is shipped and an empty Go program
// in turns, from exec to exit, fsyncs included, with a worker that listens. The
// ratios are of one run; the times are the machine's.
func BenchmarkHookProcess(b *testing.B) {
	hook, empty := build(b, hookProgram), buildEmpty(b)
	for _, size := range []int{1, 64, 600} {
		b.Run(fmt.Sprintf("%dKB", size), func(b *testing.B) {
			data := listeningHome(b)
			payload := toolPayload(size << 10)
			var hooks, empties []time.Duration
			for b.Loop() {
				empties = append(empties, timed(b, exec.Command(empty)))
				hooks = append(hooks, timed(b, process(hook, data, "PostToolUse", payload)))
			}
			h, e := quantile(hooks, 0.5), quantile(empties, 0.5)
			h95, e95 := quantile(hooks, 0.95), quantile(empties, 0.95)
			b.ReportMetric(h, "ms-median")
			b.ReportMetric(h95, "ms-p95")
			b.ReportMetric(e, "ms-empty-median")
			b.ReportMetric(h/e, "x-median")
			b.ReportMetric(h95/e95, "x-p95")
			b.ReportMetric(h95/e, "x-p95-of-empty-median")
		})
	}
}

func buildEmpty(b *testing.B) string {
	b.Helper()
	source := filepath.Join(b.TempDir(), "main.go")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	return build(b, source)
}

// listeningHome is a home whose worker takes every connection and says nothing.
func listeningHome(b *testing.B) string {
	b.Helper()
	dir := home.Dir(filepath.Join(b.TempDir(), "h"))
	if err := dir.Make(); err != nil {
		b.Fatal(err)
	}
	l, err := net.Listen("unix", dir.Socket())
	if err != nil {
		b.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	b.Cleanup(func() { l.Close(); <-done })
	return string(dir)
}

func toolPayload(size int) []byte {
	text := strings.Repeat("package main // a line of a file that was read\\n", size/47+1)[:size/47*47]
	return []byte(`{"session_id":"11111111-2222-4333-8444-555555555501","cwd":"/tmp","hook_event_name":"PostToolUse",` +
		`"tool_name":"Read","tool_input":{"file_path":"/tmp/main.go"},"tool_use_id":"toolu_01LqZAajr6LwAG5nwddpOkz1","tool_response":"` + text + `"}`)
}

func timed(b *testing.B, cmd *exec.Cmd) time.Duration {
	start := time.Now()
	if err := cmd.Run(); err != nil {
		b.Fatal(err)
	}
	return time.Since(start)
}

func quantile(d []time.Duration, q float64) float64 {
	slices.Sort(d)
	return float64(d[int(q*float64(len(d)-1))]) / float64(time.Millisecond)
}

// BenchmarkRun is the hook without its process and its disk's own time.
func BenchmarkRun(b *testing.B) {
	for _, size := range []int{1, 64, 600} {
		b.Run(fmt.Sprintf("%dKB", size), func(b *testing.B) {
			bench := newBench(b)
			payload := toolPayload(size << 10)
			b.SetBytes(int64(len(payload)))
			for b.Loop() {
				bench.run("claude-code", "PostToolUse", bytes.NewReader(payload))
			}
		})
	}
}
