package search

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/search"
	"github.com/blevesearch/bleve/v2/search/searcher"
	index "github.com/blevesearch/bleve_index_api"
)

// How matches weigh against each other.
const (
	wholeBoost  = 3   // a unit as it was typed
	rowBoost    = 1   // its parts in a row
	looseBoost  = 0.3 // its parts anywhere
	beginBoost  = 0.4 // a word that begins with the one typed
	spellBoost  = 0.3 // a word that is spelled almost like it
	meanLength  = 100 // words of a document that length neither favours nor punishes
	minBeginLen = 4   // characters of a word that may be a beginning
	minSpellLen = 5   // characters of a word that may be misspelled
)

// matcher makes searchers for one query on one snapshot.
type matcher struct {
	plain  context.Context
	ctx    context.Context // with the scoring model
	r      index.IndexReader
	near   map[string]near     // words that no document has
	ranges map[string][]string // words that begin with one
}

// near is what is looked for instead of a word that no document has.
type near struct {
	terms []string
	boost float64
	note  string
}

func newMatcher(ctx context.Context, r index.IndexReader) (*matcher, error) {
	n, err := r.DocCount()
	if err != nil {
		return nil, err
	}
	stats := &search.BM25Stats{DocCount: float64(n), FieldCardinality: map[string]int{textName: int(n) * meanLength}}
	scoring := context.WithValue(ctx, search.BM25StatsKey, stats)
	scoring = context.WithValue(scoring, search.GetScoringModelCallbackKey, search.GetScoringModelCallbackFn(func() string { return index.BM25Scoring }))
	return &matcher{plain: ctx, ctx: scoring, r: r, near: map[string]near{}, ranges: map[string][]string{}}, nil
}

// all finds the documents that have all clauses of a and pass the filters.
func (m *matcher) all(a attempt, filters [][]string) (search.Searcher, error) {
	var s searchers
	for i := range a.clauses {
		s.add(m.clause(&a.clauses[i], a.wide))
	}
	for _, terms := range filters {
		s.add(m.filter(terms))
	}
	return m.conjunction(&s, search.SearcherOptions{})
}

// filter finds the documents that have one of terms. It does not score.
func (m *matcher) filter(terms []string) (search.Searcher, error) {
	return searcher.NewMultiTermSearcher(m.plain, m.r, terms, filterName, 1, search.SearcherOptions{Score: "none"}, false)
}

// conjunction takes over the searchers of s, also on an error.
func (m *matcher) conjunction(s *searchers, o search.SearcherOptions) (search.Searcher, error) {
	if s.close() != nil {
		return nil, s.err
	}
	if len(s.all) == 1 {
		return s.all[0], nil
	}
	ctx := m.ctx
	if o.Score == "none" {
		ctx = m.plain
	}
	c, err := searcher.NewConjunctionSearcher(ctx, m.r, s.all, o)
	if err != nil {
		s.err = err
		_ = s.close()
		return nil, err
	}
	return c, nil
}

// searchers collects searchers until one fails.
type searchers struct {
	all []search.Searcher
	err error
}

func (s *searchers) add(one search.Searcher, err error) {
	if s.err == nil {
		s.err = err
	}
	if err == nil && one != nil {
		s.all = append(s.all, one)
	}
}

// close closes all if one failed.
func (s *searchers) close() error {
	if s.err != nil {
		for _, one := range s.all {
			if one != nil {
				_ = one.Close()
			}
		}
		s.all = nil
	}
	return s.err
}

// anyOf finds what at least n of s find. On an error it closes them and is nil.
func (m *matcher) anyOf(s *searchers, n int) search.Searcher {
	if s.close() != nil {
		return nil
	}
	if len(s.all) == 1 {
		return s.all[0]
	}
	d, err := searcher.NewDisjunctionSearcher(m.ctx, m.r, s.all, float64(n), search.SearcherOptions{})
	if err != nil {
		s.err = err
		_ = s.close()
		return nil
	}
	return d
}

// clause finds the documents of one clause.
func (m *matcher) clause(c *clause, wide bool) (search.Searcher, error) {
	var s searchers
	if c.kind == compoundClause {
		m.terms(&s, wholeBoost, c.whole)
		if wide && utf8.RuneCountInString(c.whole) >= minBeginLen {
			m.beginnings(&s, c.whole)
		}
	}
	switch {
	case c.single():
		m.word(&s, c.steps[0][0], wide)
	case len(c.steps) == 1:
		m.terms(&s, rowBoost, c.steps[0][0])
	case len(c.steps) > 1 && !wide && m.enough(c):
	case len(c.steps) > 1:
		s.add(searcher.NewMultiPhraseSearcher(m.ctx, m.r, c.steps, 0, false, textName, rowBoost, search.SearcherOptions{}))
		if wide && c.kind != phraseClause {
			m.anywhere(&s, c)
		}
	}
	one := m.anyOf(&s, 1)
	return one, s.err
}

// enough: a unit that is there as it was typed and has parts of one character
// (v_0, 1.10.0) is not looked for as parts in a row: they are in most documents,
// and mean nothing.
func (m *matcher) enough(c *clause) bool {
	if c.kind != compoundClause || !slices.ContainsFunc(c.terms(), func(t string) bool { return utf8.RuneCountInString(t) == 1 }) {
		return false
	}
	n, err := m.count(c.whole)
	return err == nil && n > 0
}

// anywhere finds a compound's parts in any place, and of a run of characters
// most of the pairs.
func (m *matcher) anywhere(s *searchers, c *clause) {
	var parts searchers
	terms := c.terms()
	m.terms(&parts, looseBoost, terms...)
	least := len(terms)
	if c.kind == denseClause {
		least = max(1, len(terms)/2)
	}
	one := m.anyOf(&parts, least)
	s.add(one, parts.err)
}

