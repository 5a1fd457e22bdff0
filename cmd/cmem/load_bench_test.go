package main

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"cmem/cmd/internal/api"
	"cmem/cmd/internal/client"
)

// BenchmarkWhileRebuilding asks a worker for its health and for a search at a
// steady rate, first at rest and then while it builds all read models again. A
// question's time is counted from when it was due, so that waiting for the one
// before it is not left out.
func BenchmarkWhileRebuilding(b *testing.B) {
	p := filled(b, benchEvents(b))
	whileRebuilding(b, p)
}

func whileRebuilding(b *testing.B, p *place) {
	p.run("start")
	c := p.dial(b)
	defer c.Close()
	p.until("the read models have come to the head", p.caughtUp)
	time.Sleep(5 * time.Second) // the looks at read models that a start has made
	for b.Loop() {
		rest := startAsking(b, c)
		time.Sleep(5 * time.Second)
		report(b, rest.end(), "rest")
		busy := startAsking(b, c)
		began := time.Now()
		if r := p.try("rebuild", "--json"); r.code != 0 {
			b.Fatalf("rebuild: %.500s", r.err)
		}
		b.ReportMetric(time.Since(began).Seconds(), "rebuild-s")
		report(b, busy.end(), "rebuild")
	}
}

// caughtUp says that nothing is being built or behind.
func (p *place) caughtUp() bool {
	for _, m := range p.stats().Models {
		if m.Behind > 0 || m.State != "ready" {
			return false
		}
	}
	return true
}

// asked are the times that questions took, by name.
type asked map[string][]time.Duration

func report(b *testing.B, all asked, when string) {
	for name, took := range all {
		slices.Sort(took)
		b.ReportMetric(milliseconds(took[len(took)/2]), fmt.Sprintf("%s-%s-p50-ms", name, when))
		b.ReportMetric(milliseconds(took[len(took)*99/100]), fmt.Sprintf("%s-%s-p99-ms", name, when))
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

const askEvery = 50 * time.Millisecond

// asking is a client that asks every askEvery, in one goroutine for each question.
type asking struct {
	cancel context.CancelFunc
	done   sync.WaitGroup
	mu     sync.Mutex
	took   asked
}

func startAsking(b *testing.B, c *client.Client) *asking {
	ctx, cancel := context.WithCancel(b.Context())
	a := &asking{cancel: cancel, took: asked{}}
	for name, ask := range map[string]func() error{
		"health": func() error {
			var h api.Health
			return c.Get(context.Background(), "/api/health", nil, &h)
		},
		"search": func() error {
			var s api.SearchAnswer
			return c.Get(context.Background(), "/api/search", url.Values{"query": {"error"}, "format": {"json"}}, &s)
		},
	} {
		a.done.Go(func() {
			for due := time.Now(); ctx.Err() == nil; due = due.Add(askEvery) {
				if wait := time.Until(due); wait > 0 {
					time.Sleep(wait)
				}
				if err := ask(); err != nil {
					b.Errorf("%s: %v", name, err)
					return
				}
				a.mu.Lock()
				a.took[name] = append(a.took[name], time.Since(due))
				a.mu.Unlock()
			}
		})
	}
	return a
}

func (a *asking) end() asked {
	a.cancel()
	a.done.Wait()
	return a.took
}
