package claudecode

import (
	"strconv"

	"cmem/ingest/host/jsonscan"
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
	facts []event.Fact
}

func (d *decoder) add(key string, body event.Body) *event.Fact {
	h := d.head
	h.Key = key
	d.facts = append(d.facts, event.Fact{Header: h, Body: body})
	return &d.facts[len(d.facts)-1]
}

// key names by a host id; one of no random form gives "".
func (d *decoder) key(id string) string { return identity.FactKey(d.head.Host, id) }

// own names the n-th fact of a record by the record, which always has a name.
func (d *decoder) own(uuid string, n int) string {
	key := d.key(uuid)
	if key == "" {
		key = d.env.ID
	}
	if n > 0 {
		key += "/" + strconv.Itoa(n)
	}
	return key
}

// scoped names within the session: by kind and what tells it from its like.
func (d *decoder) scoped(kind string, what []byte) string {
	return identity.ScopedKey(d.head.Host, d.head.Session, kind, what)
}

// addCall and addReturn name a tool call by its id. An id of no random form
// repeats within a session: then only id and ordinal together name the call.
// Without an id the arguments do, and byArgs says that the other channel may
// have no id.
func (d *decoder) addCall(id string, t event.Tool, byArgs bool) {
	f := d.add(d.key(id), event.ToolCalled{Tool: t})
	f.Alt = d.callAlt(f.Key, id, &t, byArgs)
}

func (d *decoder) addReturn(id string, r event.ToolReturned) (key string) {
	f := d.add(d.key(id), r)
	f.Alt = d.callAlt(f.Key, id, &r.Tool, false)
	return f.Key
}

func (d *decoder) callAlt(key, id string, t *event.Tool, byArgs bool) string {
	switch {
	case id != "" && key == "":
		return d.scoped("id", []byte(id))
	case id == "" && t.Name != "" || byArgs:
		return d.scoped(t.Name, []byte(t.Input))
	}
	return ""
}

// text is short for jsonscan.Text.
func text(raw []byte) string { return jsonscan.Text(raw) }