func (m *matcher) terms(s *searchers, boost float64, terms ...string) {
	for _, t := range terms {
		s.add(searcher.NewTermSearcher(m.ctx, m.r, t, textName, boost, search.SearcherOptions{}))
	}
}

// word finds one word; what no document has is replaced by what is near it.
func (m *matcher) word(s *searchers, term string, wide bool) {
	n, err := m.nearby(term)
	if err != nil {
		s.add(nil, err)
		return
	}
	m.terms(s, 1, term)
	m.terms(s, n.boost, n.terms...)
	switch r, size := utf8.DecodeRuneInString(term); {
	case isDense(r) && size == len(term):
		m.beginnings(s, term)
	case wide && len(n.terms) == 0 && utf8.RuneCountInString(term) >= minBeginLen:
		m.beginnings(s, term)
	}
}

func (m *matcher) beginnings(s *searchers, term string) {
	terms, err := m.begin(term)
	if err != nil {
		s.add(nil, err)
		return
	}
	m.terms(s, beginBoost, terms...)
}

// nearby gives words for one that no document has: those that begin with it, or
// those that are one change away. For one that some document has: nothing.
func (m *matcher) nearby(term string) (near, error) {
	if n, known := m.near[term]; known {
		return n, nil
	}
	n, err := m.lookNear(term)
	if err == nil {
		m.near[term] = n
	}
	return n, err
}

func (m *matcher) lookNear(term string) (n near, err error) {
	count, err := m.count(term)
	if err != nil || count > 0 {
		return n, err
	}
	n.note = "nothing has %s"
	length := utf8.RuneCountInString(term)
	if length >= minBeginLen {
		if n.terms, err = m.begin(term); err != nil {
			return n, err
		}
		n.boost, n.note = beginBoost, "nothing has %s, it was read as a beginning"
	}
	if len(n.terms) == 0 && length >= minSpellLen {
		if n.terms, err = m.spelled(term); err != nil {
			return n, err
		}
		n.boost, n.note = spellBoost, "nothing has %s, it was read as %s"
	}
	return n, nil
}

func (m *matcher) count(term string) (uint64, error) {
	r, err := m.r.TermFieldReader(m.ctx, []byte(term), textName, false, false, false)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	return r.Count(), nil
}

// known leaves out the words that no document has and nothing is near to.
func (m *matcher) known(r reading) (reading, error) {
	out := reading{notes: r.notes}
	for _, c := range r.clauses {
		if c.single() && c.kind == wordClause {
			n, err := m.nearby(c.steps[0][0])
			if err != nil {
				return out, err
			}
			if n.note != "" && len(n.terms) == 0 {
				continue
			}
		}
		out.clauses = append(out.clauses, c)
	}
	return out, nil
}

// notes says which words of r were replaced or left out.
func (m *matcher) notes(r reading) []string {
	var out []string
	for _, c := range r.clauses {
		if !c.single() {
			continue
		}
		n := m.near[c.steps[0][0]]
		switch {
		case n.note == "":
		case len(n.terms) == 0:
			out = append(out, "nothing has "+c.shown)
		case n.boost == spellBoost:
			out = append(out, fmt.Sprintf(n.note, c.shown, n.terms[0]))
		default:
			out = append(out, fmt.Sprintf(n.note, c.shown))
		}
	}
	return out
}

// matched are all tokens that a may have found.
func (m *matcher) matched(a attempt) map[string]bool {
	set := map[string]bool{}
	for _, c := range a.clauses {
		for _, t := range append(c.terms(), c.whole) {
			set[t] = true
			for _, n := range m.near[t].terms {
				set[n] = true
			}
			if a.wide {
				for _, n := range m.ranges[t] {
					set[n] = true
				}
			}
		}
	}
	delete(set, "")
	return set
}

// Limits of how far the dictionary is read for one word, and of how many of its
// words are looked for: the most frequent.
const (
	maxWalk   = 50_000
	maxExpand = 32
)

// begin gives words that begin with term and are longer.
func (m *matcher) begin(term string) ([]string, error) {
	if all, known := m.ranges[term]; known {
		return all, nil
	}
	dict, err := m.r.FieldDictPrefix(textName, []byte(term))
	if err != nil {
		return nil, err
	}
	all, err := m.walk(dict, term)
	if err == nil {
		m.ranges[term] = all
	}
	return all, err
}

// spelled gives words that differ from term by one letter more, less, other or
// swapped, and begin with the same.
func (m *matcher) spelled(term string) ([]string, error) {
	fuzzy, ok := m.r.(index.IndexReaderFuzzy)
	if !ok {
		return nil, nil
	}
	_, first := utf8.DecodeRuneInString(term)
	dict, err := fuzzy.FieldDictFuzzy(textName, term, 1, term[:first])
	if err != nil {
		return nil, err
	}
	return m.walk(dict, term)
}

// walk reads a dictionary and gives its most frequent words without term.
func (m *matcher) walk(dict index.FieldDict, term string) (_ []string, err error) {
	defer func() {
		if cerr := dict.Close(); err == nil {
			err = cerr
		}
	}()
	found := map[string]uint64{}
	for n := range maxWalk {
		if n%1024 == 0 && m.ctx.Err() != nil {
			return nil, m.ctx.Err()
		}
		e, err := dict.Next()
		if err != nil {
			return nil, err
		}
		if e == nil {
			break
		}
		found[e.Term] += e.Count
	}
	delete(found, term)
	words := slices.SortedFunc(maps.Keys(found), func(a, b string) int {
		if found[a] != found[b] {
			return int(min(found[b], 1<<30)) - int(min(found[a], 1<<30))
		}
		return strings.Compare(a, b)
	})
	return words[:min(len(words), maxExpand)], nil
}
