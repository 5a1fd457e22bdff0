package projectiontest

import "strings"

// Difference shows the first lines in which two dumps differ, for the message of a
// test.
func Difference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	var out []string
	for i := 0; i < max(len(x), len(y)) && len(out) < 12; i++ {
		var l, r string
		if i < len(x) {
			l = x[i]
		}
		if i < len(y) {
			r = y[i]
		}
		if l != r {
			out = append(out, "- "+cut(l)+"\n+ "+cut(r))
		}
	}
	return strings.Join(out, "\n")
}

func cut(s string) string { return s[:min(len(s), 400)] }
