package search

import (
	"fmt"
	"strings"
)

// attempt is one way a reading was looked for.
type attempt struct {
	reading
	least int  // clauses a document must have
	wide  bool // words may be the beginning of others; what stands in a row may stand anywhere
	why   string
}

// strict asks for all there is in r, as it is there.
func strict(r reading) attempt { return attempt{reading: r, least: len(r.clauses)} }

// wider gives what is looked for, in one pass, where strict finds nothing: the
// first of these that has a document.
//
//	all of the clauses, where words may be the beginning of longer ones
//	most of them (three of five)
//	any of them
func wider(r reading) []attempt {
	n := len(r.clauses)
	w := attempt{reading: r, wide: true}
	all := []attempt{w.with(n, "nothing has it as it was typed, beginnings and parts were looked for")}
	if most := (3*n + 4) / 5; most > 1 && most < n {
		all = append(all, w.with(most, "nothing has all of them"))
	}
	if n > 1 {
		all = append(all, w.with(1, "nothing has more of them"))
	}
	return all
}

func (a attempt) with(least int, why string) attempt {
	a.least, a.why = least, why
	return a
}

func hasPhrase(r reading) bool {
	for _, c := range r.clauses {
		if c.kind == phraseClause {
			return true
		}
	}
	return false
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
