package rules

import (
	"reflect"
	"strings"
	"testing"

	"cmem/streams/event"
)

func code(n int) *int { return &n }

func step(u event.ToolUse) event.Step {
	if u.Outcome == "" {
		u.Outcome = event.OK
	}
	return event.Step{Tool: &u}
}

func say(s string) event.Step { return event.Step{Said: s} }

func run(key, line string, exit int, output string) event.Step {
	u := event.ToolUse{Key: key, Tool: event.Tool{Name: "Bash", Action: event.Run, Command: line}, ExitCode: code(exit), Output: output}
	if exit != 0 {
		u.Outcome = event.Failed
	}
	return step(u)
}

func change(key, path, old, now string) event.Step {
	return step(event.ToolUse{Key: key, Tool: event.Tool{Name: "Edit", Action: event.Edit, Writes: []string{path}, Edits: []event.Change{{Path: path, Old: old, New: now}}}})
}

func byRule(t *testing.T, m event.Memory, rule string) event.Observation {
	t.Helper()
	for _, o := range m.Observations {
		if o.Rule == rule {
			return o
		}
	}
	t.Fatalf("no observation of rule %q in %+v", rule, m.Observations)
	return event.Observation{}
}

func lacks(t *testing.T, m event.Memory, rule string) {
	t.Helper()
	for _, o := range m.Observations {
		if o.Rule == rule {
			t.Fatalf("rule %q must tell nothing here: %+v", rule, o)
		}
	}
}

func TestFailingCheckThenEditThenPassIsABugfix(t *testing.T) {
	m := Turn(event.Turn{Prompt: "Fix the parser", PromptNumber: 3, Steps: []event.Step{
		run("k1", "go test ./parse", 1, "--- FAIL: TestParse (0.00s)\n    parse_test.go:9: got 1, want 2\nFAIL"),
		say("The index is off by one."),
		change("k2", "/r/parse/parse.go", "return i + 1", "return i"),
		run("k3", "go test -count=1 ./parse", 0, "ok  \tr/parse\t0.1s"),
	}})
	o := byRule(t, m, "fix")
	if o.Type != "bugfix" || o.PromptNumber != 3 || !reflect.DeepEqual(o.FilesModified, []string{"/r/parse/parse.go"}) {
		t.Errorf("got %+v", o)
	}
	if !reflect.DeepEqual(o.FactKeys, []string{"k1", "k2", "k3"}) {
		t.Errorf("keys %v", o.FactKeys)
	}
	all := strings.Join(append(o.Facts, o.Title, o.Narrative), "\n")
	for _, want := range []string{"FAIL: TestParse", "`return i + 1` → `return i`", "exit code 1", "off by one"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not told in\n%s", want, all)
		}
	}
	lacks(t, m, "change") // the fix has told the edit
	lacks(t, m, "failing")
}

func TestAFlakyCheckIsNobodysFix(t *testing.T) {
	m := Turn(event.Turn{Prompt: "run it", Steps: []event.Step{
		run("k1", "npm test", 1, "1 failed"), run("k2", "npm test", 0, "ok"),
	}})
	lacks(t, m, "fix")
}

func TestInstallBetweenFailureAndPassIsTheRemedy(t *testing.T) {
	m := Turn(event.Turn{Prompt: "why", Steps: []event.Step{
		run("k1", "pytest -q", 1, "ModuleNotFoundError: No module named 'yaml'"),
		run("k2", "pip install pyyaml", 0, "Successfully installed"),
		run("k3", "pytest -q", 0, "3 passed"),
	}})
	if o := byRule(t, m, "fix"); !strings.Contains(o.Subtitle, "pip install pyyaml") {
		t.Errorf("got %+v", o)
	}
	if o := byRule(t, m, "install"); !strings.Contains(o.Title, "pyyaml") {
		t.Errorf("got %+v", o)
	}
}

