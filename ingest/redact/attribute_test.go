package redact

import "testing"

func TestAttributeHasOneOfEachKind(t *testing.T) {
	for want, in := range map[string][]Removal{
		"":                         nil,
		`[{"kind":"b","bytes":1}]`: {{"b", 1}},
		`[{"kind":"b","bytes":4},{"kind":"a","bytes":2}]`: {{"b", 1}, {"a", 2}, {"b", 3}},
	} {
		if got := Attribute(in); got != want {
			t.Errorf("%v: got %s, want %s", in, got, want)
		}
	}
}
