package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// every command line whose answer somebody reads.
var answering = [][]string{
	{"status"}, {"status", "--json"}, {"doctor"}, {"doctor", "--json"}, {"config"}, {"config", "--json"}, {"version"}, {"version", "--json"}, {"--version"},
	{"search", "word1"}, {"search", "word1", "--json"}, {"timeline", "--query", "word1"}, {"show", "s-1"}, {"show", "s-1", "--json"},
	{"log", "tail"}, {"log", "tail", "--json"}, {"log", "export"}, {"log", "verify"}, {"log", "damage"}, {"log", "damage", "--json"},
	{"project", "list"}, {"project", "list", "--json"}, {"save", "--project", "demo", "x"}, {"spool", "retry"}, {"rebuild"}, {"stop"},
	{"help"}, {"help", "search"}, {"search", "--help"}, {"--help"}, {"exit-codes"}, {"completion", "bash"}, {"completion", "zsh"}, {"completion", "fish"}, {"completion", "powershell"},
}

func aFew(t *testing.T) *place {
	t.Helper()
	p := newPlace(t)
	p.hook("UserPromptSubmit", prompt("s-1", "word1 and word2"))
	p.hook("PostToolUse", payload("s-1", 1))
	p.run("status")
	return p
}

func TestAnAnswerThatCannotBeWrittenIsAFailure(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("there is no /dev/full here")
	}
	defer full.Close()
	p := aFew(t)
	for _, args := range answering {
		c := p.command("cmem", args...)
		var errs bytes.Buffer
		c.Stdout, c.Stderr = full, &errs
		_ = c.Run() // its code is looked at
		if c.ProcessState.ExitCode() != exitNoSpace || strings.Count(errs.String(), "\n") != 1 || !strings.Contains(errs.String(), "cannot be written") {
			t.Errorf("cmem %v: exit code %d, %q", args, c.ProcessState.ExitCode(), errs.String())
		}
	}
}

func TestAReaderThatGoesAwayEndsACommandInOrder(t *testing.T) {
	p := aFew(t)
	for _, args := range answering {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		c := p.command("cmem", args...)
		var errs bytes.Buffer
		c.Stdout, c.Stderr = w, &errs
		_ = c.Run() // its code is looked at
		w.Close()
		if c.ProcessState.ExitCode() != exitReader || errs.Len() > 0 {
			t.Errorf("cmem %v: %v, %q", args, c.ProcessState, errs.String())
		}
		if out := p.run("status"); strings.Contains(out, "not a clean one") {
			t.Fatalf("cmem %v did not close the log: %s", args, out)
		}
	}
}

func TestAHookWhoseReadersAreGoneEndsWithZero(t *testing.T) {
	p := newPlace(t)
	for name, args := range map[string][]string{"cmem-hook": {"nobody", "Stop"}, "cmem": {"hook", "nobody", "Stop"}} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		c := p.command(name, args...)
		c.Stdin, c.Stdout, c.Stderr = strings.NewReader("{}"), w, w
		if err := c.Run(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		w.Close()
	}
	if h := p.stats().Hooks; len(h.Counters) != 1 || h.Counters[0].Name != "hook-unknown-host" || h.Counters[0].Count != 2 {
		t.Errorf("counted %+v", h.Counters)
	}
}

// A long export is cut in its middle, where pipes and buffers are full.
func TestALongExportToHeadLeavesTheLogClean(t *testing.T) {
	p := newPlace(t)
	dir, err := filepath.Abs(testdata + "/transcripts")
	if err != nil {
		t.Fatal(err)
	}
	p.run("replay", "--transcript", dir)
	for _, args := range []string{"log export", "log tail -n 1000000", "log tail -n 1000000 --json"} {
		c := exec.Command("sh", "-c", `"$0" `+args+` | head -n 1`, filepath.Join(bin, "cmem"))
		c.Env, c.Dir = p.env, p.cwd
		out, err := c.CombinedOutput()
		if err != nil || bytes.Count(out, []byte("\n")) != 1 {
			t.Errorf("cmem %s: %v, %d lines", args, err, bytes.Count(out, []byte("\n")))
		}
		if out := p.run("status"); strings.Contains(out, "not a clean one") {
			t.Errorf("cmem %s did not close the log: %s", args, out)
		}
	}
}

