package worker

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"cmem/cmd/internal/api"
	"cmem/streams/durable"
	"cmem/streams/streamstest"
)

// TestEveryCounterHasAMeaning reads the names from the source of those who count.
func TestEveryCounterHasAMeaning(t *testing.T) {
	files, err := filepath.Glob("../../../ingest/hook/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	names := 0
	count := regexp.MustCompile(`\.count\("([^"]+)"`)
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range count.FindAllStringSubmatch(string(src), -1) {
			names++
			if says, _ := meaning(m[1]); strings.Contains(says, "another version") {
				t.Errorf("%s: %s has no meaning", filepath.Base(f), m[1])
			}
		}
	}
	if names < 10 {
		t.Errorf("only %d names were found", names)
	}
}

func TestStatsSumWhatHooksCounted(t *testing.T) {
	dir := folder(t)
	n := open(t, dir)
	defer closed(t, n)
	n.add(t, prompts("s1", 3)...)
	for range 3 {
		if err := dir.Count("spool-failed:disk-full", 1); err != nil {
			t.Fatal(err)
		}
	}
	s, err := n.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if c := s.Hooks.Counters; len(c) != 1 || c[0].Count != 3 || c[0].Last == "" || !c[0].Problem || !strings.HasSuffix(c[0].Meaning, "(disk-full)") {
		t.Errorf("got %+v", c)
	}
	if l := s.Hooks.Last; len(l) != 1 || l[0].Host != "claude-code" || l[0].Time != "2026-01-02T03:02:00Z" {
		t.Errorf("got %+v", l)
	}
	n.add(t, prompts("s2", 5)...)
	if s, err = n.Stats(t.Context()); err != nil || s.Hooks.Last[0].Time != "2026-01-02T03:04:00Z" {
		t.Errorf("after five more: %+v, %v", s.Hooks.Last, err)
	}
}

func TestStatsTellThatTheReserveIsReached(t *testing.T) {
	dir := folder(t)
	closed(t, open(t, dir))
	free, err := durable.Free(dir.Log())
	if err != nil {
		t.Fatal(err)
	}
	cfg := settings()
	cfg.ReserveMB = int(free>>20) * 2
	n, err := Open(t.Context(), dir, cfg, streamstest.Logger(t))
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, n)
	s, err := n.Stats(t.Context())
	if err != nil || !strings.Contains(strings.Join(s.Notes, "\n"), "the log takes nothing in") {
		t.Errorf("%v, %v", s.Notes, err)
	}
	_, err = n.Save(t.Context(), api.SaveRequest{Text: "a note"})
	if err == nil || !strings.Contains(err.Error(), "this note was not kept") {
		t.Errorf("got %v", err)
	}
}
