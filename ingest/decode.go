package ingest

import (
	"encoding/json"

	"cmem/ingest/host"
	"cmem/streams/envelope"
	"cmem/streams/event"
)

// DecodeVersion is raised whenever this package or a host's package makes other
// facts of the same envelopes: then read models are built again.
const DecodeVersion = "2"

// Decode gives the facts of an envelope: a host's by its own decoder, told by
// Source; cmem's own types here, whose body is the JSON of the event of that
// name (package event). It is pure and never panics: what cannot be decoded is
// a Counted fact with the reason.
//
// session.idled and session.forked carry the session's host as Source, so that
// the facts belong to that host.
func Decode(e envelope.Envelope) (facts []event.Fact) {
	defer func() {
		if recover() != nil {
			facts = counted(e, "decode-panic:"+e.Source+":"+e.Type)
		}
	}()
	switch e.Type {
	case envelope.HookReceived, envelope.TranscriptValue:
		decode, ok := host.Decode(e.Source)
		if !ok {
			return counted(e, "unknown-host:"+e.Source)
		}
		return decode(e)
	case envelope.SessionIdled:
		return []event.Fact{{Header: header(e, event.Worker), Body: event.SessionIdled{}}}
	case envelope.SessionForked:
		return own[event.SessionForked](e, event.Worker)
	case envelope.EventSkipped:
		return own[event.EventSkipped](e, event.Worker)
	case envelope.MemorySaved:
		return own[event.MemorySaved](e, event.Person)
	case envelope.MemoryForgotten:
		return own[event.MemoryForgotten](e, event.Person)
	case envelope.ProjectMoved:
		return own[event.ProjectMoved](e, event.Person)
	case envelope.LogDamaged:
		return own[event.LogDamaged](e, event.Worker)
	}
	return counted(e, "unknown-type:"+e.Type)
}

// own gives the one fact of an envelope of cmem's own.
func own[Body event.Body](e envelope.Envelope, channel event.Channel) []event.Fact {
	var body Body
	if json.Unmarshal(e.Body, &body) != nil {
		return counted(e, "undecodable:"+e.Type)
	}
	return []event.Fact{{Header: header(e, channel), Body: body}}
}

func counted(e envelope.Envelope, what string) []event.Fact {
	return []event.Fact{{Header: header(e, channelOf(e)), Body: event.Counted{What: what}}}
}

func header(e envelope.Envelope, channel event.Channel) event.Header {
	return event.Header{
		Key: e.ID, Channel: channel, Host: e.Source, Session: e.Subject,
		Agent: e.Agent, Turn: e.Turn, Time: e.Time,
	}
}

func channelOf(e envelope.Envelope) event.Channel {
	switch e.Type {
	case envelope.HookReceived:
		return event.Hook
	case envelope.TranscriptValue:
		return event.Transcript
	}
	return event.Worker
}
