package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cmem/cmd/internal/api"
)

// three is a place with three prompts in its log, whose session has a transcript.
func three(t *testing.T) *place {
	p := newPlace(t)
	file := filepath.Join(p.cwd, "its transcript.jsonl")
	if err := os.WriteFile(file, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"one walrus", "two walruses", "three walruses"} {
		p.hook("UserPromptSubmit", spoken(t, text, file))
	}
	p.run("status")
	return p
}

func spoken(t *testing.T, text, file string) []byte {
	data, err := json.Marshal(map[string]string{"session_id": "rep-1", "hook_event_name": "UserPromptSubmit", "cwd": "/nowhere", "prompt": text, "transcript_path": file})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func (p *place) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) log(parts ...string) string {
	return filepath.Join(append([]string{p.dir, "log"}, parts...)...)
}

func (p *place) stream() string { return p.log("jetstream", "$G", "streams", "cmem") }

// exchange puts another folder where the log is, and gives where the log is now.
func (p *place) exchange(with string) (aside string) {
	p.t.Helper()
	aside = filepath.Join(p.t.TempDir(), "log")
	p.must(os.CopyFS(aside, os.DirFS(p.log())))
	p.must(os.RemoveAll(p.log()))
	p.must(os.CopyFS(p.log(), os.DirFS(with)))
	return aside
}

