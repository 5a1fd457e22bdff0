package rules

import (
	"regexp"
	"slices"
	"strings"

	"cmem/streams/event"
)

// installs: packages the agent added, by name.
func installs(e *evidence) []event.Observation {
	var packages, keys, facts []string
	for _, s := range e.shells {
		if s.use.Outcome == event.Failed {
			continue
		}
		for _, c := range s.commands {
			k, head := kindOf(c)
			if k != installKind {
				continue
			}
			if added := packagesOf(c, head); len(added) > 0 {
				packages = append(packages, added...)
				keys = append(keys, s.use.Key)
				facts = append(facts, "`"+cut(strings.Join(c.words, " "), 160)+"`")
			}
		}
	}
	if len(packages) == 0 {
		return nil
	}
	return []event.Observation{{
		Rule: "install", Type: "change",
		Title:    cut("Installed "+strings.Join(slices.Compact(packages), ", "), 140),
		Subtitle: head(e.turn.Prompt, 160), Facts: facts[:min(len(facts), 5)],
		Concepts: []string{"what-changed"}, FactKeys: slices.Compact(keys),
	}}
}

// packagesOf are the words after an install's head that name packages.
func packagesOf(c command, head string) []string {
	var out []string
	for i, w := range c.words {
		if i < len(strings.Fields(head)) || strings.HasPrefix(w, "-") || strings.HasPrefix(w, ".") || strings.HasSuffix(w, ".txt") || w == "" {
			continue
		}
		out = append(out, w)
	}
	return out
}

// committed is git's answer to a commit: [branch hash] subject.
var committed = regexp.MustCompile(`(?m)^\[(\S+)(?: \([^)]*\))? ([0-9a-f]{7,40})\] (.+)$`)

var stat = regexp.MustCompile(`(?m)^\s*\d+ files? changed.*$`)

var pushed = regexp.MustCompile(`(?m)^\s+([0-9a-f]{7,}\.{2,3}[0-9a-f]{7,}|\* \[new branch\])\s+(\S+)\s+->\s+(\S+)`)

// commits: what entered the repository, with hash and subject; a push is told
// with the commit it carried. Only git's own answer proves either.
func commits(e *evidence) []event.Observation {
	var out []event.Observation
	for _, s := range e.shells {
		if !runs(s, commitKind) {
			continue
		}
		text := clean(s.use.Output)
		for _, m := range committed.FindAllStringSubmatch(text, -1) {
			out = append(out, e.commit(s, m, stat.FindString(text)))
		}
	}
	return append(out, e.pushes(len(out) > 0, out)...)
}

func runs(s shellRun, k kind) bool {
	return slices.ContainsFunc(s.commands, func(c command) bool { got, _ := kindOf(c); return got == k })
}

func (e *evidence) commit(s shellRun, m []string, changed string) event.Observation {
	facts := []string{"branch " + m[1], "commit " + m[2]}
	facts = append(facts, compact(one(changed))...)
	return event.Observation{
		Rule: "commit", Type: "change",
		Title:    cut("Committed "+m[2]+": "+one(m[3]), 160),
		Subtitle: "on " + m[1], Facts: facts,
		Narrative: cut(message(s), 500), Concepts: []string{"what-changed"}, FactKeys: []string{s.use.Key},
	}
}

// message is the commit's text from its own arguments.
func message(s shellRun) string {
	var parts []string
	for _, c := range s.commands {
		for i, w := range c.words {
			if (w == "-m" || w == "-am" || w == "--message") && i+1 < len(c.words) {
				parts = append(parts, c.words[i+1])
			}
		}
	}
	text := strings.Join(parts, " ")
	if strings.HasPrefix(text, "$(cat <<") {
		_, text, _ = strings.Cut(text, "\n")
		text, _, _ = strings.Cut(text, "\nEOF")
	}
	return prose(text)
}

// pushes adds a push to the turn's last commit, or tells it alone.
func (e *evidence) pushes(withCommit bool, told []event.Observation) []event.Observation {
	for i, s := range e.shells {
		if !runs(s, pushKind) || s.use.Outcome == event.Failed {
			continue
		}
		m := pushed.FindStringSubmatch(clean(s.use.Output + "\n" + e.rest(i)))
		if m == nil {
			continue
		}
		fact := "pushed " + m[2] + " (" + one(m[1]) + ")"
		if withCommit {
			last := &told[len(told)-1]
			last.Facts = append(last.Facts, fact)
			continue
		}
		return []event.Observation{{
			Rule: "commit", Type: "change", Title: cut("Pushed "+m[2], 140), Subtitle: head(e.turn.Prompt, 160),
			Facts: []string{fact}, Concepts: []string{"what-changed"}, FactKeys: []string{s.use.Key},
		}}
	}
	return nil
}

// rest is what the next shell call printed, where a long command went on in it.
func (e *evidence) rest(i int) string {
	if i+1 < len(e.shells) && e.shells[i+1].use.Tool.Command == "" {
		return e.shells[i+1].use.Output
	}
	return ""
}
