package rules

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"cmem/streams/event"
)

// enough is how long an answer must be to be worth keeping on its own.
const enough = 200

// answers: something was looked up and nothing changed: the explanation is what
// the next session would otherwise have to find again.
func answers(e *evidence) []event.Observation {
	text := e.lastSaid()
	looked := len(e.read) + len(e.searches) + len(e.shells)
	if len(e.edits) > 0 || len(e.checks) > 0 || looked == 0 || e.turn.Interrupted || utf8.RuneCountInString(text) < enough {
		return nil
	}
	if commits(e) != nil || installs(e) != nil {
		return nil
	}
	return []event.Observation{{
		Rule: "answer", Type: "discovery",
		Title:     cut(head(request(e.turn.Prompt), 120), 140),
		Subtitle:  cut(firstSentence(text), 160),
		Facts:     points(text, 4),
		Narrative: head(text, 800),
		Concepts:  []string{"how-it-works"},
		FilesRead: e.read[:min(len(e.read), 12)],
	}}
}

func firstSentence(s string) string {
	for _, t := range sentences(s) {
		if t = prose(t); utf8.RuneCountInString(t) > 12 {
			return t
		}
	}
	return head(s, 160)
}

var point = regexp.MustCompile(`(?m)^\s*(?:[-*]|\d+[.)])\s+(.+)$`)

// points are the first list items of a text.
func points(s string, n int) []string {
	var out []string
	for _, m := range point.FindAllStringSubmatch(s, n) {
		out = append(out, cut(prose(m[1]), 200))
	}
	return out
}

// openers are what people put before what they ask for.
var openers = regexp.MustCompile(`(?i)^\s*(implement the following plan:|# context from my ide setup:|## my request for codex:|<pasted_content[^>]*>)\s*`)

// request is the prompt without what tools put before it.
func request(prompt string) string {
	p := prompt
	for {
		q := openers.ReplaceAllString(p, "")
		if q == p {
			return strings.TrimSpace(p)
		}
		p = q
	}
}

var ahead = regexp.MustCompile(`(?i)(\bnext\b|\bremaining\b|\bstill (to|need)|\bwhen (you are|you're)? ?ready\b|\blet me know\b|\byou can now\b|\bto do\b|\bfollow[- ]?up\b|下一步|接下來|接下来)`)

// aheadWords: every match of ahead has one of them. Looking for them first costs
// a tenth of the expression, and most sentences have none.
var aheadWords = []string{"next", "remaining", "still", "ready", "let me know", "you can now", "to do", "follow", "下一步", "接下"}

func looksAhead(s string) bool {
	lower := strings.ToLower(s)
	return slices.ContainsFunc(aheadWords, func(w string) bool { return strings.Contains(lower, w) }) && ahead.MatchString(s)
}

// summary tells the turn in five lines; nil for a turn in which nothing was
// asked or nothing happened.
func summary(e *evidence, told []event.Observation) *event.Summary {
	if len(e.turn.Steps) == 0 || e.turn.Prompt == "" {
		return nil
	}
	files := modified(e.edits)
	return &event.Summary{
		Request:       head(request(e.turn.Prompt), 300),
		Investigated:  e.investigated(),
		Learned:       e.learned(told),
		Completed:     e.completed(told),
		NextSteps:     nextSteps(e.lastSaid()),
		FilesRead:     e.read[:min(len(e.read), 20)],
		FilesModified: files[:min(len(files), 20)],
		PromptNumber:  e.turn.PromptNumber,
	}
}

func (e *evidence) investigated() string {
	var parts []string
	if len(e.read) > 0 {
		parts = append(parts, "read "+names(e.read, 6))
	}
	var queries []string
	for _, s := range e.searches[:min(len(e.searches), 3)] {
		queries = append(queries, "`"+cut(one(s.query), 60)+"`")
	}
	if len(queries) > 0 {
		parts = append(parts, "searched "+strings.Join(queries, ", "))
	}
	return strings.Join(parts, "; ")
}

// learned: causes found, checks that fail, what was explained.
func (e *evidence) learned(told []event.Observation) string {
	var parts []string
	for _, o := range told {
		switch o.Rule {
		case "fix", "failing", "answer":
			parts = append(parts, o.Title)
		}
	}
	return cut(strings.Join(parts, "; "), 400)
}

func (e *evidence) completed(told []event.Observation) string {
	var parts []string
	for _, o := range told {
		switch o.Rule {
		case "fix", "change", "install", "commit":
			parts = append(parts, o.Title)
		}
	}
	if e.turn.Interrupted {
		parts = append(parts, "interrupted by the user")
	}
	titles := cut(strings.Join(parts, "; "), 500)
	return strings.Join(compact(titles, head(e.lastSaid(), 600)), " — ")
}

func nextSteps(text string) string {
	var out []string
	for _, s := range sentences(text) {
		if looksAhead(s) && utf8.RuneCountInString(s) < 300 {
			out = append(out, prose(s))
		}
	}
	return cut(strings.Join(out, " "), 400)
}
