package codex

import (
	"strconv"
	"strings"
	"time"

	"cmem/ingest/identity"
	"cmem/streams/envelope"
	"cmem/streams/event"
)

// Decode turns one envelope of this host into facts, in the order in which they
// happened. Pure; what it cannot read gives fewer facts, never an error. A hook
// event or record type it does not know gives Counted "unknown:<name>".
func Decode(e envelope.Envelope) []event.Fact {
	d := decoder{env: &e, head: event.Header{
		Host: e.Source, Session: e.Subject, Agent: e.Agent, Turn: e.Turn, Time: e.Time,
	}}
	switch e.Type {
	case envelope.HookReceived:
		d.head.Channel = event.Hook
		d.hook()
	case envelope.TranscriptValue:
		d.head.Channel = event.Transcript
		if e.File != "" {
			d.add("", event.Unreadable{File: e.File, Offset: e.Offset, Bytes: int64(len(e.Body))})
		} else {
			d.record()
		}
	}
	return d.facts
}

// decoder collects the facts of one envelope; head is what they share.
type decoder struct {
	env   *envelope.Envelope
	head  event.Header
	turn  string // as the host numbers turns, also for a sub-agent
	facts []event.Fact
}

func (d *decoder) add(key string, b event.Body) *event.Fact {
	h := d.head
	h.Key = key
	d.facts = append(d.facts, event.Fact{Header: h, Body: b})
	return &d.facts[len(d.facts)-1]
}

// call names a tool call by its id, the same for hook and rollout. An id of no
// random form may repeat in another turn.
func (d *decoder) call(id string) string {
	if id == "" {
		return d.env.ID
	}
	if key := identity.FactKey(d.head.Host, id); key != "" {
		return key
	}
	return d.inTurn("id", id)
}

// inTurn names what a turn has one of by kind and words.
func (d *decoder) inTurn(kind, words string) string {
	turn := d.turn
	if turn == "" {
		turn = d.head.Session
	}
	return identity.ScopedKey(d.head.Host, turn, kind, []byte(words))
}

// agentKey names a sub-agent.
func (d *decoder) agentKey(thread, kind string) string {
	return identity.ScopedKey(d.head.Host, thread, kind, nil)
}

// once names what happens once in a turn; without a turn, by the envelope.
func (d *decoder) once(kind string) string {
	if d.turn == "" {
		return d.env.ID
	}
	return d.inTurn(kind, "")
}

// prompt adds what the user asked for. A turn may bring several; where the host
// does not number turns, the text and its occurrence tell them apart.
func (d *decoder) prompt(said string, images int) {
	if d.head.Agent != "" {
		d.add("", event.Counted{What: "agent_prompt"})
		return
	}
	p := event.PromptSubmitted{Text: said, Images: images}
	said = normalText(said)
	if said == "" {
		p.Text = ""
		p.Private = strings.Contains(d.env.Redactions, `"private"`)
		if !p.Private && images == 0 {
			return
		}
	}
	if d.turn != "" {
		d.add(d.inTurn("prompt", said), p)
		return
	}
	d.add("", p).Alt = d.inTurn("prompt", said)
}

// normalText is a prompt as both channels have it.
func normalText(s string) string {
	if strings.IndexByte(s, '\r') >= 0 {
		s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	}
	return strings.TrimSpace(s)
}

// said adds a text of the agent; message is the host's id of it.
func (d *decoder) said(s, message string) {
	if strings.TrimSpace(s) != "" {
		d.add(d.env.ID, event.AssistantSaid{Text: s, Message: message})
	}
}

// ended: the turn is over, or the sub-agent's work.
func (d *decoder) ended(last string, interrupted bool) {
	if agent := d.head.Agent; agent != "" {
		d.add(d.agentKey(agent, "ended")+"/"+d.turn, event.AgentEnded{Said: last})
		return
	}
	d.add(d.once("end"), event.TurnEnded{Interrupted: interrupted})
}

// plan adds the task list of an update_plan call.
func (d *decoder) plan(t *event.Tool, args []byte) {
	if t.Name == "update_plan" {
		d.add("", event.TodoChanged{Items: steps(args)})
	}
}

func (d *decoder) unknown(name string) { d.add("", event.Counted{What: "unknown:" + name}) }

// millis is a time in milliseconds since 1970, zero if raw is none.
func millis(raw []byte) time.Time {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || n <= 0 || n > 1<<48 {
		return time.Time{}
	}
	return time.UnixMilli(n).UTC()
}
