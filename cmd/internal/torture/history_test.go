package torture

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// readHistory reads what was saved: lines of operations; # is a remark.
func readHistory(path string) (all []op, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		var o op
		if _, err := fmt.Sscan(line, &o.what, &o.a, &o.b); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", path, line, err)
		}
		all = append(all, o)
	}
	return all, nil
}

// saveHistory keeps a history that failed, where every `go test` finds it.
func saveHistory(seed uint64, history []op, why error) (string, error) {
	path := filepath.Join("testdata", "histories", fmt.Sprintf("seed-%d.txt", seed))
	var b strings.Builder
	fmt.Fprintf(&b, "# seed %d\n", seed)
	for line := range strings.Lines(why.Error()) {
		fmt.Fprintf(&b, "# %s\n", strings.TrimSpace(line))
	}
	for _, o := range history {
		fmt.Fprintln(&b, o)
	}
	return path, os.WriteFile(path, []byte(b.String()), 0o600)
}

// TestHistoriesThatOnceFailed runs every saved history again.
func TestHistoriesThatOnceFailed(t *testing.T) {
	files, err := filepath.Glob("testdata/histories/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no histories: %v", err)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			history, err := readHistory(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := live(t.TempDir(), history); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestRandomHistories is a small part of what make torture does.
func TestRandomHistories(t *testing.T) { testModel(t, 1, 3) }

// weights say how often an operation comes; those that are not named come once.
var weights = map[string]int{"tool": 6, "call": 3, "prompt": 4, "stop": 3, "file": 4, "fork": 2, "twice": 2, "restart": 2, "kill": 2}

// testModel does random histories against the model. The shortest one that fails is
// printed and saved.
func testModel(t *testing.T, seed uint64, checks int) {
	for name, value := range map[string]string{
		"rapid.seed": fmt.Sprint(seed), "rapid.checks": fmt.Sprint(checks), "rapid.nofailfile": "true", "rapid.shrinktime": "60s",
	} {
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	var last []op
	var why error
	t.Cleanup(func() {
		if why == nil {
			return
		}
		path, err := saveHistory(seed, last, why)
		t.Logf("seed %d, saved in %s (%v):\n%v", seed, path, err, last)
	})
	var names []string
	for _, name := range slices.Sorted(maps.Keys(ops)) {
		for range max(1, weights[name]) {
			names = append(names, name)
		}
	}
	one := rapid.Custom(func(rt *rapid.T) op {
		return op{rapid.SampledFrom(names).Draw(rt, "what"), rapid.IntRange(0, 9).Draw(rt, "a"), rapid.IntRange(0, 99).Draw(rt, "b")}
	})
	rapid.Check(t, func(rt *rapid.T) {
		history := rapid.SliceOfN(one, 1, 40).Draw(rt, "history")
		root, err := os.MkdirTemp(t.TempDir(), "life")
		if err != nil {
			rt.Fatal(err)
		}
		defer os.RemoveAll(root)
		if err := live(root, history); err != nil {
			last, why = history, err
			rt.Fatal(err)
		}
	})
}
