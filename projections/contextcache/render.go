package contextcache

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"cmem/projections/records"
)

// Render returns the context for v, "" if there is nothing to tell:
//
//	<cmem-context>
//	# name: memory of earlier sessions
//	what it is, how to read it
//	## Last session: …            the newest summary
//	## 2 January 2026             newest first: one row each, `#id time icon title`,
//	                              the newest ones with their texts
//	## Earlier decisions
//	(what was left out)
//	</cmem-context>
//
// If that is longer than the cap, it is shortened in this order until it fits:
// rows after the thirtieth, the oldest first; the texts of rows, the oldest
// first; earlier decisions; the other rows; the last summary. One line says what
// was left out.
func Render(v View, o Options) string {
	p := newPaper(v, o)
	if len(p.rows)+len(p.decisions) == 0 && p.last == nil {
		if o.Person {
			return "No turn in " + p.name() + " has made an observation or a summary yet.\n"
		}
		return ""
	}
	text := p.String()
	for len(text) > p.limit && p.shorten(len(text)-p.limit) {
		text = p.String()
	}
	if len(text) > p.limit { // not even the heading has room
		return ""
	}
	if o.Person {
		return colour(text)
	}
	return text
}

// Sizes of single pieces, in bytes, so that one long memory leaves room for others.
const (
	maxTitle = 160
	maxLine  = 400 // a fact, a field of a summary's line
	maxTexts = 1200
	maxLines = 8
	maxRow   = 2*maxTitle + 100 // with its heading
	enough   = 30               // rows that are worth more than texts
)

// row is one line of a day, with its text if it is shown in full.
type row struct {
	time  time.Time
	id    int64
	label string // "#12" or "S12"
	icon  string
	title string
	from  string // another project, another host
	texts []string
}

// paper is what is going to be written, and what was left out already.
type paper struct {
	view      View
	options   Options
	zone      *time.Location
	limit     int
	last      *records.Summary
	rows      []row // newest first
	decisions []row
	full      int // of rows, the first ones, with their texts

	noTexts, noDecisions, noRows int
	noLast                       bool
}

func newPaper(v View, o Options) *paper {
	p := &paper{view: v, options: o, zone: o.Zone, limit: o.MaxBytes, full: o.Full}
	if p.zone == nil {
		p.zone = time.UTC
	}
	if p.limit == 0 {
		p.limit = DefaultMaxBytes
	}
	if p.limit < 0 {
		p.limit = 1 << 30
	}
	if p.full == 0 {
		p.full = DefaultFull
	}
	p.gather()
	p.full = max(min(p.full, len(p.rows)), 0)
	return p
}

func (p *paper) gather() {
	shown := map[int64]bool{}
	for _, o := range p.view.Observations {
		if !shown[o.ID] {
			p.rows = append(p.rows, p.observation(o))
			shown[o.ID] = true
		}
	}
	for i, s := range current(p.view.Summaries) {
		if i == 0 {
			p.last = &s
			continue // it has a section of its own
		}
		p.rows = append(p.rows, p.session(s))
	}
	for _, o := range p.view.Decisions {
		if !shown[o.ID] {
			p.decisions = append(p.decisions, p.observation(o))
			shown[o.ID] = true
		}
	}
	sortRows(p.rows)
	sortRows(p.decisions)
}

func sortRows(rows []row) {
	slices.SortStableFunc(rows, func(a, b row) int { return newest(a.time, b.time, a.id, b.id) })
}

// newest orders by source time, then by log position.
func newest(a, b time.Time, ida, idb int64) int { return cmp.Or(b.Compare(a), cmp.Compare(idb, ida)) }

func (p *paper) observation(o records.Observation) row {
	r := row{time: o.Time, id: o.ID, label: fmt.Sprintf("#%d", o.ID), icon: Icon(o.Type), title: cut(oneLine(o.Title), maxTitle), from: p.elsewhere(o.Project, o.Host)}
	if r.title == "" {
		r.title = cut(oneLine(o.Narrative+" "+strings.Join(o.Facts, " ")), maxTitle)
	}
	r.texts = texts(o)
	return r
}

func (p *paper) session(s records.Summary) row {
	r := row{time: s.Time, id: s.ID, label: fmt.Sprintf("S%d", s.ID), icon: sessionIcon, title: cut(oneLine(s.Request), maxTitle), from: p.elsewhere(s.Project, s.Host)}
	if r.title == "" {
		r.title = cut(oneLine(s.Completed), maxTitle)
	}
	r.texts = append(r.texts, fields(s)...)
	return r
}

// texts are the lines below a row that is shown in full.
func texts(o records.Observation) []string {
	var out []string
	story := lines(o.Narrative)
	if s := oneLine(o.Subtitle); s != "" && !(len(story) > 0 && excerpt(s, story[0])) {
		out = append(out, cut(s, maxLine))
	}
	for _, l := range story {
		out = append(out, cut(l, maxTexts))
	}
	for _, f := range o.Facts {
		if f = oneLine(f); f != "" {
			out = append(out, "- "+cut(f, maxLine))
		}
	}
	if f := oneLine(strings.Join(o.FilesModified, ", ")); f != "" {
		out = append(out, "changed: "+cut(f, maxLine))
	}
	return capped(out, fmt.Sprintf("(more in #%d)", o.ID))
}

// capped keeps the first lines of one memory and points to the rest.
func capped(all []string, pointer string) []string {
	size := 0
	for i, l := range all {
		if size += len(l); i == maxLines || size > maxTexts+maxLine {
			return append(all[:i:i], pointer)
		}
	}
	return all
}

// fields are the lines of a summary.
func fields(s records.Summary) []string {
	var out []string
	for _, f := range []struct{ name, text string }{
		{"Investigated", s.Investigated}, {"Learned", s.Learned}, {"Completed", s.Completed}, {"Next steps", s.NextSteps},
	} {
		if text := oneLine(f.text); text != "" {
			out = append(out, f.name+": "+cut(text, maxLine*3/2))
		}
	}
	return out
}

// elsewhere names the project and the host of a row where they are not the
// context's own.
func (p *paper) elsewhere(key, host string) string {
	var from []string
	for _, r := range p.view.Related {
		if r.Key == key && key != p.view.Project.Key {
			from = append(from, oneLine(r.Name))
		}
	}
	if p.options.Host != "" && host != p.options.Host && host != "" {
		from = append(from, oneLine(host))
	}
	return cut(strings.Join(from, ", "), maxTitle)
}

func (p *paper) name() string {
	return cmp.Or(cut(oneLine(p.view.Project.Name), maxTitle), "this project")
}

// shorten takes out the next thing, or as many rows as certainly are too many if
// the text is over bytes too long; false if there is none left.
func (p *paper) shorten(over int) bool {
	keep := max(enough, p.full)
	switch {
	case len(p.rows) > keep:
		n := min(max(over/maxRow, 1), len(p.rows)-keep)
		p.rows = p.rows[:len(p.rows)-n]
		p.noRows += n
	case p.full > 0:
		p.full--
		p.noTexts++
	case len(p.decisions) > 0:
		p.decisions = p.decisions[:len(p.decisions)-1]
		p.noDecisions++
	case len(p.rows) > 0:
		p.rows = p.rows[:len(p.rows)-1]
		p.noRows++
	case p.last != nil:
		p.last, p.noLast = nil, true
	default:
		return false
	}
	return true
}
