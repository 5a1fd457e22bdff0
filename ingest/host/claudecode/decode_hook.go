package claudecode

import (
	"strconv"
	"strings"
	"time"

	"cmem/ingest/host/jsonscan"
	"cmem/streams/event"
)

func (d *decoder) hook() {
	p := readPayload(d.env.Body)
	d.head.File = text(p.transcript)
	name := text(p.event)
	if name == "" {
		name = d.env.Event
	}
	if d.head.Session == "" {
		d.head.Session = text(p.session)
	}
	if agent := text(p.agentID); agent != "" {
		d.head.Agent = agent
	}
	if turn := text(p.promptID); turn != "" {
		d.head.Turn = turn
	}
	d.hookEvent(name, &p)
}

func (d *decoder) hookEvent(name string, p *payload) {
	switch name {
	case "SessionStart":
		d.add("", event.SessionStarted{Source: text(p.source), Model: text(p.model)})
	case "SessionEnd":
		d.add("", event.SessionEnded{Reason: text(p.reason)})
	case "UserPromptSubmit":
		d.hookPrompt(p)
	case "UserPromptExpansion":
		if command := text(p.commandName); command != "" {
			d.add(d.key(d.head.Turn), event.CommandRun{Name: slash(command), Args: text(p.commandArgs)})
		}
	case "PreToolUse":
		d.addCall(text(p.toolUseID), translate(text(p.tool), p.input), false)
		d.todos(text(p.toolUseID), text(p.tool), p.input)
	case "PostToolUse", "PostToolUseFailure", "PermissionDenied":
		d.hookReturn(name, p)
	case "Stop", "StopFailure":
		d.stop(p)
	case "SubagentStart":
		d.add(d.agentKey(), event.AgentStarted{Type: text(p.agentType)})
	case "SubagentStop":
		d.agentStop(p)
	case "PostCompact":
		d.compaction("", event.CompactionDone{Trigger: text(p.trigger), Summary: text(p.summary)})
	case "PreCompact": // PostCompact or the transcript tells what came of it
	default:
		if !noise(name) {
			d.add("", event.Counted{What: "unknown:" + name})
		}
	}
}

// hookPrompt: a typed prompt, or a slash command where a prompt id lets the
// transcript's record of it meet this one. Older hosts show custom commands as
// prompts in both places.
func (d *decoder) hookPrompt(p *payload) {
	said := text(p.prompt)
	if marker(said) != notMarker {
		return
	}
	key := d.key(d.head.Turn)
	if command, args, ok := slashCommand(said); ok && key != "" {
		d.add(key, event.CommandRun{Name: command, Args: args})
		return
	}
	if key == "" && p.generation != nil {
		key = d.key(text(p.generation))
	}
	d.prompt(key, event.PromptSubmitted{Text: said}, key == "")
}

func (d *decoder) hookReturn(name string, p *payload) {
	r := event.ToolReturned{
		Tool:     translate(text(p.tool), p.input),
		Outcome:  event.OK,
		Duration: milliseconds(p.duration),
	}
	extra := response{}
	switch name {
	case "PostToolUse":
		extra = readResponse(p.response)
		extra.fill(&r)
	default:
		failure(&r, text(p.failure))
		if jsonscan.True(p.interrupt) {
			r.Outcome = event.Interrupted
		}
		if name == "PermissionDenied" {
			r.Outcome = event.Refused
		}
	}
	key := d.addReturn(text(p.toolUseID), r)
	d.spawned(key, &extra, &r)
}

// stop: the agent's last words and the end of the turn. When another hook made
// the agent go on, the host says so at the next Stop: that is the same turn,
// whose end was told already.
func (d *decoder) stop(p *payload) {
	if last := text(p.lastMessage); strings.TrimSpace(last) != "" {
		d.add("", event.AssistantSaid{Text: last, Last: true})
	}
	if !jsonscan.True(p.stopActive) {
		d.add("", event.TurnEnded{Background: hasElements(p.background)})
	}
}

// agentStop: an agent of empty type is a helper of the host's own, as the one
// that writes a compaction's summary.
func (d *decoder) agentStop(p *payload) {
	if string(p.agentType) == `""` {
		return
	}
	if d.head.Agent == "" {
		d.head.Agent = sidechain
	}
	d.add(d.agentKey()+"/end", event.AgentEnded{Type: text(p.agentType), Said: text(p.lastMessage)})
}

// agentKey names the sub-agent of the facts that follow.
func (d *decoder) agentKey() string { return d.scoped("agent", []byte(d.head.Agent)) }

// compaction: the n-th of the hooks is the n-th of the transcript, where the
// summary hangs on a boundary record, which names it.
func (d *decoder) compaction(boundary string, c event.CompactionDone) {
	f := d.add(d.key(boundary), c)
	f.Alt = d.scoped("compaction", nil)
}

func hasElements(array []byte) bool {
	for range jsonscan.Elements(array) {
		return true
	}
	return false
}

func milliseconds(raw []byte) time.Duration {
	n, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || n < 0 || n > 1e12 {
		return 0
	}
	return time.Duration(n * float64(time.Millisecond))
}

func slash(name string) string {
	if strings.HasPrefix(name, "/") {
		return name
	}
	return "/" + name
}
