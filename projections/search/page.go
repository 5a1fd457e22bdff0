package search

import (
	"cmp"
	"container/heap"
	"slices"

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
	drawn        []scored // matches whose order was not read yet
	scores       scoreHeap
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

// see counts one match and keeps it if it is good enough. Reading an order
// unpacks the orders of a thousand documents, so by relevance it is put off until
// all scores are known, and then read only where it decides.
func (p *page) see(id index.IndexInternalID, score float64, orders index.DocValueReader) error {
	if p.sort == Relevance && !p.window.bounded {
		p.total++
		p.draw(scored{id.Value(), score})
		return nil
	}
	o, err := readOrder(id, orders)
	if err != nil || !p.window.has(o.milli) {
		return err
	}
	p.total++
	p.offer(found{id.Value(), score, o})
	return nil
}

func readOrder(id index.IndexInternalID, orders index.DocValueReader) (o order, err error) {
	err = orders.VisitDocValues(id, func(_ string, term []byte) {
		if got, ok := decodeOrder(term); ok {
			o = got
		}
	})
	return o, err
}

// scored is a match of which only the score is known.
type scored struct {
	number uint64
	score  float64
}

// scoreHeap are the best scores seen, as many as the page has places, the lowest
// on top.
type scoreHeap []float64

func (h scoreHeap) Len() int           { return len(h) }
func (h scoreHeap) Less(i, j int) bool { return h[i] < h[j] }
func (h scoreHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *scoreHeap) Push(v any)        { *h = append(*h, v.(float64)) }
func (h *scoreHeap) Pop() any          { return nil } // never taken out: see draw

// draw keeps m if its score may be good enough.
func (p *page) draw(m scored) {
	switch {
	case p.size == 0:
		return
	case len(p.scores) < p.size:
		heap.Push(&p.scores, m.score)
	case m.score < p.scores[0]:
		return
	case m.score > p.scores[0]:
		p.scores[0] = m.score
		heap.Fix(&p.scores, 0)
	}
	p.drawn = append(p.drawn, m)
	if len(p.drawn) == cap(p.drawn) {
		p.sift() // before it would grow
	}
}

// sift drops what better scores have driven out.
func (p *page) sift() {
	if len(p.scores) == p.size {
		p.drawn = slices.DeleteFunc(p.drawn, func(m scored) bool { return m.score < p.scores[0] })
	}
}

// settle reads the orders that were put off and keeps the best.
func (p *page) settle(orders index.DocValueReader) error {
	p.sift()
	var id index.IndexInternalID
	for _, m := range p.drawn {
		id = index.NewIndexInternalID(id, m.number)
		o, err := readOrder(id, orders)
		if err != nil {
			return err
		}
		p.offer(found{m.number, m.score, o})
	}
	p.drawn, p.scores = nil, nil
	return nil
}
