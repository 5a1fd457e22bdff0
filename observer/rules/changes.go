package rules

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"cmem/streams/event"
)

// many is how many files are told one by one; more are grouped by folder and
// kind, so that a sweeping change is not a page of rows.
const many = 3

// changes: what was edited and that no fix has told, a burst per file.
func changes(e *evidence) []event.Observation {
	var out []event.Observation
	for _, g := range e.bursts() {
		out = append(out, e.changed(g))
	}
	return out
}

// bursts groups the edits that a fix has not told wholly.
func (e *evidence) bursts() [][]edit {
	byFile := map[string][]edit{}
	var order []string
	for _, d := range e.edits {
		if _, seen := byFile[d.path]; !seen {
			order = append(order, d.path)
		}
		byFile[d.path] = append(byFile[d.path], d)
	}
	order = slices.DeleteFunc(order, func(p string) bool {
		return !slices.ContainsFunc(byFile[p], func(d edit) bool { return !e.fixed[d.at] })
	})
	if len(order) <= many {
		out := make([][]edit, len(order))
		for i, p := range order {
			out[i] = byFile[p]
		}
		return out
	}
	return group(order, byFile)
}

func group(order []string, byFile map[string][]edit) [][]edit {
	var names []string
	groups := map[string][]edit{}
	for _, p := range order {
		name := path.Dir(strings.ReplaceAll(p, `\`, "/")) + "/*" + path.Ext(p)
		if _, seen := groups[name]; !seen {
			names = append(names, name)
		}
		groups[name] = append(groups[name], byFile[p]...)
	}
	const most = 5 // groups told one by one; the rest are one
	var out [][]edit
	for i, n := range names {
		if i < most {
			out = append(out, groups[n])
		} else {
			out[most-1] = append(out[most-1], groups[n]...)
		}
	}
	return out
}

func (e *evidence) changed(g []edit) event.Observation {
	files := modified(g)
	symbols := symbolsOf(g)
	facts := []string{}
	if n := len(g); n > 1 {
		facts = append(facts, fmt.Sprintf("%d edits in %s", n, names(files, 4)))
	}
	if len(symbols) > 0 {
		facts = append(facts, "touches "+strings.Join(symbols, ", "))
	}
	facts = append(facts, diffs(g, 3)...)
	if q := e.foundBy(g[0]); q != "" {
		facts = append(facts, "found by searching `"+cut(one(q), 120)+"`")
	}
	facts = append(facts, e.verified(g[len(g)-1].at)...)
	return event.Observation{
		Rule: "change", Type: e.changeType(g, symbols),
		Title:         cut(verb(g)+" "+names(files, 3)+parens(symbols, 3), 140),
		Subtitle:      head(e.reason(g[0].at), 160),
		Facts:         facts,
		Narrative:     e.changeStory(g),
		Concepts:      []string{"what-changed"},
		FilesRead:     within(e.read, files),
		FilesModified: files,
		FactKeys:      keysOf(g),
	}
}

// reason is why an edit was made: the agent's words before it, else the prompt.
func (e *evidence) reason(at int) string {
	if s := e.saidBefore(at); s != "" {
		return s
	}
	return request(e.turn.Prompt)
}

func (e *evidence) changeStory(g []edit) string {
	parts := []string{head(request(e.turn.Prompt), 240)}
	first, last := g[0].at, g[len(g)-1].at
	for _, s := range e.said {
		if s.at >= first && s.at < last {
			parts = append(parts, head(s.text, 240))
		}
	}
	return cut(strings.Join(compact(parts...), " "), 800)
}

func verb(g []edit) string {
	switch {
	case !slices.ContainsFunc(g, func(d edit) bool { return !d.created }):
		return "Created"
	case !slices.ContainsFunc(g, func(d edit) bool { return !removed(d) }):
		return "Removed"
	}
	return "Changed"
}

func removed(d edit) bool {
	return strings.HasPrefix(d.command, "rm ") || strings.Contains(d.command, "&& rm ") || strings.Contains(d.command, "git rm ")
}

// changeType: new things are features, asked-for renames and clean-ups
// refactors, the rest changes. A test file alone is a change.
func (e *evidence) changeType(g []edit, symbols []string) string {
	asked := strings.ToLower(cut(e.turn.Prompt, 400))
	switch {
	case strings.Contains(asked, "refactor"), strings.Contains(asked, "clean up"), strings.Contains(asked, "rename "):
		return "refactor"
	case isTest(g[0].path), isProse(g[0].path):
		return "change"
	case g[0].created || len(newSymbols(g)) > 0:
		return "feature"
	}
	return "change"
}

func isTest(p string) bool {
	b := strings.ToLower(base(p))
	return strings.Contains(b, "_test.") || strings.Contains(b, ".test.") || strings.Contains(b, ".spec.") || strings.HasPrefix(b, "test_")
}

func isProse(p string) bool {
	return slices.Contains([]string{".md", ".txt", ".rst", ".adoc"}, strings.ToLower(path.Ext(p)))
}

// foundBy is the last search before an edit, if the agent went from it to the
// edit without changing anything else.
func (e *evidence) foundBy(d edit) string {
	for _, s := range slices.Backward(e.searches) {
		if s.at < d.at && len(e.between(s.at, d.at)) == 0 {
			return s.query
		}
	}
	return ""
}

// verified lists the last checks after a change that passed.
func (e *evidence) verified(at int) []string {
	var out []string
	for _, c := range e.checks {
		if f := "verified: `" + cut(one(c.line), 120) + "` passes"; c.at > at && !c.failed && !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	return out[max(0, len(out)-2):]
}

var symbol = regexp.MustCompile(`(?m)^\s*(?:export\s+|pub(?:\([^)]*\))?\s+|public\s+|private\s+|protected\s+|static\s+|async\s+|default\s+)*(?:func(?:\s+\([^)]*\))?|def|class|fn|function|interface|struct|enum|trait|type)\s+([\p{L}_][\p{L}\p{N}_]*)`)

func named(text string) []string {
	var out []string
	for _, m := range symbol.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(out, m[1]) {
			out = append(out, m[1])
		}
	}
	return out
}

// symbolsOf names the functions and types that edits show, new ones first.
func symbolsOf(g []edit) []string {
	out := newSymbols(g)
	for _, d := range g {
		for _, n := range named(d.change.Old) {
			if !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
	}
	return out[:min(len(out), 8)]
}

func newSymbols(g []edit) []string {
	var out []string
	for _, d := range g {
		old := named(d.change.Old)
		for _, n := range named(d.change.New) {
			if !slices.Contains(old, n) && !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
	}
	return out
}

func parens(symbols []string, n int) string {
	if len(symbols) == 0 {
		return ""
	}
	return " (" + strings.Join(symbols[:min(n, len(symbols))], ", ") + ")"
}

// names lists files shortly.
func names(files []string, n int) string {
	var out []string
	for _, f := range files[:min(n, len(files))] {
		out = append(out, short(f))
	}
	if more := len(files) - n; more > 0 {
		out = append(out, fmt.Sprintf("%d more", more))
	}
	return strings.Join(out, ", ")
}

// within keeps those of read that are in files: the read ones of what changed.
func within(read, files []string) []string {
	var out []string
	for _, r := range read {
		if slices.Contains(files, r) {
			out = append(out, r)
		}
	}
	return out
}

// diffs tells at most n edits by their first changed line.
func diffs(g []edit, n int) []string {
	var out []string
	for _, d := range g {
		if len(out) == n {
			break
		}
		if line := diff(d); line != "" && !slices.Contains(out, line) {
			out = append(out, line)
		}
	}
	return out
}

func diff(d edit) string {
	if d.command != "" {
		return base(d.path) + ": by `" + cut(one(d.command), 160) + "`"
	}
	old, now := firstDifference(d.change.Old, d.change.New)
	switch {
	case old == "" && now == "":
		return ""
	case old == "":
		return base(d.path) + ": + `" + now + "`"
	case now == "":
		return base(d.path) + ": − `" + old + "`"
	}
	return base(d.path) + ": `" + old + "` → `" + now + "`"
}

// firstDifference gives the first lines in which two texts differ.
func firstDifference(old, now string) (string, string) {
	a, b := lines(old), lines(now)
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return firstCode(a), firstCode(b)
}

func lines(s string) []string {
	if strings.TrimSpace(s) == "" {
		return nil
	}
	return strings.Split(strings.Trim(s, "\n"), "\n")
}

// firstCode prefers a line that is no comment.
func firstCode(in []string) string {
	first := ""
	for _, l := range in {
		l = one(l)
		if l == "" || !strings.ContainsFunc(l, isWordRune) {
			continue
		}
		if first == "" {
			first = l
		}
		if !strings.HasPrefix(l, "//") && !strings.HasPrefix(l, "#") && !strings.HasPrefix(l, "*") {
			return cut(l, 120)
		}
	}
	return cut(first, 120)
}