func TestHelpAndCompletionKnowTheirTopics(t *testing.T) {
	p := newPlace(t)
	for _, args := range [][]string{{"help", "nosuch"}, {"help", "log", "nosuch"}, {"help", "search", "x"}, {"completion", "nosuch"}, {"completion"}, {"completion", "bash", "x"}} {
		if r := p.try(args...); r.code != exitUsage || r.out != "" || strings.Count(r.err, "\n") != 1 {
			t.Errorf("cmem %v: %+v", args, r)
		}
	}
	if out := p.run("help", "log", "export"); !strings.Contains(out, "CloudEvents") {
		t.Errorf("help log export: %s", out)
	}
	if out := p.run("help"); !strings.Contains(out, "Available Commands") {
		t.Errorf("help: %s", out)
	}
	if out := p.run("help", "exit-codes"); !strings.Contains(out, "interrupted") {
		t.Errorf("help exit-codes: %s", out)
	}
}

func TestAnEmptyFlagIsAVariableThatWasNotSet(t *testing.T) {
	p := newPlace(t)
	for _, args := range [][]string{
		{"--data", "", "status"}, {"status", "--data="}, {"search", "x", "--project", ""}, {"search", "x", "--host="}, {"search", "x", "--from", ""},
		{"context", "--project", ""}, {"save", "--project", "", "x"}, {"rebuild", "--only", ""}, {"project", "move", "--session", "", "a", "b"}, {"timeline", "1", "--session", ""},
	} {
		if r := p.try(args...); r.code != exitUsage || !strings.Contains(r.err, "is empty: is a variable not set?") {
			t.Errorf("cmem %q: %+v", args, r)
		}
	}
	if _, err := os.Stat(p.dir); err == nil {
		t.Error("a data folder was made")
	}
}

func TestWithJSONAFailureIsAnObjectToo(t *testing.T) {
	p := newPlace(t)
	for code, list := range map[int][][]string{
		exitUsage: {
			{"--json"}, {"nonsense", "--json"}, {"--json", "--nonsense"}, {"search", "--json"}, {"search", "x", "--limit", "many", "--json"}, {"search", "x", "--from", "never", "--json"},
			{"log", "--json"}, {"help", "nosuch", "--json"}, {"--data", "", "status", "--json"}, {"save", "--json", " "},
		},
		exitNotFound: {{"show", "12", "--json"}, {"search", "x", "--project", "nobodys", "--json"}, {"log", "verify", "/no/such/file", "--json"}},
	} {
		for _, args := range list {
			r := p.try(args...)
			var f failure
			if err := json.Unmarshal([]byte(r.out), &f); err != nil || r.code != code || f.Exit != code || f.Code == "" || "cmem: "+f.Message+"\n" != r.err {
				t.Errorf("cmem %v: %v, %+v", args, err, r)
			}
		}
	}
	// What was answered is not answered twice.
	p.run("status")
	if err := os.WriteFile(filepath.Join(p.dir, "spool", "1-1-bad.json"), []byte("no envelope"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := p.try("doctor", "--json")
	var d struct{ Findings []any }
	if err := json.Unmarshal([]byte(r.out), &d); err != nil {
		t.Errorf("doctor --json: %v, %+v", err, r)
	}
}

func TestTheSettingZoneIsWhereDaysAndTimesAre(t *testing.T) {
	p := newPlace(t)
	at := time.Date(2026, 1, 25, 4, 8, 0, 0, time.UTC) // the 24th in Los Angeles
	p.hookAt(at, "UserPromptSubmit", prompt("zone-1", "evening work"))
	if err := os.WriteFile(filepath.Join(p.dir, "config.json"), []byte(`{"zone":"America/Los_Angeles"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := p.run("search", "work", "--date", "2026-01-24"); !strings.Contains(out, "evening work") {
		t.Errorf("config.json's zone: %s", out)
	}
	if out := p.run("status"); !strings.Contains(out, "UserPromptSubmit at 2026-01-24 20:08:00") {
		t.Errorf("config.json's zone: %s", out)
	}
	p.env = append(p.env, "CMEM_ZONE=Asia/Tokyo")
	p.run("start")
	if out := p.run("search", "work", "--date", "2026-01-25"); !strings.Contains(out, "evening work") {
		t.Errorf("CMEM_ZONE: %s", out)
	}
	if out := p.run("status"); !strings.Contains(out, "UserPromptSubmit at 2026-01-25 13:08:00") {
		t.Errorf("CMEM_ZONE: %s", out)
	}
}
