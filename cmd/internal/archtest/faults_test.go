package archtest

import (
	"go/ast"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// kinds are the kinds of testdata/faults/faults.tsv that the tree answers for.
var kinds = []string{
	"lost-events", "duplicate-events", "encoding", "payload-shape", "transcripts", "exit2-loop", "hook-blocking",
	"project-identity", "privacy", "search", "time", "lib-fsnotify", "lib-cobra",
	"lib-nats", "lib-bbolt", "lib-bleve", "port-lock", "multi-host",
	"storage-growth",
}

var faultID = regexp.MustCompile(`^[a-z]+-\d{2}$`)

// TestEveryFaultHasItsTest compares the rows of faults.tsv with the subtests
// TestFaults/<id> of all rooms. The column room is empty where the whole row is
// tested; "later: …" names the room a row waits for, "part: …" the half of it.
func TestEveryFaultHasItsTest(t *testing.T) {
	rows := faultRows(t)
	tested := testedFaults(t)
	for id, r := range rows {
		later := strings.HasPrefix(r.room, "later:")
		switch {
		case !slices.Contains(kinds, r.kind):
			if !later && r.room != "" {
				t.Errorf("%s: kind %s is not ours yet, room must be empty or later", id, r.kind)
			}
		case later && tested[id] != "":
			t.Errorf("%s is marked %q and tested in %s", id, r.room, tested[id])
		case !later && tested[id] == "":
			t.Errorf("%s (%s, severity %s) has no TestFaults/%s", id, r.kind, r.severity, id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(tested)) {
		if _, ok := rows[id]; !ok {
			t.Errorf("TestFaults/%s in %s is no row of faults.tsv", id, tested[id])
		}
	}
}

type faultRow struct{ kind, severity, room string }

func faultRows(t *testing.T) map[string]faultRow {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "testdata/faults/faults.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	var all [][]string // no quoting: a quote is a character like any other
	for line := range strings.Lines(string(data)) {
		all = append(all, strings.Split(strings.TrimRight(line, "\n"), "\t"))
	}
	column := map[string]int{}
	for i, name := range all[0] {
		column[name] = i
	}
	out := map[string]faultRow{}
	for _, row := range all[1:] {
		get := func(name string) string {
			if i, ok := column[name]; ok && i < len(row) {
				return strings.TrimSpace(row[i])
			}
			return ""
		}
		out[get("id")] = faultRow{get("kind"), get("severity"), get("room")}
	}
	if len(out) < 100 {
		t.Fatalf("faults.tsv has only %d rows", len(out))
	}
	return out
}

// testedFaults finds fault ids as string literals inside TestFaults functions:
// as the name given to t.Run or as the key of a table that is run.
func testedFaults(t *testing.T) map[string]string {
	out := map[string]string{}
	for _, s := range sources(t) {
		if !s.test {
			continue
		}
		for _, d := range s.file.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || !strings.HasPrefix(fn.Name.Name, "TestFaults") || fn.Recv != nil {
				continue
			}
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					if v, err := strconv.Unquote(lit.Value); err == nil && faultID.MatchString(v) {
						out[v] = s.path
					}
				}
				return true
			})
		}
	}
	return out
}
