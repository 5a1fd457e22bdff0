package api

import (
	"strconv"
	"strings"
)

// splitList reads a list with commas; blanks around and between are dropped.
func splitList(s string) []string {
	var out []string
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// parseID reads "12" or "#12".
func parseID(s string) (int64, error) {
	id, err := strconv.ParseInt(strings.TrimPrefix(strings.TrimSpace(s), "#"), 10, 64)
	if err != nil || id <= 0 {
		return 0, Errorf(Invalid, "%s is not an id", quote(s))
	}
	return id, nil
}
