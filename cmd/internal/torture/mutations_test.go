//go:build failpoint && linux

package torture

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// testMutations breaks each recovery and has the campaign catch it.
func testMutations(t *testing.T, seed uint64) {
	for _, m := range readMutations(t) {
		t.Run(m.name, func(t *testing.T) {
			p, err := m.build(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			caught := m.tried(t, p, seed)
			if caught == nil {
				t.Fatalf("%s was not caught by %s: %s", m.name, m.catcher, m.what)
			}
			text, _, _ := strings.Cut(caught.Error(), "\n")
			fmt.Printf("torture: mutation %s: caught by %s: %.200s\n", m.name, m.catcher, text)
		})
	}
}

// build makes the programs with the mutation in them.
func (m mutation) build(dir string) (programs, error) {
	path, err := filepath.Abs(filepath.Join(root, m.file))
	if err != nil {
		return programs{}, err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return programs{}, err
	}
	broken, overlay := filepath.Join(dir, "broken.go"), filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(broken, []byte(strings.Replace(string(text), m.old, m.new, 1)), 0o600); err != nil {
		return programs{}, err
	}
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{path: broken}})
	if err != nil {
		return programs{}, err
	}
	if err := os.WriteFile(overlay, list, 0o600); err != nil {
		return programs{}, err
	}
	return buildInto(dir, overlay)
}

// tried gives what the campaign finds, nil if nothing.
func (m mutation) tried(t *testing.T, p programs, seed uint64) error {
	catcher, what, _ := strings.Cut(m.catcher, " ")
	switch catcher {
	case "races":
		return twoWorkers(p, t.TempDir())
	case "points":
		for _, row := range readPoints(t) {
			if row.step != what {
				continue
			}
			for _, w := range row.ways(false) {
				if err := newFarm(p, t.TempDir()).goWrong(scenarios[row.scenarios[0]], w); err != nil {
					return fmt.Errorf("%s, %s: %w", row.step, w.name, err)
				}
			}
		}
		return nil
	case "crash":
		return firstFinding(p, filepath.Join(t.TempDir(), "data"), seed)
	}
	t.Fatalf("%s is caught by nobody known: %q", m.name, m.catcher)
	return nil
}

// firstFinding checks what crashes leave until one shows a finding.
func firstFinding(p programs, dir string, seed uint64) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	trace, err := traced(p, dir, seed)
	if err != nil {
		return err
	}
	all, err := crashes(trace, dir, 6)
	if err != nil {
		return err
	}
	for _, s := range all {
		if err := check(s.dir, s.want); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		os.RemoveAll(s.dir)
	}
	return nil
}
