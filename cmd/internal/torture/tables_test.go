package torture

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
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

const root = "../../.."

// mutation is a recovery broken on purpose: a file of testdata/mutations.
type mutation struct{ name, what, file, catcher, old, new string }

func readMutations(t testing.TB) (all []mutation) {
	t.Helper()
	files, err := filepath.Glob("testdata/mutations/*.txt")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d mutations, want at least five: %v", len(files), err)
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		m := mutation{name: strings.TrimSuffix(filepath.Base(path), ".txt")}
		head, rest, ok := strings.Cut(string(data), "--- old\n")
		m.old, m.new, _ = strings.Cut(rest, "--- new\n")
		for line := range strings.Lines(head) {
			switch key, value, _ := strings.Cut(strings.TrimSpace(line), ": "); key {
			case "file":
				m.file = value
			case "caught by":
				m.catcher = value
			default:
				m.what += strings.TrimSpace(line)
			}
		}
		if !ok || m.file == "" || m.catcher == "" || m.old == "" {
			t.Fatalf("%s is not a mutation", path)
		}
		all = append(all, m)
	}
	return all
}

// A mutation that does not apply any more proves nothing.
func TestEveryMutationStillApplies(t *testing.T) {
	for _, m := range readMutations(t) {
		text, err := os.ReadFile(filepath.Join(root, m.file))
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), m.old); n != 1 {
			t.Errorf("%s: its old text is in %s %d times, want once", m.name, m.file, n)
		}
	}
}

// called finds the names given to a function anywhere in the source: what stands in
// quotes behind call.
func called(t *testing.T, call *regexp.Regexp) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	eachSource(t, func(path, text string) {
		for _, m := range call.FindAllStringSubmatch(text, -1) {
			found[m[1]] = true
		}
	})
	return found
}

// eachSource gives every Go file that is part of the programs.
func eachSource(t *testing.T, visit func(path, text string)) {
	t.Helper()
	for _, room := range []string{"streams", "ingest", "observer", "projections", "replay", "cmd"} {
		err := filepath.WalkDir(filepath.Join(root, room), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && (d.Name() == "testdata" || d.Name() == "torture") {
				return filepath.SkipDir
			}
			if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return nil
			}
			text, err := os.ReadFile(path)
			visit(filepath.ToSlash(path), string(text))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A failpoint that no row of points.tsv names would never be tried.
func TestEveryPointIsInTheTable(t *testing.T) {
	inTable := map[string]bool{}
	for _, r := range readPoints(t) {
		for _, p := range []string{r.before, r.after} {
			name, _, _ := strings.Cut(p, "@")
			name, _, _ = strings.Cut(name, ":")
			inTable[name] = true
		}
	}
	untried := map[string]bool{}
	for _, r := range rows(t, "untried.tsv") {
		untried[r[0]] = true
	}
	inSource := called(t, regexp.MustCompile(`(?:Failpoint|\.step|pathpoint)\("([a-z.]+)"`))
	for name := range inSource {
		if !inTable[name] && !untried[name] && !strings.HasSuffix(name, ".") {
			t.Errorf("the failpoint %s is in no row of points.tsv", name)
		}
	}
	for name := range inTable {
		model := strings.HasPrefix(name, "apply.") || strings.HasPrefix(name, "applied.")
		if name != "-" && !inSource[name] && !model {
			t.Errorf("points.tsv names %s, which is nowhere in the source", name)
		}
	}
}

// A durable step that no row names would have no failpoint around it.
func TestEveryDurableStepIsInTheTable(t *testing.T) {
	known := map[string]bool{}
	for _, r := range readPoints(t) {
		for _, s := range r.source {
			known[s] = true
		}
	}
	for _, r := range rows(t, "untried.tsv") {
		known[r[0]] = true
	}
	function := regexp.MustCompile(`^func (?:\([^)]*\) )?(\w+)`)
	step := regexp.MustCompile(`durable\.(WriteFile|WriteFileVia|Remove)\(|os\.(Rename|Link)\(|\.Sync\(\)`)
	eachSource(t, func(path, text string) {
		if strings.Contains(path, "streams/durable/") {
			return
		}
		name := ""
		for line := range strings.Lines(text) {
			if m := function.FindStringSubmatch(line); m != nil {
				name = filepath.Base(filepath.Dir(path)) + "." + m[1]
			}
			if step.MatchString(line) && !known[name] {
				t.Errorf("%s makes something durable (%s) and is in no row of points.tsv", name, strings.TrimSpace(line))
			}
		}
	})
}

// A branch that no row names would never be asked for.
func TestEveryBranchIsInTheTable(t *testing.T) {
	inSource := called(t, regexp.MustCompile(`Reached\("([a-z.-]+)"`))
	inTable := map[string]bool{}
	for _, r := range rows(t, "branches.tsv") {
		if inTable[r[0]] = true; len(r) != 2 || r[1] == "" {
			t.Errorf("branches.tsv: %q does not say what reaches it", r)
		}
		if !inSource[r[0]] && !strings.HasPrefix(r[0], "spool.to-") && !strings.HasPrefix(r[0], "log.halted.") {
			t.Errorf("branches.tsv names %s, which is nowhere in the source", r[0])
		}
	}
	for name := range inSource {
		if !inTable[name] && !strings.HasSuffix(name, "-") && !strings.HasSuffix(name, ".") {
			t.Errorf("the branch %s is in no row of branches.tsv", name)
		}
	}
}
