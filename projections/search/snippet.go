package search

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"cmem/projections/records"
)

const (
	snippetBytes = 200
	snippetScan  = 32 << 10 // how far a text is read for its best place
)

// snippet cuts the line of d that holds most of the matched tokens, and gives
// the pieces of it that matched.
func snippet(d records.Document, matched map[string]bool) (string, []string) {
	var best place
	var from string
	texts := slices.Concat([]string{d.Text}, d.Facts, []string{d.Title}, d.Files, d.Paths)
	for _, text := range texts {
		text = head(text, snippetScan)
		if p := bestPlace(text, matched); p.distinct > best.distinct {
			best, from = p, text
		}
	}
	if best.distinct == 0 {
		return "", nil
	}
	line := cut(from, best)
	return line, matching(line, matched)
}

// head is the beginning of text, cut between runes.
func head(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// place is text[start:end] with how many different tokens it has.
type place struct{ start, end, distinct int }

// bestPlace slides over the matches: the most different ones within a line.
func bestPlace(text string, matched map[string]bool) place {
	hits := matches(text, matched)
	var best place
	for i := range hits {
		seen := map[string]bool{}
		p := place{start: hits[i].start}
		for _, h := range hits[i:] {
			if h.end-p.start > snippetBytes*2/3 {
				break
			}
			seen[h.term] = true
			p.end = max(p.end, h.end)
		}
		if p.distinct = len(seen); p.distinct > best.distinct {
			best = p
		}
	}
	return best
}

// matches are the tokens of text that matched. 64 are enough to choose from.
func matches(text string, matched map[string]bool) []token {
	var a analyzer
	a.scan(text, 0)
	hits := slices.DeleteFunc(a.tokens, func(t token) bool { return !matched[t.term] })
	return hits[:min(len(hits), 64)]
}

// cut takes about snippetBytes around p, from word to word, on one line.
func cut(text string, p place) string {
	room := max(snippetBytes-(p.end-p.start), 0)
	start := max(0, p.start-room/3)
	end := min(len(text), max(p.end, start+snippetBytes))
	for start > 0 && !utf8.RuneStart(text[start]) {
		start--
	}
	for end < len(text) && !utf8.RuneStart(text[end]) {
		end++
	}
	before, after := "", ""
	if start > 0 {
		before = "…"
		if i := strings.IndexFunc(text[start:p.start], unicode.IsSpace); i >= 0 {
			start += i
		}
	}
	if end < len(text) {
		after = "…"
		if i := strings.LastIndexFunc(text[p.end:end], unicode.IsSpace); i >= 0 {
			end = p.end + i
		}
	}
	return before + oneLine(text[start:end]) + after
}

// oneLine drops escape sequences and control bytes and joins white space.
func oneLine(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		r, w := utf8.DecodeRuneInString(text[i:])
		i += w
		switch {
		case r == 0x1b:
			i = skipEscape(text, i)
		case unicode.IsSpace(r):
			b.WriteByte(' ')
		case r == utf8.RuneError && w == 1, unicode.IsControl(r):
		default:
			b.WriteRune(r)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// matching are the different pieces of line that matched, as they stand there.
func matching(line string, matched map[string]bool) []string {
	var all []string
	for _, t := range matches(line, matched) {
		if s := line[t.start:t.end]; !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}
