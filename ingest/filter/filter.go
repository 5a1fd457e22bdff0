// Package filter decides what is not kept, and says so: every event left out
// leaves an envelope event.skipped that names the rule and its version, without
// a word of the text and without a path. Lifting a filter and replaying brings
// the events in.
//
// The rules, in this order; the first that fits wins:
//
//	own-session      cmem's own processes, and work inside the data folder
//	excluded         an excluded project, its sub-folders, a file inside it
//	tool-hooks-off   the setting tool_hooks is false
//	own-tool         the tools of cmem and of claude-mem
//	skipped-tool     the setting skip_tools
//	session-memory   the host's own notes about a session
//	protocol         a prompt that is one task notification
//	subagent         the setting skip_subagents
//
// Standard library only.
package filter

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
	"time"

	"cmem/ingest/home"
)

// Event is what a rule may look at.
type Event struct {
	Host, Event, Session string
	Tool, ToolID         string
	Command              string // a shell tool's command line, "" not known
	Cwd, GitRoot         string
	ProjectName          string
	Paths                []string // files named by the tool's input
	Prompt               string
	IsPrompt             bool
	Agent                string // sub-agent, "" the main one
	Time                 time.Time
	Bytes                int64 // of the payload
}

// Rule names why an event is not kept.
type Rule string

// The rules.
const (
	OwnSession    Rule = "own-session"
	Excluded      Rule = "excluded"
	ToolHooksOff  Rule = "tool-hooks-off"
	OwnTool       Rule = "own-tool"
	SkippedTool   Rule = "skipped-tool"
	SessionMemory Rule = "session-memory"
	Protocol      Rule = "protocol"
	Subagent      Rule = "subagent"
)

// Version of the rules' meaning; it grows when one of them changes, so that
// what an older one left out can be told.
func (r Rule) Version() int { return 1 }

// defaultSkipTools are tools whose calls say nothing about the work.
var defaultSkipTools = []string{"ListMcpResourcesTool", "SlashCommand", "Skill", "TodoWrite", "AskUserQuestion"}

// DefaultSkipTools gives the tools that hooks leave out where the setting
// skip_tools is not there. Transcripts are taken with them.
func DefaultSkipTools() []string { return slices.Clone(defaultSkipTools) }

// Filter is safe for concurrent use.
type Filter struct {
	settings home.Settings
	data     []string // the data folder, as given and without links
	excluded []glob
	skip     map[string]bool
}

// New builds a filter for a data folder. A pattern that cannot be used (an open
// bracket) matches its own text, so nothing is kept by mistake.
func New(s home.Settings, d home.Dir) *Filter {
	f := &Filter{settings: s, data: resolved(clean(string(d))), skip: map[string]bool{}}
	for _, p := range s.ExcludedProjects {
		f.excluded = append(f.excluded, newGlobs(p, s.UserHome)...)
	}
	tools := s.SkipTools
	if tools == nil {
		tools = defaultSkipTools
	}
	for _, name := range tools {
		f.skip[name] = true
	}
	return f
}

// ForTranscripts gives the filter for files: the switch that keeps tool hooks
// quiet is not for them, nor is the default list of tools. chosen: the list is
// the user's own.
func (f *Filter) ForTranscripts(chosen bool) *Filter {
	g := *f
	g.settings.ToolHooks = true
	if !chosen {
		g.skip = nil
	}
	return &g
}

// Decide says whether an event is left out, and by which rule.
func (f *Filter) Decide(e Event) (rule Rule, skip bool) {
	switch {
	case f.settings.Internal || f.inData(e.Cwd):
		rule = OwnSession
	case f.isExcluded(e):
		rule = Excluded
	case e.Tool != "" && !f.settings.ToolHooks:
		rule = ToolHooksOff
	case ownTool(e.Tool) || ownCommand(e.Command):
		rule = OwnTool
	case f.skip[e.Tool]:
		rule = SkippedTool
	case sessionMemory(e):
		rule = SessionMemory
	case e.IsPrompt && isNotification(e.Prompt):
		rule = Protocol
	case e.Agent != "" && f.settings.SkipSubagents:
		rule = Subagent
	}
	return rule, rule != ""
}

func (f *Filter) inData(cwd string) bool {
	cwd = clean(cwd)
	for _, dir := range f.data {
		if inside(cwd, dir) {
			return true
		}
	}
	return false
}

func (f *Filter) isExcluded(e Event) bool {
	if len(f.excluded) == 0 {
		return false
	}
	places := []string{clean(e.Cwd), clean(e.GitRoot)}
	for _, p := range e.Paths {
		p = clean(p)
		if p != "" && !isAbs(p) {
			p = path.Join(places[0], p)
		}
		places = append(places, p)
	}
	for _, g := range f.excluded {
		if g.name(e.ProjectName) {
			return true
		}
		for _, p := range places {
			if g.covers(p) {
				return true
			}
		}
	}
	return false
}

// Skipped is the body of an event.skipped envelope.
type Skipped struct {
	Host    string    `json:"host"`
	Event   string    `json:"event"`
	Session string    `json:"session,omitempty"`
	Tool    string    `json:"tool,omitempty"`
	ToolID  string    `json:"tool_id,omitempty"`
	Time    time.Time `json:"time,omitzero"`
	Bytes   int64     `json:"bytes"`
	Rule    Rule      `json:"rule"`
	Version int       `json:"rule_version"`
}

// SkippedBody gives the JSON body of the envelope that stands for a left-out
// event. Names that are no plain words are left out of it.
func SkippedBody(e Event, rule Rule) []byte {
	body, err := json.Marshal(Skipped{
		Host: plainWord(e.Host), Event: plainWord(e.Event), Session: plainWord(e.Session),
		Tool: plainWord(e.Tool), ToolID: plainWord(e.ToolID),
		Time: e.Time, Bytes: e.Bytes, Rule: rule, Version: rule.Version(),
	})
	if err != nil { // a time outside of years 0 to 9999
		e.Time = time.Time{}
		return SkippedBody(e, rule)
	}
	return body
}

// SkippedID is the id of that envelope, given the id the event would have had.
func SkippedID(id string) string { return "skip/" + id }

// plainWord keeps what hosts give as names and ids, and nothing else.
func plainWord(s string) string {
	if len(s) > 200 {
		return ""
	}
	odd := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._:-+=@#,$", r))
	}
	if strings.IndexFunc(s, odd) >= 0 {
		return ""
	}
	return s
}
