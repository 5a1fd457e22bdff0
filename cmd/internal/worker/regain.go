package worker

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"cmem/projections/records"
	"cmem/streams"
)

// maxRegain bounds how many sessions are told.
const maxRegain = 20

// regain says session by session what could be had again of events that the log
// does not have: from the host's own transcript, where that is still on the disk.
func (n *Node) regain(names map[streams.Position]streams.Name) (lines []string) {
	count := map[string]int{}
	for _, name := range names {
		if name.Session != "" {
			count[name.Session]++
		}
	}
	sessions := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b))
	})
	for i, session := range sessions {
		if i == maxRegain {
			return append(lines, fmt.Sprintf("and %d more sessions", len(sessions)-i))
		}
		lines = append(lines, fmt.Sprintf("%d events of session %s: %s", count[session], session, n.transcriptOf(session)))
	}
	return lines
}

func (n *Node) transcriptOf(session string) string {
	var file string
	err := n.records.read(func(s *records.Store) error {
		v, _, err := s.SessionView(session)
		file = v.File
		return err
	})
	if err != nil || file == "" {
		return "no transcript of it is known"
	}
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		return "its transcript is gone from " + file
	}
	return "cmem replay --transcript " + quoted(file)
}

// quoted is a path as a shell takes it.
func quoted(path string) string {
	plain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("/._-", r)
	}
	if !strings.ContainsFunc(path, func(r rune) bool { return !plain(r) }) {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// beyond names what read models saw behind the end of a log.
func (n *Node) beyond(halt *streams.Halt) []string {
	if halt.Kind != streams.HaltShorter {
		return nil
	}
	var names map[streams.Position]streams.Name
	err := n.records.read(func(s *records.Store) (err error) {
		names, err = s.Names(halt.Ends+1, halt.Seen.At.Position)
		return err
	})
	if err != nil {
		return []string{"read models do not say what is missing: " + reason(err)}
	}
	return n.regain(names)
}