func TestAPipeDoesNotHideAFailure(t *testing.T) {
	m := Turn(event.Turn{Prompt: "x", Steps: []event.Step{
		run("k1", "go test ./... 2>&1 | tail -5", 0, "--- FAIL: TestX (0.00s)\nFAIL"),
	}})
	if o := byRule(t, m, "failing"); !strings.Contains(o.Title, "go test") {
		t.Errorf("got %+v", o)
	}
}

func TestRefusedAndFailedEditsChangeNothing(t *testing.T) {
	refused := change("k1", "/r/a.go", "a", "b")
	refused.Tool.Outcome = event.Refused
	failed := change("k2", "/r/b.go", "a", "b")
	failed.Tool.Outcome = event.Failed
	m := Turn(event.Turn{Prompt: "change it", Steps: []event.Step{refused, failed}})
	lacks(t, m, "change")
	if m.Summary == nil || len(m.Summary.FilesModified) > 0 {
		t.Errorf("summary %+v", m.Summary)
	}
}

func TestManyFilesAreGrouped(t *testing.T) {
	var steps []event.Step
	for _, f := range []string{"a", "b", "c", "d", "e"} {
		steps = append(steps, change(f, "/r/x/"+f+".go", "1", "2"))
	}
	m := Turn(event.Turn{Prompt: "sweep", Steps: steps})
	if len(m.Observations) != 1 || len(m.Observations[0].FilesModified) != 5 {
		t.Errorf("got %+v", m.Observations)
	}
}

func TestCommitIsProvedByGitsAnswer(t *testing.T) {
	m := Turn(event.Turn{Prompt: "commit", Steps: []event.Step{
		run("k1", `git add a.go && git commit -m "Mend the parser"`, 0, "[main 1a2b3c4] Mend the parser\n 1 file changed, 1 insertion(+)"),
		run("k2", "git push origin main", 0, "To x\n   0a0a0a0..1a2b3c4  main -> main"),
	}})
	o := byRule(t, m, "commit")
	if o.Title != "Committed 1a2b3c4: Mend the parser" || !strings.Contains(strings.Join(o.Facts, "|"), "pushed main") {
		t.Errorf("got %+v", o)
	}
	lacks(t, Turn(event.Turn{Prompt: "commit", Steps: []event.Step{run("k", "git commit -m x", 1, "nothing to commit")}}), "commit")
}

func TestDecisions(t *testing.T) {
	for prompt, want := range map[string]bool{
		"Please use tabs, never spaces.":              true,
		"I think we should return an error here, or?": true,
		"Should we use tabs?":                         false,
		"what should I do about this":                 true, // no question mark: taken at its word
		"can you commit?":                             false,
		"Fix the bug in the parser":                   false,
		"不要使用全域變數":                                    true,
		"yes":                                         false,
		"From now on the API must answer in UTC. How does it work now?":          true,
		"# Plan\n\nWe should do this\n\n## Steps\nUse X":                         false,
		strings.Repeat("pasted text that must never be anyone's decision. ", 80): false,
	} {
		got := len(decisions(&evidence{turn: event.Turn{Prompt: prompt}})) > 0
		if got != want {
			t.Errorf("%q: decision %v, want %v", cut(prompt, 60), got, want)
		}
	}
}

func TestParse(t *testing.T) {
	for line, want := range map[string][]string{
		"cd /x && go test ./... 2>&1 | tail -5": {"cd /x", "go test ./...", "tail -5"},
		`bash -lc "npm run lint; npm test"`:     {"npm run lint", "npm test"},
		"FOO=1 BAR=2 sudo -E pytest -q":         {"pytest -q"},
		`git commit -m "a; b && c"`:             {"git commit -m a; b && c"},
		"timeout 60 make test # not && this":    {"make test"},
		"echo 'it''s' > out.txt":                {"echo its"},
		"":                                      nil,
		"applypatch << 'P'\n*** x ; y\nP\nls":   {"applypatch", "ls"},
		"python3 -m unittest -v 2>&1":           {"python3 -m unittest -v"},
		"echo \\":                               {"echo"},
		"'unclosed":                             {"unclosed"},
		"a<b>c":                                 {"a"},
		"cmd <<EOF\nnever ends":                 {"cmd"},
	} {
		var got []string
		for _, c := range parse(line) {
			got = append(got, strings.Join(c.words, " "))
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %q, want %q", line, got, want)
		}
	}
}

