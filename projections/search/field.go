package search

import (
	"math"

	index "github.com/blevesearch/bleve_index_api"
)

// The fields of a document. They are built whole before scorch sees them, so
// Analyze has nothing to do.
const (
	textName   = "t"
	filterName = "f"
	orderName  = "o"
)

// field is an index.Field whose terms are known.
type field struct {
	name    string
	options index.FieldIndexingOptions
	terms   index.TokenFrequencies
	length  int
	bytes   uint64
}

func (f *field) Name() string                                     { return f.name }
func (f *field) Value() []byte                                    { return nil }
func (f *field) ArrayPositions() []uint64                         { return nil }
func (f *field) EncodedFieldType() byte                           { return 't' }
func (f *field) Analyze()                                         {}
func (f *field) Options() index.FieldIndexingOptions              { return f.options }
func (f *field) AnalyzedLength() int                              { return f.length }
func (f *field) AnalyzedTokenFrequencies() index.TokenFrequencies { return f.terms }
func (f *field) NumPlainTextBytes() uint64                        { return f.bytes }
func (f *field) Size() int                                        { return int(f.bytes) }

// How much a word weighs by where it stands. The weights of all places are
// added up and stored as the term's frequency, as BM25F does, so that a word is
// one posting whatever the number of places.
const (
	titleWeight = 6
	factWeight  = 3
	textWeight  = 2
	pathWeight  = 1
)

const (
	// gap is the distance of positions between two texts: no phrase crosses it.
	gap = 100
	// maxWords is how many words of one document are indexed, and maxText how
	// many bytes of one of its texts are read for them.
	maxWords = 20_000
	maxText  = 256 << 10
)

// words collects the text field of one document. The field outlives it until the
// batch is stored; what only the collecting needs is not kept with it.
type words struct {
	*analyzer
	*field
	next   int // position of the next text
	counts []index.TokenFreq
	locs   []index.TokenLocation
	refs   []*index.TokenLocation
}

// newWords uses a, which may serve one document after another, for a text of
// about size bytes.
func newWords(a *analyzer, size int) *words {
	n := min(size, maxText)/10 + 8 // terms to be expected of so many bytes
	return &words{
		analyzer: a,
		field:    &field{name: textName, options: index.IndexField | index.IncludeTermVectors, terms: make(index.TokenFrequencies, n)},
		counts:   make([]index.TokenFreq, 0, n), locs: make([]index.TokenLocation, 0, n), refs: make([]*index.TokenLocation, 0, n),
	}
}

func (w *words) add(text string, weight int) {
	if text == "" || w.length >= maxWords {
		return
	}
	text = head(text, maxText)
	w.scan(text, w.next)
	for _, t := range w.tokens {
		w.count(t, weight)
	}
	w.next = w.pos + gap
	w.bytes += uint64(len(text))
}

// count adds one token. A whole has no position of its own: its parts do.
func (w *words) count(t token, weight int) {
	f := w.terms[t.term]
	if f == nil {
		f = w.newTerm(t.term)
	}
	f.SetFrequency(min(f.Frequency()+weight, math.MaxInt16))
	if t.kind == whole {
		return
	}
	w.length++
	w.locs = grow(w.locs)
	l := &w.locs[len(w.locs)-1]
	l.Position = t.pos + 1
	if f.Locations == nil {
		w.refs = grow(w.refs)
		n := len(w.refs)
		f.Locations = w.refs[n-1 : n-1 : n]
	}
	f.Locations = append(f.Locations, l)
}

func (w *words) newTerm(term string) *index.TokenFreq {
	w.counts = grow(w.counts)
	f := &w.counts[len(w.counts)-1] // its Term is read by composite fields only
	w.terms[term] = f
	return f
}

// grow makes room for one more. Pointers into the older block stay good.
func grow[T any](s []T) []T {
	if len(s) == cap(s) {
		s = make([]T, 0, max(64, cap(s)))
	}
	return s[:len(s)+1]
}

// keywords makes a field of terms that only say yes or no.
func keywords(name string, terms []string, more index.FieldIndexingOptions) *field {
	f := &field{name: name, options: index.IndexField | index.SkipFreqNorm | more, terms: make(index.TokenFrequencies, len(terms))}
	counts := make([]index.TokenFreq, len(terms))
	for i, t := range terms {
		counts[i].Term = []byte(t)
		f.terms[t] = &counts[i]
		f.bytes += uint64(len(t))
	}
	f.length = len(f.terms)
	return f
}
