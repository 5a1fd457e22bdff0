package rules

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"cmem/streams/event"
)

// longPrompt: what is longer was pasted, and its sentences are not the user's
// word on how things shall be.
const longPrompt = 2000

// states are phrases by which people say what shall hold.
var states = regexp.MustCompile(`(?i)(\b(should|shall|must|need to|has to|have to)\b|` +
	`\b(do not|don't|never|always|only|instead of|rather than|from now on|no longer|no need (to|for))\b|` +
	`\b(we|i) (decided|agreed|prefer|want|chose)\b|\blet'?s\b|\bmake sure\b|^\W*(please )?(use|keep|prefer|avoid|stick (to|with)|switch to|go with|leave)\b|\buse \S+ (to|for|as|instead)\b|` +
	`不要|必須|必须|應該|应该|統一|统一|改成|請用|请用|してください|するべき|ないで|하지 ?마|해야|` +
	`\b(soll(en|te)?|muss|nicht mehr|statt)\b|\b(debe|siempre|nunca)\b|\b(doit|toujours|jamais)\b)`)

// tag is a question that only asks for a nod.
var tag = regexp.MustCompile(`(?i),?\s*(or|right|no|ok|okay|yes|agreed|isn't it|don't you think)\s*\?$`)

// asks is the opening of a sentence that wants to know, not to decide.
var asks = regexp.MustCompile(`(?i)^\W*(what|why|how|where|when|which|who|can|could|is|are|do|does|did|should|would|tell me|show me|explain)\b`)

// decisions: sentences of the user that say what shall hold or how it is to be
// done. One observation a turn, the user's own words.
func decisions(e *evidence) []event.Observation {
	p := strings.TrimSpace(e.turn.Prompt)
	if p == "" || utf8.RuneCountInString(p) > longPrompt || strings.Contains(p, "\n#") {
		return nil
	}
	var told []string
	for _, s := range sentences(p) {
		if decides(s) && !slices.Contains(told, prose(s)) {
			told = append(told, prose(s))
		}
	}
	if len(told) == 0 {
		return nil
	}
	var facts []string
	for _, s := range told[:min(len(told), 4)] {
		facts = append(facts, cut(s, 300))
	}
	return []event.Observation{{
		Rule: "decision", Type: "decision",
		Title:     cut("User: "+told[0], 160),
		Subtitle:  "stated by the user",
		Facts:     facts,
		Narrative: cut(prose(p), 600),
		Concepts:  []string{"why-it-exists"},
	}}
}

func decides(s string) bool {
	if n := utf8.RuneCountInString(s); n < 8 && !strings.ContainsFunc(s, isWide) || n > 600 {
		return false
	}
	if isQuestion(s) {
		return false
	}
	return states.MatchString(s)
}

func isQuestion(s string) bool {
	s = strings.TrimSpace(s)
	if tag.MatchString(s) {
		return asks.MatchString(s)
	}
	return strings.HasSuffix(s, "?") || strings.HasSuffix(s, "？")
}

// isWide: scripts that say more with fewer characters.
func isWide(r rune) bool { return r >= 0x2e80 }