func TestShellWrites(t *testing.T) {
	for line, want := range map[string][]string{
		"sed -i '' '7s/a/b/' src/x.tsx":                                      {"src/x.tsx"},
		"sed -n '7p' src/x.tsx":                                              nil,
		"rm -f TODO.md && echo removed":                                      {"TODO.md"},
		"cat > a.txt <<'E'\nrm b\nE":                                         {"a.txt"},
		"ls 2>/dev/null >/dev/null":                                          nil,
		"applypatch << 'P'\n*** Begin Patch\n*** Update File: go.mod\n@@\nP": {"go.mod"},
		"rm -rf $DIR/*":                                                      nil,
		"go test ./... > /tmp/out 2> log.txt":                                {"log.txt"},
	} {
		var got []string
		for _, c := range parse(line) {
			got = append(got, c.writes()...)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %q, want %q", line, got, want)
		}
	}
}

func TestKindOf(t *testing.T) {
	for line, want := range map[string]kind{
		"go test ./...": testKind, "npm run test:unit": testKind, "mise run lint": lintKind, "make": buildKind,
		"make test": testKind, "./gradlew test": testKind, "python3 -m unittest -v": testKind, "git -C /x commit -m a": commitKind,
		"cat test.go": otherKind, "yarn add left-pad": installKind, "/usr/bin/pytest": testKind, "go vet ./...": lintKind,
		"git status": otherKind, "npm ci": otherKind,
	} {
		if got, _ := kindOf(parse(line)[0]); got != want {
			t.Errorf("%q: got %q, want %q", line, got, want)
		}
	}
}

func TestEmptyAndOddTurns(t *testing.T) {
	if m := Turn(event.Turn{}); len(m.Observations) != 0 || m.Summary != nil {
		t.Errorf("an empty turn gave %+v", m)
	}
	// Nothing may panic whatever a host gives.
	Turn(event.Turn{Prompt: "\x00\xff", Steps: []event.Step{
		{Tool: &event.ToolUse{Tool: event.Tool{Action: event.Run}}},
		{Tool: &event.ToolUse{Tool: event.Tool{Action: event.Edit, Edits: []event.Change{{}}}, Outcome: event.OK}},
		{Said: "\x1b[31m"}, {},
	}})
}

func TestTurnIsPure(t *testing.T) {
	turn := event.Turn{Prompt: "always run the linter", Steps: []event.Step{
		run("k1", "make lint", 1, "error: x"), change("k2", "/a/b.go", "x", "func New() {}"), run("k3", "make lint", 0, ""),
	}}
	a, b := Turn(turn), Turn(turn)
	if !reflect.DeepEqual(a, b) {
		t.Errorf("two runs differ:\n%+v\n%+v", a, b)
	}
}

func FuzzShell(f *testing.F) {
	for _, s := range []string{"a && b", "cat <<E\nx\nE", "'", `"\`, "a>b<c|d&e;f", "bash -c 'bash -c x'"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		for _, c := range parse(line) {
			if len(c.words) == 0 && len(c.targets) == 0 {
				t.Fatal("an empty command")
			}
			kindOf(c)
			c.writes()
		}
	})
}

func BenchmarkTurn(b *testing.B) {
	turn := event.Turn{Prompt: "Fix it, we should never lose events.", Steps: []event.Step{
		run("k1", "go test ./...", 1, strings.Repeat("some line of output\n", 60)+"--- FAIL: TestX"),
		say("I see the reason."), change("k2", "/a/b.go", "x", "func New() {}"), run("k3", "go test ./...", 0, "ok"),
	}}
	b.ReportAllocs()
	for b.Loop() {
		Turn(turn)
	}
}
