package codex

import (
	"strings"

	"cmem/ingest/host/jsonscan"
	"cmem/streams/event"
)

func (d *decoder) hook() {
	p := readPayload(d.env.Body)
	d.head.File = text(p.transcript)
	name := p.name(d.env.Event)
	if d.head.Session == "" {
		d.head.Session = text(p.session)
	}
	if agent := text(p.agentID); agent != "" {
		// Its turns are its own; the hook does not say which turn it serves.
		d.head.Agent, d.head.Turn, d.turn = agent, "", text(p.turn)
	} else {
		if turn := text(p.turn); turn != "" {
			d.head.Turn = turn
		}
		d.turn = d.head.Turn
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
		d.prompt(text(p.prompt), 0)
	case "PreToolUse":
		t := translate(text(p.tool), p.input)
		d.add(d.call(text(p.toolUseID)), event.ToolCalled{Tool: t})
		d.plan(&t, p.input)
	case "PostToolUse":
		d.hookReturn(p)
	case "Stop":
		d.stop(text(p.lastMessage))
	case "Interrupt":
		d.ended("", true)
	case "SubagentStart":
		d.add(d.agentKey(d.head.Agent, "started"), event.AgentStarted{Type: text(p.agentType)})
	case "SubagentStop":
		d.add(d.agentKey(d.head.Agent, "ended")+"/"+d.turn,
			event.AgentEnded{Type: text(p.agentType), Said: text(p.lastMessage)})
	case "PostCompact":
		d.add(d.once("compaction"), event.CompactionDone{Trigger: text(p.trigger)})
	case notify:
		d.notify(p)
	case "PreCompact", "PermissionRequest": // what came of it is told on its own
	default:
		if !noiseEvent(name) {
			d.unknown(name)
		}
	}
}

func (d *decoder) stop(last string) {
	if strings.TrimSpace(last) != "" {
		d.add(d.once("last"), event.AssistantSaid{Text: last, Last: true})
	}
	d.ended(last, false)
}

// hookReturn: the hook brings the bare output of a command without its exit
// code, so how a command ended is not known here.
func (d *decoder) hookReturn(p *payload) {
	t := translate(text(p.tool), p.input)
	out := readOutput(p.response)
	r := event.ToolReturned{Tool: t}
	out.fill(&r)
	if r.ExitCode == nil && r.Outcome == event.OK && t.Action == event.Run {
		r.Outcome = event.Unknown
	}
	if jsonscan.Kind(p.response) == '{' && jsonscan.True(jsonscan.Get(p.response, "isError")) {
		r.Outcome, r.Error = event.Failed, r.Output
	}
	key := d.call(text(p.toolUseID))
	d.add(key, r)
	if t.Name == "spawn_agent" {
		d.spawned(key, text(jsonscan.Get([]byte(r.Output), "agent_id")), text(jsonscan.Get([]byte(r.Output), "nickname")))
	}
}

// spawned: the call started the sub-agent of that thread.
func (d *decoder) spawned(call, thread, nickname string) {
	if thread == "" {
		return
	}
	f := d.add(d.agentKey(thread, "started"), event.AgentStarted{Type: nickname})
	f.Agent, f.ParentCall = thread, call
}

// notify comes at the end of a turn, also of a hidden thread that only makes up
// a title: that one is told by what it was asked.
func (d *decoder) notify(p *payload) {
	if text(p.notifyType) != "agent-turn-complete" {
		d.unknown(notify + ":" + text(p.notifyType))
		return
	}
	first := ""
	for raw := range jsonscan.Elements(p.inputs) {
		first = text(raw)
		break
	}
	if strings.Contains(first, "title") && strings.Contains(first, "\n\nUser prompt:\n") {
		d.add("", event.Counted{What: "title_thread"})
		return
	}
	d.turn = text(p.notifyTurn)
	d.head.Turn = d.turn
	if thread := text(p.thread); d.head.Session == "" {
		d.head.Session = thread
	}
	d.stop(text(p.notLast))
}
