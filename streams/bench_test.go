package streams

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"cmem/streams/envelope"
)

// spoken gives n envelopes whose bodies are lines of recorded transcripts, about
// 2 KB each.
func spoken(b *testing.B, n int) []envelope.Envelope {
	b.Helper()
	files, err := filepath.Glob("../testdata/transcripts/claude-code/*.jsonl")
	if err != nil || len(files) == 0 {
		b.Fatalf("no transcripts: %v", err)
	}
	var lines [][]byte
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			b.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			if line = bytes.TrimSpace(line); len(line) > 200 && len(line) < 16<<10 {
				lines = append(lines, line)
			}
		}
	}
	envs := make([]envelope.Envelope, n)
	for i := range envs {
		envs[i] = envelope.Envelope{
			ID:      fmt.Sprintf("claude-code/assistant/6f1c2b7e-9f7d-4b8e-8a55-%012d", i),
			Type:    envelope.TranscriptValue,
			Source:  "claude-code",
			Subject: fmt.Sprintf("6f1c2b7e-9f7d-4b8e-8a55-%012d", i/500),
			Time:    time.Date(2026, 1, 2, 3, 4, 5, 678000000, time.UTC).Add(time.Duration(i) * time.Second),
			Event:   "assistant",
			Digest:  "0123456789abcdef",
			Body:    lines[i%len(lines)],
		}
	}
	return envs
}

func total(envs []envelope.Envelope) (n int64) {
	for i := range envs {
		n += int64(len(envs[i].Body))
	}
	return n
}

func openedB(b *testing.B, dir string) *Log {
	b.Helper()
	l, err := Open(b.Context(), Config{Dir: dir, Reserve: -1})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	return l
}

func appendAll(b *testing.B, l *Log, envs []envelope.Envelope) {
	b.Helper()
	if _, err := l.Append(b.Context(), envs...); err != nil {
		b.Fatal(err)
	}
}

// Each round is one append and one bare publication of the same body to a server
// that syncs as ours does, in turn, so that both meet the same disk.
func BenchmarkAppendOneAgainstRawPublish(b *testing.B) {
	envs := spoken(b, 2000)
	l := openedB(b, b.TempDir())
	raw, err := startServer(layout{b.TempDir()}, serverLog{Logger: l.log}, l.log)
	if err != nil {
		b.Fatal(err)
	}
	defer raw.stop()
	if err := raw.create(b.Context()); err != nil {
		b.Fatal(err)
	}
	var ours, bare []time.Duration
	i := 0
	publish := func(e envelope.Envelope) {
		start := time.Now()
		if _, err := raw.nc.Request("cmem.raw", e.Body, 10*time.Second); err != nil {
			b.Fatal(err)
		}
		bare = append(bare, time.Since(start))
	}
	save := func(e envelope.Envelope) {
		start := time.Now()
		appendAll(b, l, []envelope.Envelope{e})
		ours = append(ours, time.Since(start))
	}
	for b.Loop() {
		one, two := publish, save
		if i%2 == 0 {
			one, two = two, one
		}
		one(envs[i%len(envs)])
		two(envs[i%len(envs)])
		i++
	}
	slices.Sort(ours)
	slices.Sort(bare)
	b.ReportMetric(float64(ours[i/2].Microseconds()), "us/append-median")
	b.ReportMetric(float64(bare[i/2].Microseconds()), "us/raw-median")
	b.ReportMetric(bare[i/2].Seconds()/ours[i/2].Seconds(), "x-raw-speed")
}

func BenchmarkAppendBatchesOf1000(b *testing.B) {
	envs := spoken(b, 1000)
	l := openedB(b, b.TempDir())
	n, cpu := 0, cpuTime()
	for b.Loop() {
		appendAll(b, l, envs)
		n += len(envs)
	}
	b.ReportMetric(float64((cpuTime()-cpu).Microseconds())/float64(n), "cpu-us/event")
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(0, "ns/op")
	state, err := l.session.Load().state(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(state.Bytes)/float64(total(envs)*int64(n/len(envs))), "log/body-bytes")
}

