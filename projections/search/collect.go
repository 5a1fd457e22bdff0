package search

import (
	"cmp"
	"container/heap"
	"slices"
	"time"

	"github.com/blevesearch/bleve/v2/search"
	index "github.com/blevesearch/bleve_index_api"
)

// found is a document that matched.
type found struct {
	number uint64 // in the snapshot
	score  float64
	order  order
}

// page keeps the best of what is found, up to the end of the page asked for, as
// a heap with the worst on top.
type page struct {
	sort         Sort
	offset, size int
	window       window
	kept         []found
	total        int
}

// before says whether a stands above b. Nothing is left to chance: the hash
// decides where all else is equal, so that a rebuilt index gives the same order.
func (p *page) before(a, b *found) bool {
	newer := cmp.Or(cmp.Compare(b.order.position, a.order.position), cmp.Compare(b.order.hash, a.order.hash))
	switch p.sort {
	case DateAsc:
		return newer > 0
	case DateDesc:
		return newer < 0
	}
	return cmp.Or(cmp.Compare(b.score, a.score), newer) < 0
}

func (p *page) Len() int           { return len(p.kept) }
func (p *page) Less(i, j int) bool { return p.before(&p.kept[j], &p.kept[i]) }
func (p *page) Swap(i, j int)      { p.kept[i], p.kept[j] = p.kept[j], p.kept[i] }
func (p *page) Push(v any)         { p.kept = append(p.kept, v.(found)) }
func (p *page) Pop() any           { return nil } // never taken out: see offer

func (p *page) full() bool { return len(p.kept) == p.size }

func (p *page) offer(f found) {
	switch {
	case p.size == 0:
	case !p.full():
		heap.Push(p, f)
	case p.before(&f, &p.kept[0]):
		p.kept[0] = f
		heap.Fix(p, 0)
	}
}

// hits are those of the page, in order.
func (p *page) hits() []found {
	slices.SortFunc(p.kept, func(a, b found) int {
		switch {
		case p.before(&a, &b):
			return -1
		case p.before(&b, &a):
			return 1
		}
		return 0
	})
	return p.kept[min(p.offset, len(p.kept)):]
}

// maxReach is how many hits can be paged through.
const maxReach = 100_000

func newPage(q Query) *page {
	limit := q.Limit
	if limit <= 0 {
		limit = DefaultLimit
	}
	offset := min(max(q.Offset, 0), maxReach)
	return &page{sort: q.Sort, offset: offset, size: offset + min(limit, maxReach), window: newWindow(q.From, q.To)}
}

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
		if err != nil || d == nil {
			return p, err
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

// see counts one match and keeps it if it is good enough. The order is read only
// where it can decide.
func (p *page) see(id index.IndexInternalID, score float64, orders index.DocValueReader) error {
	f := found{number: id.Value(), score: score}
	if !p.window.open() || p.sort != Relevance || !p.full() || f.score >= p.kept[0].score {
		err := orders.VisitDocValues(id, func(_ string, term []byte) {
			if o, ok := decodeOrder(term); ok {
				f.order = o
			}
		})
		if err != nil || !p.window.has(f.order.milli) {
			return err
		}
		p.offer(f)
	}
	p.total++
	return nil
}

// window is a time range in milliseconds, as documents' times are cut.
type window struct{ from, to int64 }

const (
	firstMilli = 0
	lastMilli  = 1<<56 - 1
)

func newWindow(from, to time.Time) window {
	w := window{firstMilli, lastMilli}
	if !from.IsZero() {
		w.from = max(w.from, from.UnixMilli())
	}
	if !to.IsZero() {
		w.to = min(w.to, to.UnixMilli())
	}
	return w
}

func (w window) open() bool           { return w == window{firstMilli, lastMilli} }
func (w window) has(milli int64) bool { return w.from <= milli && milli < w.to }