func (p *place) findings(args ...string) (d api.Diagnosis) {
	p.t.Helper()
	r := p.try(append([]string{"doctor", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(r.out), &d); err != nil {
		p.t.Fatalf("doctor: %v %+v", err, r)
	}
	return d
}

// foundBy is the finding of a code.
func foundBy(t testing.TB, d api.Diagnosis, code string) api.Finding {
	t.Helper()
	for _, f := range d.Findings {
		if f.Code == code {
			return f
		}
	}
	t.Fatalf("the doctor does not find %s: %+v", code, d.Findings)
	return api.Finding{}
}

// An older copy of the log takes nothing in; who asks, and who starts a session, is
// told; what is missing is offered by name; after the repair, or when the right log
// is back, everything goes on and no event is lost.
func TestAnOlderLogIsSaidAndRepaired(t *testing.T) {
	for _, way := range []string{"accepted", "put back"} {
		t.Run(way, func(t *testing.T) {
			p := three(t)
			older := filepath.Join(t.TempDir(), "log")
			p.must(os.CopyFS(older, os.DirFS(p.log())))
			p.hook("UserPromptSubmit", spoken(t, "four walruses", filepath.Join(p.cwd, "its transcript.jsonl")))
			p.run("status")
			aside := p.exchange(older)

			p.run("start")
			if r := p.try("save", "--title", "a", "note"); r.code != exitDamaged || !strings.Contains(r.err, "takes nothing in") {
				t.Errorf("save: %+v", r)
			}
			f := foundBy(t, p.findings(), "log.shorter")
			if f.Severity != api.Broken || len(f.Evidence) != 1 || !strings.Contains(f.Evidence[0], "1 events of session rep-1: cmem replay --transcript '") {
				t.Errorf("%+v", f)
			}
			if out := p.run("status"); !strings.Contains(out, "takes nothing in") {
				t.Errorf("status: %s", out)
			}
			if out := p.run("search", "walrus"); !strings.Contains(out, "one walrus") {
				t.Errorf("reading does not go on: %s", out)
			}
			r := p.with([]byte(`{"session_id":"rep-2","hook_event_name":"SessionStart","source":"startup","cwd":"/nowhere"}`), "cmem-hook", "claude-code", "SessionStart")
			if r.code != 0 || !strings.Contains(r.out, "takes nothing in") {
				t.Errorf("the hook does not tell its user: %+v", r)
			}
			if r := p.try("repair"); r.code != exitFindings || !strings.Contains(r.out, "would be done: take the log as it is") {
				t.Errorf("plan: %+v", r)
			}
			if way == "put back" {
				p.run("stop")
				p.exchange(aside)
				p.run("start")
			} else {
				p.accept()
			}
			p.until("everything is taken in", func() bool { return p.stats().Spool.Waiting == 0 })
			want := uint64(5)
			if way == "accepted" {
				want = 6 // and log.damaged
			}
			p.until("the log goes on where it was", func() bool { return p.stats().Log.Head == want })
			if r := p.with([]byte(`{"session_id":"rep-3","hook_event_name":"SessionStart","source":"startup","cwd":"/nowhere"}`), "cmem-hook", "claude-code", "SessionStart"); strings.Contains(r.out, "takes nothing in") {
				t.Errorf("the hook still says it: %+v", r)
			}
			p.run("stop")
			p.run("log", "verify")
		})
	}
}

// accept tries the repair, which changes nothing, and does it, twice.
func (p *place) accept() {
	p.t.Helper()
	if r := p.try("repair", "--dry-run"); r.code != exitFindings || !strings.Contains(r.out, "1 positions are lost") || !strings.Contains(r.out, "on a copy") {
		p.t.Errorf("dry run: %+v", r)
	}
	foundBy(p.t, p.findings(), "log.shorter")
	if r := p.try("repair", "--apply"); r.code != exitFindings || !strings.Contains(r.out, "1 positions are lost") {
		p.t.Errorf("repair: %+v", r)
	}
	if f := foundBy(p.t, p.findings(), "log.damaged"); f.Severity != api.Warning {
		p.t.Errorf("%+v", f)
	}
	p.run("repair", "--apply") // it was read
	if f := foundBy(p.t, p.findings(), "log.damaged"); f.Severity != api.Note {
		p.t.Errorf("%+v", f)
	}
	if out := p.run("repair", "--apply"); !strings.Contains(out, "nothing is to be repaired") {
		p.t.Errorf("a third time: %s", out)
	}
}

// Another log, in the place of the one that was here.
func TestAnotherLogIsSaidAndRepaired(t *testing.T) {
	p, q := three(t), three(t)
	p.exchange(q.log())
	foundBy(t, p.findings(), "log.other")
	if r := p.try("rebuild"); r.code != exitDamaged {
		t.Errorf("rebuild: %+v", r)
	}
	p.run("repair", "--apply")
	if d := p.findings("--deep"); !d.Healthy {
		t.Errorf("%+v", d)
	}
	copies, err := filepath.Glob(filepath.Join(p.dir, "repair", "*", "read", "records.db"))
	if err != nil || len(copies) != 1 {
		t.Errorf("the records of the other log were not kept: %v %v", copies, err)
	}
	p.hook("UserPromptSubmit", spoken(t, "on we go", ""))
	if out := p.run("search", "on we go"); !strings.Contains(out, "on we go") {
		t.Error(out)
	}
}

// The stream's folder is gone: it comes back from the net, and what came after that
// is told as lost.
func TestALogThatIsGoneComesBackFromItsNet(t *testing.T) {
	p := three(t)
	p.run("status") // a start of its own, which leaves a net with all three
	p.hook("UserPromptSubmit", spoken(t, "four walruses", ""))
	p.run("status")
	p.must(os.RemoveAll(p.stream()))
	f := foundBy(t, p.findings(), "log.missing")
	if !strings.Contains(f.Next, "cmem repair") {
		t.Errorf("%+v", f)
	}
	if r := p.try("start"); r.code != exitDamaged {
		t.Errorf("start: %+v", r)
	}
	if r := p.try("repair", "--apply"); r.code != exitFindings || !strings.Contains(r.out, "put back from") || !strings.Contains(r.out, "1 positions are lost") {
		t.Errorf("repair: %+v", r)
	}
	if out := p.run("search", "two walruses"); !strings.Contains(out, "two walruses") {
		t.Error(out)
	}
	p.run("log", "verify")
	p.hook("UserPromptSubmit", spoken(t, "four walruses", ""))
	p.run("status")
	if n := p.stats().Log.Head; n != 6 {
		t.Errorf("the log ends at %d", n)
	}
}

// The whole log is gone: it is not begun anew unless that is asked for, and what
// the read models had is kept.
func TestANewLogIsBegunOnlyWhenAsked(t *testing.T) {
	p := three(t)
	p.must(os.RemoveAll(p.log()))
	for _, args := range [][]string{{"status"}, {"search", "walrus"}, {"start"}} {
		if r := p.try(args...); r.code != exitDamaged {
			t.Errorf("cmem %v: %+v", args, r)
		}
	}
	if r := p.try("repair", "--apply"); r.code != exitFindings || !strings.Contains(r.out, "left to you") {
		t.Errorf("repair: %+v", r)
	}
	p.hook("UserPromptSubmit", spoken(t, "meanwhile", "")) // into the spool
	p.run("repair", "--apply", "--new-log")
	p.run("status")
	if n := p.stats().Log.Head; n != 1 {
		t.Errorf("the log ends at %d, the spool held one event", n)
	}
	copies, err := filepath.Glob(filepath.Join(p.dir, "repair", "*", "read", "records.db"))
	if err != nil || len(copies) != 1 {
		t.Errorf("the records were not kept: %v %v", copies, err)
	}
}

// Damage that comes after a clean stop is found by a deep look and mended.
func TestDamageOfAClosedLogIsRepaired(t *testing.T) {
	p := replayed(t)
	block := filepath.Join(p.stream(), "msgs", "1.blk")
	data, err := os.ReadFile(block)
	p.must(err)
	data[len(data)/2] ^= 1
	p.run("start") // the newest block is looked at here; damage comes later
	p.must(os.WriteFile(block, data, 0o600))
	foundBy(t, p.findings("--deep"), "log.gap")
	if r := p.try("repair", "--deep", "--apply"); r.code != exitFindings || !strings.Contains(r.out, "are lost and told in the log") {
		t.Errorf("repair: %+v", r)
	}
	if d := p.findings("--deep"); len(d.Findings) == 0 || d.Worst() > api.Warning {
		t.Errorf("%+v", d.Findings)
	}
	p.run("log", "verify")
}

func TestNothingIsToBeRepaired(t *testing.T) {
	p := three(t)
	for _, args := range [][]string{{"repair"}, {"repair", "--dry-run"}, {"repair", "--apply"}} {
		if out := p.run(args...); !strings.Contains(out, "nothing is to be repaired") {
			t.Errorf("cmem %v: %s", args, out)
		}
	}
	if r := p.try("repair", "--plan", "--apply"); r.code != exitUsage {
		t.Errorf("%+v", r)
	}
	if _, err := os.Stat(filepath.Join(p.dir, "repair")); err == nil {
		t.Error("a folder of copies was made for nothing")
	}
}
