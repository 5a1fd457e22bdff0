package rules

import (
	"slices"
	"strings"

	"cmem/streams/event"
)

// evidence is a turn, sorted by what its steps are good for. Indexes are those
// of Turn.Steps, so that "before" and "after" can be told.
type evidence struct {
	turn     event.Turn
	said     []said
	edits    []edit
	checks   []check
	shells   []shellRun
	searches []search
	read     []string     // paths, in order of first reading
	fixed    map[int]bool // edits told by the rule fix
}

type said struct {
	at   int
	text string
}

// edit is one change of one file that took place.
type edit struct {
	at      int
	path    string
	key     string
	created bool
	change  event.Change
	command string // the shell command that did it, "" an editing tool
}

// check is one run of a test, lint or build.
type check struct {
	at       int
	key      string
	line     string // the command line as it was run
	name     string // what makes two runs the same check
	kind     kind
	failed   bool
	exitCode *int
	output   string
}

type shellRun struct {
	at       int
	use      *event.ToolUse
	commands []command
}

type search struct {
	at    int
	query string
}

func gather(t event.Turn) *evidence {
	e := &evidence{turn: t, fixed: map[int]bool{}}
	for i, s := range t.Steps {
		switch {
		case s.Tool != nil:
			e.tool(i, s.Tool)
		case strings.TrimSpace(s.Said) != "":
			e.said = append(e.said, said{i, strings.TrimSpace(s.Said)})
		}
	}
	return e
}

// tool files one tool use under what it is evidence of. What was refused or
// interrupted changed nothing and proves nothing.
func (e *evidence) tool(at int, u *event.ToolUse) {
	if u.Tool.Container || u.Outcome == event.Refused || u.Outcome == event.Interrupted {
		return
	}
	done := u.Outcome != event.Failed
	switch u.Tool.Action {
	case event.Run:
		e.shell(at, u)
	case event.Search:
		if done && u.Tool.Query != "" {
			e.searches = append(e.searches, search{at, u.Tool.Query})
		}
	}
	if !done {
		return
	}
	for _, p := range u.Tool.Reads {
		if !slices.Contains(e.read, p) {
			e.read = append(e.read, p)
		}
	}
	if u.Tool.Action == event.Edit || u.Tool.Action == event.Write {
		e.edited(at, u)
	}
}

func (e *evidence) edited(at int, u *event.ToolUse) {
	told := map[string]bool{}
	for _, c := range u.Tool.Edits {
		told[c.Path] = true
		e.edits = append(e.edits, edit{
			at: at, path: c.Path, key: u.Key, change: c,
			created: c.Old == "" && u.Tool.Action == event.Write && !e.known(c.Path, at),
		})
	}
	for _, p := range u.Tool.Writes {
		if !told[p] {
			e.edits = append(e.edits, edit{at: at, path: p, key: u.Key, change: event.Change{Path: p}})
		}
	}
}

// known says whether path was read or changed before, so that writing it whole
// did not create it.
func (e *evidence) known(path string, at int) bool {
	return slices.Contains(e.read, path) ||
		slices.ContainsFunc(e.edits, func(d edit) bool { return d.path == path && d.at < at })
}

func (e *evidence) shell(at int, u *event.ToolUse) {
	run := shellRun{at: at, use: u, commands: parse(u.Tool.Command)}
	e.shells = append(e.shells, run)
	if c, ok := checkOf(run); ok {
		e.checks = append(e.checks, c)
	}
	if u.Outcome == event.Failed {
		return
	}
	for _, c := range run.commands {
		for _, p := range c.writes() {
			e.edits = append(e.edits, edit{at: at, path: p, key: u.Key, command: u.Tool.Command, change: event.Change{Path: p}})
		}
	}
	for _, p := range u.Tool.Writes {
		if !slices.ContainsFunc(e.edits, func(d edit) bool { return d.at == at && d.path == p }) {
			e.edits = append(e.edits, edit{at: at, path: p, key: u.Key, command: u.Tool.Command, change: event.Change{Path: p}})
		}
	}
}

// saidBefore is the nearest text of the agent before a step, not reaching back
// over another edit's.
func (e *evidence) saidBefore(at int) string {
	for _, s := range slices.Backward(e.said) {
		if s.at < at {
			return s.text
		}
	}
	return ""
}

func (e *evidence) lastSaid() string {
	if len(e.said) == 0 {
		return ""
	}
	return e.said[len(e.said)-1].text
}

// modified gives the paths of edits, each once, in order.
func modified(edits []edit) []string {
	var out []string
	for _, d := range edits {
		if !slices.Contains(out, d.path) {
			out = append(out, d.path)
		}
	}
	return out
}

func keysOf(edits []edit) []string {
	var out []string
	for _, d := range edits {
		if d.key != "" && !slices.Contains(out, d.key) {
			out = append(out, d.key)
		}
	}
	return out
}
