package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// recorded is a transcript, from wherever a command runs.
func recorded(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs(testdata + "/transcripts/claude-code/g07-claude-code.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReplayBringsInWhatIsThereAndNamesWhatIsNot(t *testing.T) {
	p := newPlace(t)
	gone := filepath.Join(t.TempDir(), "sessions")
	below := filepath.Join(t.TempDir(), "projects")
	if err := os.MkdirAll(filepath.Join(below, "app", "subagents"), 0o700); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(recorded(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(below, "app", "subagents", "a.jsonl"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	r := p.try("replay", "--transcript", gone, "--transcript", below)
	if r.code != exitNotFound || !strings.Contains(r.err, "there is no file or folder "+gone) || !strings.Contains(r.out, "96 new") {
		t.Errorf("code %d, out %q, err %q", r.code, r.out, r.err)
	}
	if r := p.try("replay", gone); r.code != exitNotFound || !strings.Contains(r.err, gone) {
		t.Errorf("nothing at all: code %d, err %q", r.code, r.err)
	}
	if r := p.try("replay", below, "--observe", "missing"); r.code != exitOK || !strings.Contains(r.err, "no model is configured") || !strings.Contains(r.err, "rules make observations") {
		t.Errorf("no model: code %d, err %q", r.code, r.err)
	}
}

func TestAnUncleanStopIsToldOnce(t *testing.T) {
	p := newPlace(t)
	p.run("start")
	if out := p.run("status"); strings.Contains(out, "not a clean one") {
		t.Errorf("a first start: %s", out)
	}
	p.kill()
	p.run("start")
	if out := p.run("status"); !strings.Contains(out, "not a clean one") || !strings.Contains(out, "nothing that it had acknowledged is lost") {
		t.Errorf("after a kill: %s", out)
	}
	log, err := os.ReadFile(filepath.Join(p.dir, "logs", "worker.log"))
	if n := strings.Count(string(log), "not a clean one"); err != nil || n != 1 {
		t.Errorf("the worker's log says it %d times, %v", n, err)
	}
	p.run("stop")
	if out := p.run("status"); strings.Contains(out, "not a clean one") {
		t.Errorf("after a stop: %s", out)
	}
}

// The command that meets the stop may have another question to answer.
func TestAnUncleanStopIsToldUntilSomebodyHeardIt(t *testing.T) {
	for _, args := range [][]string{{"status"}, {"doctor"}} {
		p := newPlace(t)
		p.run("start")
		p.kill()
		p.run("search", "anything")
		p.run("log", "verify")
		if out := p.run(args...); !strings.Contains(out, "not a clean one") || !strings.Contains(out, "the stop before the start of 20") {
			t.Errorf("cmem %v after other commands: %s", args, out)
		}
		if out := p.run("status"); strings.Contains(out, "not a clean one") {
			t.Errorf("it was told already: %s", out)
		}
		p.run("start")
		p.kill()
		p.run("search", "anything")
		p.run("start")
		for range 2 {
			if out := p.run("status"); !strings.Contains(out, "not a clean one") {
				t.Errorf("a worker forgets what it was asked: %s", out)
			}
		}
	}
}

func TestWhatOnlyHasAnEntrysNameIsCountedOnce(t *testing.T) {
	p := newPlace(t)
	p.run("status")
	name := func(n int) string { return fmt.Sprintf("%019d-%d-%016x.json", n, n, n) }
	if err := errors.Join(
		syscall.Mkfifo(filepath.Join(p.dir, "spool", name(1)), 0o600),
		os.Symlink("/etc/hostname", filepath.Join(p.dir, "spool", name(2))),
		os.Mkdir(filepath.Join(p.dir, "spool", name(3)), 0o700),
		os.MkdirAll(filepath.Join(p.dir, "spool", "held"), 0o700),
	); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(p.dir, "spool", "held", name(4)), 0o600); err != nil {
		t.Fatal(err)
	}
	if s := p.stats().Spool; s.Waiting != 0 || s.Held != 0 || s.Foreign != 3 {
		t.Errorf("counted %+v", s)
	}
	if out := p.run("spool", "retry"); !strings.HasPrefix(out, "0 events tried again") {
		t.Error(out)
	}
	if out := p.run("doctor"); !strings.Contains(out, "3 files in") || strings.Contains(out, "wait in the spool") {
		t.Error(out)
	}
}

func TestStatusTellsWhetherHooksDeliver(t *testing.T) {
	p := newPlace(t)
	if out := p.run("status"); !strings.Contains(out, "last delivered: nothing among the newest events") {
		t.Errorf("before any hook: %s", out)
	}
	p.hook("UserPromptSubmit", prompt("s1", "hello"))
	p.with(nil, "cmem-hook", "claude-code", "PostToolUse")
	p.with([]byte("{}"), "cmem-hook", "gemini", "BeforeTool")
	if err := os.WriteFile(filepath.Join(p.dir, "spool", "notes.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	out := p.run("status")
	for _, want := range []string{
		"last delivered: claude-code UserPromptSubmit at 20", "once: a hook got no payload", "once: cmem-hook was called for a host it does not know",
		"1 not of the spool", "notes.txt",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	labels := map[string]bool{}
	for line := range strings.Lines(out) {
		label, _, _ := strings.Cut(line, " ")
		if label != "" && label != "note" && labels[label] {
			t.Errorf("two rows are called %s", label)
		}
		labels[label] = true
	}
	if h := p.stats().Hooks; len(h.Counters) != 2 || h.Counters[0].Name != "empty-payload" || h.Counters[0].Count != 1 || h.Counters[0].Last == "" {
		t.Errorf("got %+v", h)
	}
}

func TestConfigShowsTheToolsThatAreSkippedByDefault(t *testing.T) {
	p := newPlace(t)
	if out := p.run("config"); !strings.Contains(out, "skip_tools = [ListMcpResourcesTool, SlashCommand, Skill, TodoWrite, AskUserQuestion] (the default, not set)") {
		t.Error(out)
	}
	p.run("status") // makes the folder
	if err := os.WriteFile(filepath.Join(p.dir, "config.json"), []byte(`{"skip_tools":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := p.run("config"); !strings.Contains(out, "skip_tools = []") {
		t.Error(out)
	}
}

func TestContextNamesOnlyCommandsThatExist(t *testing.T) {
	p := newPlace(t)
	p.run("replay", recorded(t))
	out := p.run("context", "--project", "git-sync")
	if strings.Contains(out, "get_observations") {
		t.Error("a tool is named that is not there")
	}
	named := regexp.MustCompile("`cmem ([a-z]+)").FindAllStringSubmatch(out, -1)
	if len(named) == 0 {
		t.Errorf("nothing says how an id is looked up: %s", out)
	}
	root := (&app{}).root()
	for _, m := range named {
		if c, _, err := root.Find([]string{m[1]}); err != nil || c == root {
			t.Errorf("there is no command %s", m[1])
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^#?(S?\d+) `).FindAllStringSubmatch(out, -1) {
		p.run("show", m[1])
	}
}

func TestContextSaysWhyThereIsNone(t *testing.T) {
	p := newPlace(t)
	p.cwd = filepath.Join(t.TempDir(), "shop")
	if err := os.Mkdir(p.cwd, 0o700); err != nil {
		t.Fatal(err)
	}
	r := p.try("context")
	if r.code != exitOK || !strings.Contains(r.err, "no project shop is known; name another with --project, cmem project list shows them") {
		t.Errorf("code %d, %q", r.code, r.err)
	}
	p.hook("UserPromptSubmit", []byte(strings.ReplaceAll(string(prompt("s1", "hello")), "/srv/demo", p.cwd)))
	r = p.try("context")
	if r.code != exitOK || !strings.Contains(r.err, "what happened in the project shop is kept") {
		t.Errorf("with a prompt: code %d, %q", r.code, r.err)
	}
}

func TestLogTailNamesTheRuleThatKeptAnEventOut(t *testing.T) {
	p := newPlace(t)
	p.hook("PostToolUse", []byte(strings.ReplaceAll(string(payload("s-1", 1)), `"Bash"`, `"TodoWrite"`)))
	if out := p.run("log", "tail"); !strings.Contains(out, "TodoWrite kept out by the rule skipped-tool") {
		t.Error(out)
	}
	if e := p.events(); len(e) != 1 || e[0].Rule != "skipped-tool" || e[0].Tool != "TodoWrite" {
		t.Errorf("got %+v", e)
	}
}

func TestHelpAndVersionAreAnswered(t *testing.T) {
	p := newPlace(t)
	for _, r := range []result{p.try("hook", "--help"), p.with(nil, "cmem-hook", "--help"), p.with(nil, "cmem-hook", "-h")} {
		if r.code != exitOK || !strings.Contains(r.out, "usage: cmem-hook") || r.err != "" {
			t.Errorf("%+v", r)
		}
	}
	if long, short := p.run("--version"), p.run("version"); long != short || !strings.HasPrefix(long, "cmem ") {
		t.Errorf("%q and %q", long, short)
	}
	if _, err := os.Stat(p.dir); err == nil {
		t.Error("help made a data folder")
	}
}

func TestAHookAndATerminalNameTheSameZone(t *testing.T) {
	p := newPlace(t)
	p.env = append(p.env, "TZ=Etc/UTC")
	p.run("replay", recorded(t))
	p.run("start")
	c := p.dial(t)
	defer c.Close()
	text, err := c.Text(context.Background(), "/api/context/inject", map[string][]string{"project": {"git-sync"}})
	if mine := p.run("context", "--project", "git-sync"); err != nil || strings.TrimSpace(text) != strings.TrimSpace(mine) || !strings.Contains(mine, "Times are UTC.") {
		t.Errorf("%v\n%s\n%s", err, text, mine)
	}
}
