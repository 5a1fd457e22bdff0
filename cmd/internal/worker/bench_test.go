package worker

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"cmem/ingest/home"
	"cmem/streams/envelope"
)

// BenchmarkAppendWhileChecked appends in turn without and with the check of the
// blocks at its own pace, each for a second and each first as often as second, and
// tells what part of the throughput the check leaves.
func BenchmarkAppendWhileChecked(b *testing.B) {
	n, err := Open(b.Context(), home.Dir(b.TempDir()), settings(), slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	defer n.Close()
	batch := noises(500)
	for range 100 { // so that the check meets whole blocks from the start
		appendBatch(b, n, batch)
	}
	var ratios []float64
	for b.Loop() {
		var with, without float64
		measure := func(checked bool) float64 {
			ctx, cancel := context.WithCancel(b.Context())
			done := make(chan struct{})
			go func() {
				defer close(done)
				for checked && ctx.Err() == nil {
					_, _ = n.stream.CheckBlocks(ctx, checkPace)
				}
			}()
			rate := throughput(b, n, batch)
			cancel()
			<-done
			return rate
		}
		if len(ratios)%2 == 0 {
			without, with = measure(false), measure(true)
		} else {
			with, without = measure(true), measure(false)
		}
		ratios = append(ratios, with/without)
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "x-throughput-median")
	b.ReportMetric(ratios[len(ratios)/4], "x-lower-quartile")
	b.ReportMetric(ratios[len(ratios)*3/4], "x-upper-quartile")
}

// throughput is in events a second, over one second.
func throughput(b *testing.B, n *Node, batch []envelope.Envelope) float64 {
	began, events := time.Now(), 0
	for time.Since(began) < time.Second {
		appendBatch(b, n, batch)
		events += len(batch)
	}
	return float64(events) / time.Since(began).Seconds()
}

func appendBatch(b *testing.B, n *Node, batch []envelope.Envelope) {
	if _, err := n.stream.Append(b.Context(), batch...); err != nil {
		b.Fatal(err)
	}
}

// noises are envelopes of 2 KB that do not get smaller.
func noises(n int) []envelope.Envelope {
	r := rand.New(rand.NewPCG(1, 2))
	all := make([]envelope.Envelope, n)
	for i := range all {
		body := make([]byte, 2000)
		for k := range body {
			body[k] = byte(r.Uint32())
		}
		all[i] = envelope.Envelope{ID: fmt.Sprint("noise/", i), Type: envelope.SessionIdled, Source: "noise", Time: time.Unix(int64(i), 0), Body: body}
	}
	return all
}
