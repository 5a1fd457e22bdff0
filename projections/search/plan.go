package search

import (
	"fmt"
	"iter"
	"strings"
)

// attempt is one way to look for a reading. A query goes through them until one
// finds something.
type attempt struct {
	reading
	least  int  // clauses a document must have
	begins bool // words may be the beginning of others
	loose  bool // what stands in a row may stand anywhere
	why    string
}

// attempts gives them, the strictest first; none for a reading without clauses:
//
//	all of the clauses
//	all of them, where words may be the beginning of longer ones
//	most of them (three of five)
//	any of them
//	the same with quoted phrases as their words
func attempts(r reading) iter.Seq[attempt] {
	return func(yield func(attempt) bool) {
		if len(r.clauses) == 0 {
			return
		}
		for _, a := range widening(r) {
			if !yield(a) {
				return
			}
		}
		if !hasPhrase(r) {
			return
		}
		for _, a := range widening(r.loosened()) {
			a.why = joinWhy("nothing has the phrase, its words were looked for", a.why)
			if !yield(a) {
				return
			}
		}
	}
}

// strict asks for all there is in r.
func strict(r reading) attempt { return attempt{reading: r, least: len(r.clauses)} }

func widening(r reading) []attempt {
	n := len(r.clauses)
	all := []attempt{
		strict(r),
		{reading: r, least: n, begins: true, why: "nothing has the whole words, they were read as beginnings"},
	}
	if most := (3*n + 4) / 5; most > 1 && most < n {
		all = append(all, attempt{reading: r, least: most, begins: true, loose: true, why: "nothing has all of them"})
	}
	switch {
	case n > 1:
		all = append(all, attempt{reading: r, least: 1, begins: true, loose: true, why: "nothing has more of them"})
	case r.clauses[0].kind == denseClause || r.clauses[0].kind == compoundClause:
		all = append(all, attempt{reading: r, least: 1, begins: true, loose: true, why: "nothing has it as a whole, its parts were looked for"})
	}
	return all
}

func hasPhrase(r reading) bool {
	for _, c := range r.clauses {
		if c.kind == phraseClause {
			return true
		}
	}
	return false
}

func joinWhy(a, b string) string {
	if b == "" {
		return a
	}
	return a + "; " + b
}

// String says what was looked for, in words.
func (a attempt) String() string {
	shown := make([]string, len(a.clauses))
	for i, c := range a.clauses {
		shown[i] = c.shown
	}
	list := strings.Join(shown, ", ")
	switch {
	case len(shown) == 1:
	case a.least == len(shown):
		list = "all of: " + list
	case a.least == 1:
		list = "any of: " + list
	default:
		list = fmt.Sprintf("at least %d of: %s", a.least, list)
	}
	return list
}

// told is String with everything the reader should know of the reading.
func (a attempt) told(more []string) string {
	parts := []string{a.String()}
	if a.why != "" {
		parts = append(parts, a.why)
	}
	parts = append(parts, more...)
	return strings.Join(append(parts, a.notes...), "; ")
}
