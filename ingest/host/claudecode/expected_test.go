package claudecode

import (
	"encoding/csv"
	"maps"
	"os"
	"strconv"
	"strings"
	"testing"

	"cmem/streams/event"
)

// counts are what a reader of facts can count, by the names of EXPECTED.tsv.
type counts map[string]int

// count folds facts of one log as EXPECTED.tsv counts: things by key, pairs over
// the whole log in either order.
func count(facts []event.Fact) counts {
	c := counts{}
	for _, name := range []string{"user_prompts", "slash_commands", "queued_only", "interrupts", "compactions",
		"tool_uses", "tool_paired", "tool_unpaired", "orphan_results", "tool_errors", "nested_tool_uses",
		"sidechain_messages", "assistant_texts"} {
		c[name] = 0
	}
	calls, returns, nested := map[string]bool{}, map[string]event.Outcome{}, map[string]bool{}
	for _, f := range facts {
		switch b := f.Body.(type) {
		case event.PromptSubmitted:
			if b.Origin == event.Typed {
				c["user_prompts"]++
			}
		case event.CommandRun:
			if b.Name != "!" {
				c["slash_commands"]++
			}
		case event.TurnEnded:
			if b.Interrupted {
				c["interrupts"]++
			}
		case event.CompactionDone:
			c["compactions"]++
		case event.AssistantSaid:
			c["assistant_texts"]++
		case event.Counted:
			if b.What == "sidechain_message" {
				c["sidechain_messages"]++
			}
		case event.ToolCalled:
			if b.Tool.Nested {
				nested[f.Key] = true
			} else {
				calls[f.Key] = true
			}
		case event.ToolReturned:
			if _, ok := returns[f.Key]; !ok && !b.Tool.Nested {
				returns[f.Key] = b.Outcome
			}
		}
	}
	c["nested_tool_uses"], c["tool_uses"] = len(nested), len(calls)
	for key, outcome := range returns {
		if !calls[key] {
			c["orphan_results"]++
			continue
		}
		c["tool_paired"]++
		if outcome != event.OK {
			c["tool_errors"]++
		}
	}
	c["tool_unpaired"] = c["tool_uses"] - c["tool_paired"]
	c["queued_only"] = queuedOnly(facts)
	return c
}

// queuedOnly counts distinct texts that were taken out of the queue, first in
// first out, or delivered as an attachment, and are no prompt otherwise.
func queuedOnly(facts []event.Fact) int {
	prompts, taken := map[string]bool{}, map[string]bool{}
	var queue []string
	for _, f := range facts {
		switch b := f.Body.(type) {
		case event.PromptSubmitted:
			if b.Origin == event.Queued {
				taken[normalText(b.Text)] = true
			} else {
				prompts[normalText(b.Text)] = true
			}
		case event.PromptQueued:
			if b.Op == "enqueue" {
				queue = append(queue, normalText(b.Text))
				continue
			}
			if len(queue) == 0 {
				continue
			}
			if b.Op == "remove" {
				taken[queue[0]] = true
			}
			queue = queue[1:]
		}
	}
	n := 0
	for said := range taken {
		if said != "" && !prompts[said] && !strings.ContainsRune("/<{", rune(said[0])) {
			n++
		}
	}
	return n
}

func table(t *testing.T, file string) []map[string]string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.Comma, r.LazyQuotes, r.FieldsPerRecord = '\t', true, -1
	rows, err := r.ReadAll()
	if err != nil || len(rows) < 2 {
		t.Fatalf("%s: %d rows, %v", file, len(rows), err)
	}
	var all []map[string]string
	for _, row := range rows[1:] {
		m := map[string]string{}
		for i, cell := range row {
			m[rows[0][i]] = cell
		}
		all = append(all, m)
	}
	return all
}

func compare(t *testing.T, got counts, row map[string]string) {
	t.Helper()
	for name, n := range got {
		cell, ok := row[name]
		if !ok {
			continue
		}
		want, err := strconv.Atoi(cell)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if n != want {
			t.Errorf("%s = %d, want %d", name, n, want)
		}
	}
}

func TestFixturesAreCountedAsExpected(t *testing.T) {
	files := 0
	for _, row := range table(t, testdata+"transcripts/EXPECTED.tsv") {
		if row["client"] != Name {
			continue
		}
		files++
		t.Run(row["file"], func(t *testing.T) {
			file := testdata + "transcripts/claude-code/" + row["file"]
			facts := transcriptFacts(t, file)
			got := count(facts)
			got["records"] = len(values(t, file))
			got["sessions"] = len(sessions(facts))
			compare(t, got, row)
			if again := count(transcriptFacts(t, file, file)); !maps.Equal(again, count(facts)) {
				t.Errorf("read twice: %v, want %v", again, count(facts))
			}
		})
	}
	if files != 12 {
		t.Errorf("%d files, want 12", files)
	}
}

func TestPairsOfFilesAreCountedAsExpected(t *testing.T) {
	pairs := 0
	for _, row := range table(t, testdata+"transcripts/EXPECTED_PAIRS.tsv") {
		first, second, _ := strings.Cut(row["files_in_order"], " then ")
		if !strings.Contains(first, Name) {
			continue
		}
		pairs++
		t.Run(row["files_in_order"], func(t *testing.T) {
			dir := testdata + "transcripts/claude-code/"
			facts := transcriptFacts(t, dir+first, dir+second)
			got := count(facts)
			got["sessions"] = len(sessions(facts))
			compare(t, got, row)
		})
	}
	if pairs != 2 {
		t.Errorf("%d pairs, want 2", pairs)
	}
}

func sessions(facts []event.Fact) map[string]bool {
	all := map[string]bool{}
	for _, f := range facts {
		all[f.Session] = true
	}
	return all
}
