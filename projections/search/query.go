package search

import (
	"context"
	"errors"
	"fmt"

	index "github.com/blevesearch/bleve_index_api"
)

// Query finds documents. Its errors are ErrNoText, the context's, the Source's,
// ErrClosed and ErrDamaged, never something about the text; with ErrNoText the
// result still says how the text was read.
func (x *Index) Query(ctx context.Context, q Query) (res Result, err error) {
	r := parse(q.Text)
	if len(r.clauses) == 0 {
		return Result{Interpreted: "no words to look for"}, ErrNoText
	}
	s, done, err := x.use()
	if err != nil {
		return res, err
	}
	defer done()
	// A damaged segment faults where it is read; that is an answer, not an end.
	defer guard(&err)()
	found, err := x.query(ctx, s, q, r)
	var source *sourceError
	switch {
	case err == nil:
		return found, nil
	case ctx.Err() != nil, errors.As(err, &source), errors.Is(err, ErrDamaged):
		return res, fmt.Errorf("search: %w", err)
	}
	return res, fmt.Errorf("%w: %w", ErrDamaged, err)
}

// sourceError: the index is well, its Source could not say what a document holds.
type sourceError struct{ err error }

func (e *sourceError) Error() string { return e.err.Error() }
func (e *sourceError) Unwrap() error { return e.err }

func (x *Index) query(ctx context.Context, s *store, q Query, r reading) (Result, error) {
	reader, err := s.reader(ctx)
	if err != nil {
		return Result{}, err
	}
	defer reader.Close()
	m, err := newMatcher(ctx, reader)
	if err != nil {
		return Result{}, err
	}
	known, err := m.known(r)
	if err != nil {
		return Result{}, err
	}
	a, p, err := m.look(q, known)
	if err != nil {
		return Result{}, err
	}
	if p == nil {
		return Result{Hits: []Hit{}, Interpreted: strict(r).told(m.notes(r))}, nil
	}
	return x.result(m, q, r, a, p)
}

// look goes from the strictest attempt to the widest; without a hit p is nil.
func (m *matcher) look(q Query, r reading) (a attempt, p *page, err error) {
	if len(r.clauses) == 0 {
		return a, nil, nil
	}
	if a, p, err = m.lookOnce(q, r); err != nil || p != nil || !hasPhrase(r) {
		return a, p, err
	}
	const why = "nothing has the phrase, its words were looked for"
	if a, p, err = m.lookOnce(q, r.loosened()); a.why == "" {
		a.why = why
	} else {
		a.why = why + "; " + a.why
	}
	return a, p, err
}

func (m *matcher) lookOnce(q Query, r reading) (a attempt, p *page, err error) {
	a = strict(r)
	s, err := m.all(a, q.filterTerms())
	if err != nil {
		return a, nil, err
	}
	p, err = m.collect(s, q)
	if err = errors.Join(err, s.Close()); err != nil || p.total > 0 {
		return a, p, err
	}
	return m.collectWider(q, wider(r))
}

// result names the hits of a page.
func (x *Index) result(m *matcher, q Query, r reading, a attempt, p *page) (Result, error) {
	res := Result{Total: p.total, Interpreted: a.told(m.notes(r)), Hits: []Hit{}}
	for _, f := range p.hits() {
		id, err := m.r.ExternalID(index.NewIndexInternalID(nil, f.number))
		if err != nil {
			return res, err
		}
		d, err := parseID(id)
		if err != nil {
			return res, err
		}
		res.Hits = append(res.Hits, Hit{Doc: d, Position: f.order.position, Time: f.order.time(), Score: f.score})
	}
	if q.Snippets {
		return res, x.snippets(res.Hits, m.matched(a))
	}
	return res, nil
}

// snippets fills in the lines. A document that is gone has none.
func (x *Index) snippets(hits []Hit, matched map[string]bool) error {
	for i := range hits {
		d, ok, err := x.conf.Source.Document(hits[i].Doc)
		if err != nil {
			return &sourceError{fmt.Errorf("content of %s %d: %w", hits[i].Kind, hits[i].ID, err)}
		}
		if ok {
			hits[i].Snippet, hits[i].Terms = snippet(d, matched)
		}
	}
	return nil
}
