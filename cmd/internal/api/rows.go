package api

import (
	"strings"
	"time"

	"cmem/ingest/host"
	"cmem/projections/records"
)

// platforms are the names claude-mem's clients use where ours differ.
var platforms = map[string]string{"claude-code": "claude"}

// platformName is a host's name as claude-mem's clients expect it.
func platformName(name string) string {
	if p, ok := platforms[name]; ok {
		return p
	}
	return name
}

// HostNames are all names under which hosts can be asked for, ours and
// claude-mem's.
func HostNames() []string {
	all := host.Names()
	for _, h := range host.Names() {
		if p := platformName(h); p != h {
			all = append(all, p)
		}
	}
	return all
}

// hostName reads a host, by our name or claude-mem's.
func hostName(s string) string {
	s = strings.ToLower(strings.TrimSpace(s))
	for ours, platform := range platforms {
		if s == platform {
			return ours
		}
	}
	return s
}

// rows makes what travels from what is stored. names gives the name shown for a
// project's key.
type rows struct {
	names func(key string) string
}

func (r rows) row(id int64, project, host string, at time.Time) Row {
	out := Row{ID: id, Project: r.names(project), ProjectKey: project, Host: host, PlatformSource: platformName(host), CreatedAt: stamp(at)}
	if !at.IsZero() {
		out.CreatedAtEpoch = at.UnixMilli()
	}
	return out
}

func (r rows) observation(o records.Observation) ObservationRow {
	return ObservationRow{
		Row: r.row(o.ID, o.Project, o.Host, o.Time), MemorySessionID: o.Session, ContentSessionID: o.Session,
		Type: o.Type, Title: o.Title, Subtitle: o.Subtitle, Narrative: o.Narrative,
		Facts: o.Facts, Concepts: o.Concepts, FilesRead: o.FilesRead, FilesModified: o.FilesModified,
		PromptNumber: number(o.PromptNumber), AgentID: text(o.Agent), Origin: o.Origin, Rule: o.Rule, FactKeys: o.FactKeys,
	}
}

func (r rows) summary(s records.Summary) SummaryRow {
	return SummaryRow{
		Row: r.row(s.ID, s.Project, s.Host, s.Time), SessionID: s.Session, MemorySessionID: s.Session,
		Request: s.Request, Investigated: s.Investigated, Learned: s.Learned, Completed: s.Completed, NextSteps: s.NextSteps,
		FilesRead: s.FilesRead, FilesEdited: s.FilesModified, PromptNumber: number(s.PromptNumber), Origin: s.Origin,
	}
}

func (r rows) prompt(p records.Prompt, session int64) PromptRow {
	return PromptRow{
		Row: r.row(p.ID, p.Project, p.Host, p.Time), SessionDBID: session, ContentSessionID: p.Session, MemorySessionID: p.Session,
		PromptNumber: p.Number, PromptText: p.Text, Private: p.Private,
	}
}

func (r rows) text(t records.Text) TextRow {
	return TextRow{Row: r.row(t.ID, t.Project, t.Host, t.Time), SessionID: t.Session, Agent: t.Agent, Text: t.Text}
}

func (r rows) turn(t records.Turn, tools []records.ToolUse) TurnRow {
	out := TurnRow{
		Row: r.row(t.ID, t.Project, t.Host, t.Started), SessionID: t.Session, PromptNumber: t.PromptNumber,
		StartedAt: stamp(t.Started), EndedAt: stamp(t.Ended), Closed: t.Closed, Interrupted: t.Interrupted, Tools: []ToolRow{},
	}
	for _, u := range tools {
		out.Tools = append(out.Tools, tool(u))
	}
	return out
}

func tool(u records.ToolUse) ToolRow {
	return ToolRow{
		ID: u.ID, Name: u.Tool.Name, Action: string(u.Tool.Action), Outcome: string(u.Outcome), ExitCode: u.ExitCode,
		Command: u.Tool.Command, Files: append(append([]string{}, u.Tool.Reads...), u.Tool.Writes...), Error: u.Error,
	}
}

func (r rows) session(s records.Session) SessionRow {
	c := s.Counts
	return SessionRow{
		Row: r.row(s.ID, s.Project, s.Host, s.Started), SessionID: s.Session, Parent: s.Parent,
		SeenAt: stamp(s.Seen), EndedAt: stamp(s.Ended), Cwd: s.Cwd, Branch: s.Branch,
		Counts: map[string]int{
			"prompts": c.Prompts, "queued_only": c.QueuedOnly, "commands": c.Commands, "interrupts": c.Interrupts,
			"compactions": c.Compactions, "tool_uses": c.ToolUses, "tool_paired": c.Paired, "tool_unpaired": c.Unpaired,
			"orphan_results": c.Orphans, "tool_errors": c.ToolErrors, "nested_tool_uses": c.NestedUses,
			"sidechain_messages": c.SidechainMessages, "assistant_texts": c.Texts,
		},
	}
}

// number: claude-mem has null where there is no prompt.
func number(n int) *int {
	if n == 0 {
		return nil
	}
	return &n
}

func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
