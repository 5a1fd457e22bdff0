package redact

import (
	"encoding/json"
	"slices"
)

// Attribute is what an envelope says of removals: a JSON list with one of each
// kind, in the order in which the kinds came, and their bytes summed; "" for none.
func Attribute(removed []Removal) string {
	if len(removed) == 0 {
		return ""
	}
	var sums []Removal
	for _, r := range removed {
		if i := slices.IndexFunc(sums, func(s Removal) bool { return s.Kind == r.Kind }); i >= 0 {
			sums[i].Bytes += r.Bytes
		} else {
			sums = append(sums, r)
		}
	}
	text, err := json.Marshal(sums)
	if err != nil {
		return "" // of names and numbers: cannot happen
	}
	return string(text)
}
