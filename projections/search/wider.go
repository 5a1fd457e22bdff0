package search

import (
	"errors"

	"github.com/blevesearch/bleve/v2/search"
	index "github.com/blevesearch/bleve_index_api"
)

// collectWider looks for several attempts on one reading in one pass over the
// documents that have any of its clauses, and gives the first attempt that has a
// document, with its page; no page if none has.
func (m *matcher) collectWider(q Query, all []attempt) (attempt, *page, error) {
	u, err := m.union(all[0], q.filterTerms())
	if err != nil {
		return attempt{}, nil, err
	}
	pages := make([]*page, len(all))
	for i := range pages {
		pages[i] = newPage(q)
	}
	orders, err := m.r.DocValueReader([]string{orderName})
	if err == nil {
		err = m.collectUnion(u, all, pages, orders)
	}
	if err = errors.Join(err, u.close()); err != nil {
		return attempt{}, nil, err
	}
	for i, p := range pages {
		if p.total > 0 {
			return all[i], p, p.settle(orders)
		}
	}
	return attempt{}, nil, nil
}

func (m *matcher) collectUnion(u *union, all []attempt, pages []*page, orders index.DocValueReader) error {
	u.ctx = m.searching(u.matches())
	if err := u.start(); err != nil {
		return err
	}
	for n := 0; ; n++ {
		if n%256 == 0 && m.ctx.Err() != nil {
			return m.ctx.Err()
		}
		id, clauses, score, err := u.next()
		if err != nil || id == nil {
			return err
		}
		for i, p := range pages {
			if clauses >= all[i].least {
				if err := p.see(id, score, orders); err != nil {
					return err
				}
			}
			// What is found here is better than what further pages want.
			if p.total > 0 {
				break
			}
		}
	}
}

// union walks through the documents that any of its clauses has and the filter
// accepts, in order of their numbers.
type union struct {
	clauses []search.Searcher
	filter  search.Searcher // nil accepts all
	ctx     *search.SearchContext
	at      []*search.DocumentMatch // of each clause; nil at its end
	passed  *search.DocumentMatch   // of the filter
	id      index.IndexInternalID
}

func (m *matcher) union(a attempt, filters [][]string) (*union, error) {
	var s, f searchers
	for i := range a.clauses {
		s.add(m.clause(&a.clauses[i], a.wide))
	}
	for _, terms := range filters {
		f.add(m.filter(terms))
	}
	u := &union{clauses: s.all, at: make([]*search.DocumentMatch, len(s.all))}
	if len(filters) > 0 {
		u.filter, f.err = m.conjunction(&f, search.SearcherOptions{Score: "none"})
	}
	if err := errors.Join(s.err, f.err); err != nil {
		return nil, errors.Join(err, u.close())
	}
	return u, nil
}

func (u *union) close() error {
	var errs []error
	for _, c := range u.clauses {
		errs = append(errs, c.Close())
	}
	if u.filter != nil {
		errs = append(errs, u.filter.Close())
	}
	return errors.Join(errs...)
}

// matches is how many documents may be held at once.
func (u *union) matches() int {
	n := len(u.clauses) + 1
	for _, c := range u.clauses {
		n += c.DocumentMatchPoolSize()
	}
	if u.filter != nil {
		n += u.filter.DocumentMatchPoolSize()
	}
	return n
}

func (u *union) start() (err error) {
	for i, c := range u.clauses {
		if u.at[i], err = c.Next(u.ctx); err != nil {
			return err
		}
	}
	if u.filter != nil {
		u.passed, err = u.filter.Next(u.ctx)
	}
	return err
}

// next gives a document, how many clauses it has and their scores together; a
// nil id at the end. The id is good until the next call.
func (u *union) next() (id index.IndexInternalID, clauses int, score float64, err error) {
	for {
		first := u.first()
		if first == nil {
			return nil, 0, 0, nil
		}
		u.id = append(u.id[:0], first...)
		ok, err := u.accepts(u.id)
		if err != nil {
			return nil, 0, 0, err
		}
		if ok {
			break
		}
		if u.passed == nil {
			return nil, 0, 0, nil
		}
		if err := u.skip(u.passed.IndexInternalID); err != nil {
			return nil, 0, 0, err
		}
	}
	for i, d := range u.at {
		if d == nil || !d.IndexInternalID.Equals(u.id) {
			continue
		}
		clauses++
		score += d.Score
		u.ctx.DocumentMatchPool.Put(d)
		if u.at[i], err = u.clauses[i].Next(u.ctx); err != nil {
			return nil, 0, 0, err
		}
	}
	return u.id, clauses, score * float64(clauses) / float64(len(u.clauses)), nil
}

// first is the lowest document any clause stands at.
func (u *union) first() (id index.IndexInternalID) {
	for _, d := range u.at {
		if d != nil && (id == nil || d.IndexInternalID.Compare(id) < 0) {
			id = d.IndexInternalID
		}
	}
	return id
}

// accepts moves the filter to id or past it.
func (u *union) accepts(id index.IndexInternalID) (bool, error) {
	if u.filter == nil {
		return true, nil
	}
	if u.passed != nil && u.passed.IndexInternalID.Compare(id) < 0 {
		u.ctx.DocumentMatchPool.Put(u.passed)
		var err error
		if u.passed, err = u.filter.Advance(u.ctx, id); err != nil {
			return false, err
		}
	}
	return u.passed != nil && u.passed.IndexInternalID.Equals(id), nil
}

// skip moves every clause to id or past it.
func (u *union) skip(id index.IndexInternalID) (err error) {
	for i, d := range u.at {
		if d == nil || d.IndexInternalID.Compare(id) >= 0 {
			continue
		}
		u.ctx.DocumentMatchPool.Put(d)
		if u.at[i], err = u.clauses[i].Advance(u.ctx, id); err != nil {
			return err
		}
	}
	return nil
}
