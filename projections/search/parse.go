package search

import (
	"slices"
	"strings"
	"unicode"
)

// Limits of what one query is read for.
const (
	maxQueryBytes = 8 << 10
	maxClauses    = 32
)

// clauseKind says how a clause can be looked for.
type clauseKind uint8

const (
	wordClause     clauseKind = iota // one part
	compoundClause                   // a whole token, or its parts in a row
	denseClause                      // pairs of a script without spaces, in a row
	phraseClause                     // quoted: tokens in a row
)

// clause is one thing that was asked for.
type clause struct {
	kind  clauseKind
	shown string     // as it was typed
	whole string     // compound: its token
	steps [][]string // tokens in a row; an empty step is any token
}

// terms are the steps' tokens without gaps.
func (c *clause) terms() []string {
	var all []string
	for _, s := range c.steps {
		all = append(all, s...)
	}
	return all
}

// reading is a query text as it was read.
type reading struct {
	clauses []clause
	notes   []string // what somebody may have meant otherwise
}

// parse reads any text; it has no errors. No clause: nothing to look for.
func parse(text string) reading {
	var r reading
	if len(text) > maxQueryBytes {
		text = beforeCut(text[:maxQueryBytes])
		r.notes = append(r.notes, "only the beginning of the text was read")
	}
	text = straight.Replace(text)
	for i, piece := range strings.Split(text, `"`) {
		switch {
		case i%2 == 0:
			r.words(piece)
		case strings.Count(text, `"`) == i: // the last quote opens and nothing closes it
			r.notes = append(r.notes, "the quote is not closed, its words were read one by one")
			r.words(piece)
		default:
			r.phrase(piece)
		}
	}
	r.operators(text)
	if len(r.clauses) > maxClauses {
		r.clauses = r.clauses[:maxClauses]
		r.notes = append(r.notes, "only the first words were looked for")
	}
	return r
}

// beforeCut leaves out the word that a cut at the end of text may have halved.
func beforeCut(text string) string {
	if at := strings.LastIndexAny(text, " \t\n"); at > 0 {
		return text[:at]
	}
	return strings.ToValidUTF8(text, "")
}

var straight = strings.NewReplacer("“", `"`, "”", `"`, "„", `"`, "«", `"`, "»", `"`)

// operators notes what other search languages give a meaning.
func (r *reading) operators(text string) {
	fields := strings.Fields(text)
	upper := func(w string) bool { return w == "AND" || w == "OR" || w == "NOT" }
	if slices.ContainsFunc(fields, upper) || strings.ContainsAny(text, "*?~^+|&!(){}[]:\\") {
		r.notes = append(r.notes, "there are no operators, all was read as plain words")
	}
	if slices.ContainsFunc(fields, func(w string) bool { return len(w) > 1 && w[0] == '-' }) {
		r.notes = append(r.notes, "a leading minus does not exclude")
	}
}

// words adds a clause for each unit of text.
func (r *reading) words(text string) {
	for _, chunk := range strings.FieldsFunc(text, unicode.IsSpace) {
		var a analyzer
		a.scan(chunk, 0)
		for unit := range units(a.tokens) {
			r.add(unitClause(chunk, unit))
		}
	}
}

// units gives the tokens of each unit.
func units(tokens []token) func(yield func([]token) bool) {
	return func(yield func([]token) bool) {
		for len(tokens) > 0 {
			n := 1
			for n < len(tokens) && tokens[n].unit == tokens[0].unit {
				n++
			}
			if !yield(tokens[:n]) {
				return
			}
			tokens = tokens[n:]
		}
	}
}

func unitClause(text string, unit []token) clause {
	end := 0
	for _, t := range unit {
		end = max(end, t.end)
	}
	c := clause{shown: text[unit[0].start:end], steps: steps(unit)}
	switch {
	case unit[0].kind == gram:
		c.kind = denseClause
	case len(c.steps) > 1 || slices.ContainsFunc(unit, func(t token) bool { return t.kind == whole }):
		c.kind, c.whole = compoundClause, longest(unit)
	}
	return c
}

// longest is the unit's own token among those of its identifiers and parts.
func longest(unit []token) string {
	t := slices.MaxFunc(unit, func(a, b token) int { return (a.end - a.start) - (b.end - b.start) })
	return t.term
}

// steps gives the tokens by position. The single last character of a run stands
// for any: in a document another one may follow.
func steps(tokens []token) [][]string {
	var s [][]string
	for i, t := range tokens {
		if t.kind == whole {
			continue
		}
		if t.kind == tail && i > 0 {
			s = append(s, nil)
			continue
		}
		s = append(s, []string{t.term})
	}
	for len(s) > 0 && s[len(s)-1] == nil {
		s = s[:len(s)-1]
	}
	return s
}

// phrase adds a quoted text. One word in quotes is that word.
func (r *reading) phrase(text string) {
	var a analyzer
	a.scan(text, 0)
	s := steps(a.tokens)
	switch {
	case len(s) == 0:
	case len(s) == 1:
		r.words(text)
	default:
		r.add(clause{kind: phraseClause, shown: `"` + strings.Join(strings.Fields(text), " ") + `"`, steps: s})
	}
}

// add leaves out what was asked before.
func (r *reading) add(c clause) {
	same := func(o clause) bool {
		return o.kind == c.kind && o.whole == c.whole && slices.EqualFunc(o.steps, c.steps, slices.Equal[[]string])
	}
	if !slices.ContainsFunc(r.clauses, same) {
		r.clauses = append(r.clauses, c)
	}
}

// loosened is r with quoted phrases as their words.
func (r reading) loosened() reading {
	out := reading{notes: r.notes}
	for _, c := range r.clauses {
		if c.kind == phraseClause {
			out.words(strings.Trim(c.shown, `"`))
			continue
		}
		out.add(c)
	}
	out.clauses = out.clauses[:min(len(out.clauses), maxClauses)]
	return out
}

// single: the clause is one token.
func (c *clause) single() bool { return len(c.steps) == 1 && c.kind != compoundClause }