func BenchmarkRead(b *testing.B) {
	const n = 20000
	envs := spoken(b, n)
	l := openedB(b, b.TempDir())
	appendAll(b, l, envs)
	b.SetBytes(total(envs))
	b.ReportAllocs()
	cpu := cpuTime()
	rounds := 0
	for b.Loop() {
		got := 0
		for _, err := range l.Read(b.Context(), 0) {
			if err != nil {
				b.Fatal(err)
			}
			got++
		}
		if got != n {
			b.Fatalf("%d of %d", got, n)
		}
		rounds++
	}
	b.ReportMetric(float64((cpuTime()-cpu).Microseconds())/float64(n*rounds), "cpu-us/event")
	b.ReportMetric(b.Elapsed().Seconds()*1e6/float64(n*rounds), "us/event")
}

// What a projector that follows the head does for each append.
func BenchmarkReadOneAtTheHead(b *testing.B) {
	l := openedB(b, b.TempDir())
	appendAll(b, l, spoken(b, 1000))
	for b.Loop() {
		for _, err := range l.Read(b.Context(), 999) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkOpenAt100k(b *testing.B) {
	clean, killed := b.TempDir(), b.TempDir()
	l := openedB(b, clean)
	envs := spoken(b, 100_000)
	for i := 0; i < len(envs); i += 10_000 {
		appendAll(b, l, envs[i:i+10_000])
	}
	// The files as they are now are what a kill leaves.
	if err := os.CopyFS(killed, os.DirFS(clean)); err != nil {
		b.Fatal(err)
	}
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
	b.Run("clean", func(b *testing.B) {
		var closing time.Duration
		for b.Loop() {
			l := openedB(b, clean)
			if !l.Opening().Clean {
				b.Fatal("not clean")
			}
			start := time.Now()
			if err := l.Close(); err != nil {
				b.Fatal(err)
			}
			closing += time.Since(start)
		}
		b.ReportMetric(float64((b.Elapsed()-closing).Milliseconds())/float64(b.N), "ms/open")
		b.ReportMetric(float64(closing.Milliseconds())/float64(b.N), "ms/close")
	})
	b.Run("killed", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			dir := b.TempDir()
			if err := os.CopyFS(dir, os.DirFS(killed)); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			l := openedB(b, dir)
			b.StopTimer()
			if l.Opening().Clean || l.Head().Position != 100_000 {
				b.Fatalf("%+v, head %d", l.Opening(), l.Head().Position)
			}
			if err := l.Close(); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
		b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/open")
	})
}

// BenchmarkChain measures what the chain costs of an append: nonce, digest and link
// of each envelope by themselves, and the appends of the same envelopes, in turn.
func BenchmarkChain(b *testing.B) {
	envs := spoken(b, 1000)
	l := openedB(b, b.TempDir())
	var chained, appended, one time.Duration
	var chain Digest
	var headers []string
	rounds := 0
	for b.Loop() {
		start := cpuTime()
		for range 10 {
			headers = headers[:0]
			for i := range envs {
				n := newNonce()
				chain = link(chain, inner(n, &envs[i]))
				headers = append(headers, text.EncodeToString(n[:]), chain.String())
			}
		}
		chained += (cpuTime() - start) / 10
		start = cpuTime()
		appendAll(b, l, envs)
		appended += cpuTime() - start
		began := time.Now()
		for i := range 20 {
			appendAll(b, l, envs[i:i+1])
		}
		one += time.Since(began) / 20
		rounds++
	}
	events := float64(rounds * len(envs))
	perEvent := float64(chained.Nanoseconds()) / events / 1000
	b.ReportMetric(perEvent, "chain-cpu-us/event")
	b.ReportMetric(float64(appended.Nanoseconds())/events/1000, "append-cpu-us/event")
	b.ReportMetric(100*chained.Seconds()/appended.Seconds(), "%-of-cpu-in-batches")
	b.ReportMetric(100*perEvent/(float64(one.Nanoseconds())/1000/float64(rounds)), "%-of-one-append")
}
