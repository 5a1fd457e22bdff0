package search

import (
	"time"

	"github.com/blevesearch/bleve/v2/search"
)

// collect runs s to its end.
func (m *matcher) collect(s search.Searcher, q Query) (*page, error) {
	p := newPage(q)
	orders, err := m.r.DocValueReader([]string{orderName})
	if err != nil {
		return nil, err
	}
	ctx := m.searching(s.DocumentMatchPoolSize())
	for n := 0; ; n++ {
		if n%256 == 0 && m.ctx.Err() != nil {
			return nil, m.ctx.Err()
		}
		d, err := s.Next(ctx)
		if err != nil {
			return nil, err
		}
		if d == nil {
			return p, p.settle(orders)
		}
		if err := p.see(d.IndexInternalID, d.Score, orders); err != nil {
			return nil, err
		}
		ctx.DocumentMatchPool.Put(d)
	}
}

func (m *matcher) searching(matches int) *search.SearchContext {
	return &search.SearchContext{DocumentMatchPool: search.NewDocumentMatchPool(matches+1, 0), IndexReader: m.r}
}

// window is a time range in milliseconds, as documents' times are cut.
type window struct {
	from, to int64
	bounded  bool // on any side
}

const (
	firstMilli = 0
	lastMilli  = 1<<56 - 1
)

func newWindow(from, to time.Time) window {
	w := window{firstMilli, lastMilli, !from.IsZero() || !to.IsZero()}
	if !from.IsZero() {
		w.from = max(w.from, from.UnixMilli())
	}
	if !to.IsZero() {
		w.to = min(w.to, to.UnixMilli())
	}
	return w
}

// has: a time that nobody told is in no range but all of time.
func (w window) has(milli int64) bool {
	return !w.bounded || milli != untold && w.from <= milli && milli < w.to
}
