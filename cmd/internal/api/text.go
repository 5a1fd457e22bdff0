package api

import (
	"fmt"
	"path"
	"sort"
	"strings"
	"time"
	"unicode/utf8"

	"cmem/projections/contextcache"
)

// The text answers: a count, then days, then files, one line each, in the form
// that agents working with claude-mem know.

// icons of what is no observation; those have contextcache's.
var icons = map[string]string{"session": "🎯", "prompt": "💬", "text": "🗨", "turn": "🔧"}

func icon(kind string) string {
	if i, ok := icons[kind]; ok {
		return i
	}
	return contextcache.Icon(kind)
}

// entry is one line of a text answer.
type entry struct {
	ref, kind, title, file string
	at                     time.Time
	tokens                 int // what reading it whole costs; 0 is not said
	anchor                 bool
}

// sheet writes entries under days and files.
type sheet struct {
	b    strings.Builder
	zone *time.Location
	cost string // heading of the last column
}

func (s *sheet) write(entries []entry) {
	for _, day := range groups(entries, func(e entry) string { return s.day(e.at) }) {
		fmt.Fprintf(&s.b, "### %s\n\n", day.name)
		for _, file := range groups(day.entries, func(e entry) string { return e.file }) {
			s.table(file.name, file.entries)
		}
	}
}

func (s *sheet) day(t time.Time) string {
	if t.IsZero() {
		return "No date"
	}
	return t.In(s.zone).Format("Jan 2, 2006")
}

func (s *sheet) clock(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.In(s.zone).Format("3:04 PM")
}

func (s *sheet) table(file string, entries []entry) {
	if file == "" {
		file = "General"
	}
	fmt.Fprintf(&s.b, "**%s**\n| ID | Time | T | Title | %s |\n|----|------|---|-------|------|\n", inline(file), s.cost)
	last := ""
	for _, e := range entries {
		clock, shown := s.clock(e.at), ""
		if shown = clock; clock == last {
			shown = "″"
		}
		last = clock
		cost := "-"
		if e.tokens > 0 {
			cost = fmt.Sprintf("~%d", e.tokens)
		}
		title := cell(e.title)
		if e.anchor {
			title += " <- **ANCHOR**"
		}
		fmt.Fprintf(&s.b, "| %s | %s | %s | %s | %s |\n", e.ref, shown, icon(e.kind), title, cost)
	}
	s.b.WriteByte('\n')
}

type group struct {
	name    string
	entries []entry
}

// groups keeps the order in which names first appear.
func groups(entries []entry, name func(entry) string) []group {
	var out []group
	at := map[string]int{}
	for _, e := range entries {
		n := name(e)
		i, ok := at[n]
		if !ok {
			i = len(out)
			at[n], out = i, append(out, group{name: n})
		}
		out[i].entries = append(out[i].entries, e)
	}
	return out
}

// byDay puts days in ascending order and keeps the order within a day.
func byDay(entries []entry, zone *time.Location) []entry {
	sort.SliceStable(entries, func(i, j int) bool {
		return entries[i].at.In(zone).Format(time.DateOnly) < entries[j].at.In(zone).Format(time.DateOnly)
	})
	return entries
}

// titleLength is where a prompt is cut in a list.
const titleLength = 60

func cut(s string, n int) string {
	s = inline(s)
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return strings.TrimRight(string([]rune(s)[:n]), " ") + "…"
}

// inline puts a text on one line.
func inline(s string) string { return strings.Join(strings.Fields(s), " ") }

// cell keeps a table's columns whole.
func cell(s string) string { return strings.ReplaceAll(inline(s), "|", "\\|") }

// tokens estimates what reading texts costs a model.
func tokens(texts ...string) int {
	n := 0
	for _, t := range texts {
		n += len(t)
	}
	return (n + 3) / 4
}

func (o ObservationRow) entry() entry {
	e := entry{ref: fmt.Sprintf("#%d", o.ID), kind: o.Type, title: o.Title, at: epochTime(o.CreatedAtEpoch)}
	if e.title == "" {
		e.title = cut(o.Subtitle+" "+o.Narrative, titleLength)
	}
	for _, files := range []List{o.FilesModified, o.FilesRead} {
		if len(files) > 0 {
			e.file = files[0]
			break
		}
	}
	e.tokens = tokens(o.Title, o.Subtitle, o.Narrative, strings.Join(o.Facts, " "))
	return e
}

func (s SummaryRow) entry() entry {
	return entry{ref: fmt.Sprintf("#S%d", s.ID), kind: "session", title: cut(s.Request, 2*titleLength), at: epochTime(s.CreatedAtEpoch),
		tokens: tokens(s.Request, s.Investigated, s.Learned, s.Completed, s.NextSteps)}
}

func (p PromptRow) entry() entry {
	title := cut(p.PromptText, titleLength)
	if p.Private {
		title = "(private)"
	}
	return entry{ref: fmt.Sprintf("#P%d", p.ID), kind: "prompt", title: title, at: epochTime(p.CreatedAtEpoch)}
}

func (t TextRow) entry() entry {
	return entry{ref: fmt.Sprintf("#T%d", t.ID), kind: "text", title: cut(t.Text, 2*titleLength), at: epochTime(t.CreatedAtEpoch), tokens: tokens(t.Text)}
}

func (t TurnRow) entry() entry {
	return entry{ref: fmt.Sprintf("#W%d", t.ID), kind: "turn", title: turnTitle(t), at: epochTime(t.CreatedAtEpoch)}
}

// turnTitle says what a turn did: its tools by name, and the files and commands.
func turnTitle(t TurnRow) string {
	var parts []string
	seen := map[string]bool{}
	add := func(s string) {
		if s != "" && !seen[s] {
			seen[s], parts = true, append(parts, s)
		}
	}
	for _, u := range t.Tools {
		switch {
		case u.Command != "":
			add(u.Name + " " + cut(u.Command, 40))
		case len(u.Files) > 0:
			add(u.Name + " " + path.Base(u.Files[0]))
		default:
			add(u.Name)
		}
	}
	return cut(fmt.Sprintf("%d tool uses: %s", len(t.Tools), strings.Join(parts, ", ")), 2*titleLength)
}

func epochTime(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}
