package torture

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// pointRow is one durable step of testdata/points.tsv.
type pointRow struct {
	step, before, after string
	scenarios           []string
	source              []string
}

// rows reads a table: lines of tab-separated columns below a header; # is a remark.
func rows(t testing.TB, name string) (all [][]string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	for n, line := range strings.Split(strings.TrimRight(string(data), "\n"), "\n") {
		if n > 0 && line != "" && line[0] != '#' {
			all = append(all, strings.Split(line, "\t"))
		}
	}
	return all
}

func readPoints(t testing.TB) (all []pointRow) {
	t.Helper()
	for _, r := range rows(t, "points.tsv") {
		if len(r) != 5 {
			t.Fatalf("points.tsv: %q has %d columns, want 5", r, len(r))
		}
		all = append(all, pointRow{r[0], r[1], r[2], strings.Fields(r[3]), strings.Fields(r[4])})
	}
	return all
}
