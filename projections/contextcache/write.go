package contextcache

import (
	"fmt"
	"slices"
	"strings"
)

const sessionIcon = "🎯"

// icons of the types, in the order of the legend; agents know them from
// claude-mem. Any other type has otherIcon.
var icons = []struct{ name, icon string }{
	{"bugfix", "●"}, {"feature", "◆"}, {"refactor", "↻"}, {"change", "✓"}, {"discovery", "○"}, {"decision", "⚖"},
}

const otherIcon = "·"

// Icon is the sign of a type of observation, the same wherever one is shown.
func Icon(name string) string {
	for _, i := range icons {
		if strings.EqualFold(i.name, name) {
			return i.icon
		}
	}
	return otherIcon
}

// String writes it all, whatever the cap.
func (p *paper) String() string {
	var b strings.Builder
	if !p.options.Person {
		fmt.Fprintf(&b, "<%s>\n", tag)
	}
	p.heading(&b)
	p.lastSession(&b)
	p.days(&b)
	if len(p.decisions) > 0 {
		b.WriteString("\n## Earlier decisions\n")
		for _, r := range p.decisions {
			p.row(&b, r, r.time.In(p.zone).Format("2 January 2006"))
		}
	}
	if left := p.leftOut(); left != "" {
		fmt.Fprintf(&b, "\n(%s)\n", left)
	}
	if !p.options.Person {
		fmt.Fprintf(&b, "</%s>", tag)
	}
	return b.String()
}

func (p *paper) heading(b *strings.Builder) {
	fmt.Fprintf(b, "# %s: memory of earlier sessions\n", p.name())
	b.WriteString("Written down by cmem while earlier sessions worked here; it tells what was, the files may have changed since. ")
	fmt.Fprintf(b, "Times are %s. A row is `#id time icon title`; `cmem show ID` tells all of one: `cmem show 12`, `cmem show S12`.\n", p.zoneName())
	var legend []string
	for _, i := range icons {
		if p.has(i.icon) {
			legend = append(legend, i.icon+" "+i.name)
		}
	}
	if p.has(otherIcon) {
		legend = append(legend, otherIcon+" other")
	}
	if p.has(sessionIcon) {
		legend = append(legend, sessionIcon+" session")
	}
	if len(legend) > 0 {
		fmt.Fprintf(b, "%s\n", strings.Join(legend, "  "))
	}
}

// zoneName is the zone's own name; the machine's zone may have none, then it is
// what the newest time is called there.
func (p *paper) zoneName() string {
	if name := p.zone.String(); name != "Local" && name != "" {
		return name
	}
	if len(p.rows) > 0 {
		return p.rows[0].time.In(p.zone).Format("MST")
	}
	return "local"
}

func (p *paper) has(icon string) bool {
	with := func(r row) bool { return r.icon == icon }
	return slices.ContainsFunc(p.rows, with) || slices.ContainsFunc(p.decisions, with)
}

func (p *paper) lastSession(b *strings.Builder) {
	if p.last == nil {
		return
	}
	fmt.Fprintf(b, "\n## Last session, %s (S%d)\n", p.last.Time.In(p.zone).Format("2 January 2006 15:04"), p.last.ID)
	if request := oneLine(p.last.Request); request != "" {
		fmt.Fprintf(b, "Request: %s\n", cut(request, maxLine))
	}
	for _, f := range fields(*p.last) {
		fmt.Fprintln(b, f)
	}
}

func (p *paper) days(b *strings.Builder) {
	day := ""
	said := &heard{}
	if p.last != nil {
		said.news(oneLine(p.last.Request))
	}
	for i, r := range p.rows {
		at := r.time.In(p.zone)
		if d := at.Format("2 January 2006"); d != day {
			fmt.Fprintf(b, "\n## %s\n", d)
			day = d
		}
		p.row(b, r, at.Format("15:04"))
		if i < p.full {
			said.news(r.title)
			for _, t := range r.texts {
				if t = said.news(t); t != "" {
					fmt.Fprintf(b, "  %s\n", t)
				}
			}
		}
	}
}

// heard are the lines of prose that were written already: what was asked stands
// behind every observation of a turn, and is told once.
type heard struct{ lines []string }

// news is what line says that no line before said: all of it, what follows a line
// it begins with, or nothing. Facts and files belong to their observation and are
// always told.
func (h *heard) news(line string) string {
	if strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "changed: ") || strings.HasPrefix(line, "(more in ") {
		return line
	}
	rest := line
	for _, l := range h.lines {
		if excerpt(line, l) {
			return ""
		}
		if after, ok := strings.CutPrefix(line, l+" "); ok && len(l) >= sentence {
			rest = after
		}
	}
	h.lines = append(h.lines, line)
	return rest
}

// sentence is how long, in bytes, a line must be for its repetition to be one.
const sentence = 20

// excerpt says whether part is whole, or its beginning.
func excerpt(part, whole string) bool {
	beginning, cut := strings.CutSuffix(part, "…")
	return part == whole || cut && beginning != "" && strings.HasPrefix(whole, beginning)
}

func (p *paper) row(b *strings.Builder, r row, when string) {
	fmt.Fprintf(b, "%s %s %s %s", r.label, when, r.icon, r.title)
	if r.from != "" {
		fmt.Fprintf(b, " (%s)", r.from)
	}
	b.WriteByte('\n')
}

// leftOut says what is not shown: what the view did not hold and what the cap
// took.
func (p *paper) leftOut() string {
	var left []string
	say := func(n int, one, many string) {
		if n == 1 {
			left = append(left, "1 "+one)
		} else if n > 1 {
			left = append(left, fmt.Sprintf("%d %s", n, many))
		}
	}
	say(p.noTexts, "text", "texts")
	say(p.noDecisions, "earlier decision", "earlier decisions")
	say(p.noRows, "row", "rows")
	if p.noLast {
		left = append(left, "the last summary")
	}
	cap := len(left) > 0
	say(p.view.More, "older observation", "older observations")
	switch {
	case len(left) == 0:
		return ""
	case cap:
		return fmt.Sprintf("Left out to stay below %d bytes or for their age: %s. `cmem search` finds them.", p.limit, strings.Join(left, ", "))
	}
	return fmt.Sprintf("Not shown for their age: %s. `cmem search` finds them.", strings.Join(left, ", "))
}

// colour sets headings and ids apart on a terminal.
func colour(text string) string {
	const bold, dim, off = "\x1b[1m", "\x1b[2m", "\x1b[0m"
	var b strings.Builder
	for l := range strings.Lines(text) {
		l = strings.TrimSuffix(l, "\n")
		id, rest, ok := strings.Cut(l, " ")
		switch {
		case strings.HasPrefix(l, "# ") || strings.HasPrefix(l, "## "):
			b.WriteString(bold + strings.TrimLeft(l, "# ") + off)
		case ok && len(id) > 1 && strings.Trim(id[1:], "0123456789") == "" && (id[0] == '#' || id[0] == 'S'):
			b.WriteString(dim + id + off + " " + rest)
		default:
			b.WriteString(l)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
