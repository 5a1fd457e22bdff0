package records

import (
	"strings"
	"time"

	"cmem/streams"
	"cmem/streams/event"
)

// span is a start and an end, and whether they can be taken from each other.
type span struct {
	started, ended int64
	clock          bool // the end is before the start: a clock was set back
}

func (s span) duration() time.Duration {
	if s.clock || s.started == 0 || s.ended == 0 {
		return 0
	}
	return time.Duration(s.ended - s.started)
}

// spanOf is from the first time that any side told to the last one.
func spanOf(all [sides]side) (s span) {
	for i := range all {
		x := &all[i]
		if x.first != 0 && (s.started == 0 || x.first < s.started) {
			s.started = x.first
		}
		if x.last != 0 && (s.ended == 0 || x.last > s.ended) {
			s.ended = x.last
		}
		s.clock = s.clock || x.last < x.first
	}
	s.clock = s.clock || s.ended < s.started
	return s
}

func (t *turn) span() span    { return spanOf(t.side) }
func (s *session) span() span { return spanOf(s.side) }

// ended is when the session was over, 0 if it is open.
func (s *session) ended() (at int64) {
	for i := range s.side {
		if s.side[i].state == closed {
			at = max(at, s.side[i].last)
		}
	}
	return at
}

// turnName names a turn within all sessions, the same whatever came first: by
// the host's id, else by its prompt.
func turnName(s *session, t *turn, p *prompt) string {
	prefix := s.host + "/" + s.key + "/"
	switch {
	case t.name != "":
		return prefix + t.name
	case p != nil && p.key != "":
		return prefix + strings.TrimPrefix(p.key, s.host+"/")
	case p != nil && p.alt != "":
		return prefix + p.alt
	case p != nil:
		return prefix + "prompt"
	}
	return prefix + "0"
}

func shownAgent(a *agent) string {
	if strings.HasPrefix(a.name, unnamed) {
		return ""
	}
	return a.name
}

// use is the call as rules and readers see it.
func (u *tool) use(agent string) event.ToolUse {
	t := u.tool
	t.Container, t.Nested = u.wraps, u.nested && !u.plain
	outcome := u.outcome
	if outcome == "" {
		outcome = event.Unknown
	}
	return event.ToolUse{
		Key: u.key, Agent: agent, Tool: t, Outcome: outcome, ExitCode: u.exit, Output: u.output, Error: u.error,
	}
}

// took is how long the call ran: what a host said, or from call to end where one
// side told both.
func (u *tool) took() (time.Duration, bool) {
	if u.duration != 0 || u.time == 0 || u.end == 0 || u.timeSide != u.endSide {
		return time.Duration(u.duration), u.clock
	}
	if d := u.end - u.time; d >= 0 {
		return time.Duration(d), u.clock
	}
	return 0, true
}

func (s *session) shown(project string) Session {
	sp := s.span()
	n := s.n
	return Session{
		ID: int64(s.id), Session: s.key, Host: s.host, Project: project, Parent: s.parent, FirstShared: s.shared,
		Started: fromNanos(sp.started), Seen: fromNanos(s.seen), Ended: fromNanos(s.ended()),
		Duration: sp.duration(), Clock: sp.clock, Cwd: s.cwd, Branch: s.branch, Model: s.model, File: s.file,
		Position: streams.Position(s.position),
		Counts: Counts{
			Prompts: n.prompts, QueuedOnly: n.queuedOnly, Commands: n.commands,
			Interrupts: max(s.interrupts[0], s.interrupts[1]), Compactions: max(s.compactions[0], s.compactions[1]),
			ToolUses: n.toolUses, Paired: n.paired, Unpaired: n.unpaired, Orphans: n.orphans, ToolErrors: n.toolErrors,
			NestedUses: n.nested, Containers: n.containers, SidechainMessages: n.sidechain, Texts: n.texts,
		},
	}
}
