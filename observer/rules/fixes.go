package rules

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"cmem/streams/event"
)

// repair is a check that failed, what was changed after it, and its next pass.
type repair struct {
	bad, good check
	edits     []edit
	remedy    string // a command that mended it where no file was changed
}

// fixes: a failing check, a change, the same check passes = cause and fix. A
// check that passes again without any change was flaky and is nobody's fix.
func fixes(e *evidence) []event.Observation {
	var out []event.Observation
	for _, r := range e.repairs() {
		for _, d := range r.edits {
			e.fixed[d.at] = true
		}
		out = append(out, e.fix(r))
	}
	return out
}

func (e *evidence) repairs() []repair {
	var out []repair
	done := map[string]int{} // check name → index after its last pass
	for i, good := range e.checks {
		if good.failed {
			continue
		}
		if bad, ok := e.failedBefore(i, done[good.name]); ok {
			r := repair{bad: bad, good: good, edits: e.between(bad.at, good.at)}
			if len(r.edits) == 0 {
				r.remedy = e.remedy(bad.at, good.at)
			}
			if (len(r.edits) > 0 || r.remedy != "") && !sameFix(out, r) {
				out = append(out, r)
			}
		}
		done[good.name] = i + 1
	}
	return out
}

// failedBefore finds the first failure of the check that passes at i, not
// looking before its last pass.
func (e *evidence) failedBefore(i, from int) (check, bool) {
	for _, c := range e.checks[from:i] {
		if c.failed && sameCheck(c, e.checks[i]) {
			return c, true
		}
	}
	return check{}, false
}

// sameCheck: equal names, or one runs all that the other did.
func sameCheck(a, b check) bool {
	return a.name == b.name || slices.Contains(strings.Split(b.name, " && "), a.name)
}

func sameFix(have []repair, r repair) bool {
	return slices.ContainsFunc(have, func(h repair) bool { return h.bad.at == r.bad.at })
}

func (e *evidence) between(after, before int) []edit {
	var out []edit
	for _, d := range e.edits {
		if d.at > after && d.at < before {
			out = append(out, d)
		}
	}
	return out
}

// mends are words of commands that change files to please a check.
var mends = regexp.MustCompile(`(?i)(\bfix\b|--fix|--write|\bfmt\b|\bformat\b|\bgenerate\b|\btidy\b|\bmigrate\b)`)

// remedy is the command between a failure and its pass that mended it: an
// install, or one that rewrites files.
func (e *evidence) remedy(after, before int) string {
	for _, s := range e.shells {
		if s.at <= after || s.at >= before || s.use.Outcome == event.Failed {
			continue
		}
		for _, c := range s.commands {
			if k, _ := kindOf(c); k == installKind || mends.MatchString(strings.Join(c.words, " ")) {
				return s.use.Tool.Command
			}
		}
	}
	return ""
}

func (e *evidence) fix(r repair) event.Observation {
	why := causes(r.bad.output, 3)
	cause := r.bad.name + " failed"
	if len(why) > 0 {
		cause = why[0]
	}
	files := modified(r.edits)
	facts := []string{"failed: `" + cut(one(r.bad.line), 160) + "`" + exit(r.bad)}
	for _, w := range why {
		facts = append(facts, "cause: "+w)
	}
	facts = append(facts, diffs(r.edits, 3)...)
	if r.remedy != "" {
		facts = append(facts, "mended by: `"+cut(one(r.remedy), 160)+"`")
	}
	facts = append(facts, "passes: `"+cut(one(r.good.line), 160)+"`")
	return event.Observation{
		Rule: "fix", Type: "bugfix",
		Title:         cut("Fixed `"+cut(one(r.bad.name), 60)+"`: "+cause, 140),
		Subtitle:      fixedBy(r, files),
		Facts:         facts,
		Narrative:     e.story(r),
		Concepts:      []string{"problem-solution", "what-changed"},
		FilesModified: files,
		FactKeys:      slices.Concat([]string{r.bad.key}, keysOf(r.edits), []string{r.good.key}),
	}
}

func exit(c check) string {
	if c.exitCode == nil {
		return ""
	}
	return fmt.Sprintf(" (exit code %d)", *c.exitCode)
}

func fixedBy(r repair, files []string) string {
	if len(files) == 0 {
		return cut("mended by `"+one(r.remedy)+"`, passes now", 160)
	}
	return cut("changed "+names(files, 3)+", passes now", 160)
}

// story is what the agent said between the failure and the last of the changes:
// its own explanation of cause and fix.
func (e *evidence) story(r repair) string {
	var told []string
	for _, s := range e.said {
		if s.at > r.bad.at && s.at < r.good.at {
			told = append(told, prose(s.text))
		}
	}
	return cut(strings.Join(told, " "), 800)
}

// failing: a check whose last run failed. The next session should know.
func failing(e *evidence) []event.Observation {
	var out []event.Observation
	for i, c := range e.checks {
		last := !slices.ContainsFunc(e.checks[i+1:], func(d check) bool { return sameCheck(c, d) || c.kind == d.kind && !d.failed })
		if !c.failed || !last {
			continue
		}
		why := causes(c.output, 4)
		facts := []string{"`" + cut(one(c.line), 160) + "`" + exit(c)}
		facts = append(facts, why...)
		out = append(out, event.Observation{
			Rule: "failing", Type: "discovery",
			Title:    cut("`"+cut(one(c.name), 60)+"` fails"+colon(why), 140),
			Subtitle: "still failing at the end of the turn",
			Facts:    facts, Concepts: []string{"gotcha"}, FactKeys: []string{c.key},
			Narrative: cut(prose(e.saidAfter(c.at)), 400),
		})
	}
	return out
}

func colon(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return ": " + lines[0]
}

func (e *evidence) saidAfter(at int) string {
	for _, s := range e.said {
		if s.at > at {
			return s.text
		}
	}
	return ""
}

// checked: checks were run and nothing was changed: their result is the news.
func checked(e *evidence) []event.Observation {
	if len(e.edits) > 0 || len(e.checks) == 0 {
		return nil
	}
	var facts, keys []string
	for _, c := range e.checks {
		if c.failed {
			return nil // told by failing, or mended
		}
		keys = append(keys, c.key)
		if f := "passes: `" + cut(one(c.line), 160) + "`"; !slices.Contains(facts, f) {
			facts = append(facts, f)
		}
	}
	return []event.Observation{{
		Rule: "checked", Type: "discovery",
		Title:    cut("Passes: `"+one(e.checks[len(e.checks)-1].name)+"`", 140),
		Subtitle: fmt.Sprintf("%d runs, nothing changed", len(e.checks)),
		Facts:    facts[:min(len(facts), 5)], Concepts: []string{"how-it-works"}, FactKeys: keys,
		Narrative: head(e.lastSaid(), 500),
	}}
}
