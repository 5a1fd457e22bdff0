package worker

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"cmem/cmd/internal/api"
	"cmem/streams"
	"cmem/streams/envelope"
	"cmem/streams/event"
)

// Export writes the log after a position, one CloudEvent a line.
func (n *Node) Export(ctx context.Context, w io.Writer, after uint64) error {
	if err := n.isOpen(); err != nil {
		return err
	}
	return n.stream.Export(ctx, w, streams.Position(after))
}

// Tail gives the newest records, and with follow those that come.
func (n *Node) Tail(ctx context.Context, count int, follow bool, tell func(api.LogRecord) error) error {
	if err := n.isOpen(); err != nil {
		return err
	}
	at, err := n.tellNewest(ctx, count, tell)
	for follow && err == nil {
		if err = n.stream.Wait(ctx, at); err == nil {
			at, err = n.tellAfter(ctx, at, tell)
		}
	}
	if ctx.Err() != nil {
		return nil // a tail ends when its reader has seen enough
	}
	return err
}

// tellNewest reads back from the head in growing steps: positions have holes.
func (n *Node) tellNewest(ctx context.Context, count int, tell func(api.LogRecord) error) (streams.Position, error) {
	head := n.head()
	if count == 0 {
		return head, nil
	}
	for back := streams.Position(2*count + 64); ; back *= 4 {
		from := head - min(back, head)
		var last []streams.Record
		for r, err := range n.stream.Read(ctx, from) {
			if err != nil {
				return head, err
			}
			r.Envelope.Body = r.Envelope.Body[:len(r.Envelope.Body):len(r.Envelope.Body)]
			if last = append(last, r); len(last) > count {
				last = last[1:]
			}
		}
		if len(last) < count && from > 0 {
			continue
		}
		for _, r := range last {
			head = max(head, r.Position)
			if err := tell(short(r)); err != nil {
				return head, err
			}
		}
		return head, nil
	}
}

func (n *Node) tellAfter(ctx context.Context, at streams.Position, tell func(api.LogRecord) error) (streams.Position, error) {
	for r, err := range n.stream.Read(ctx, at) {
		if err != nil {
			return at, err
		}
		if err := tell(short(r)); err != nil {
			return at, err
		}
		at = r.Position
	}
	return at, nil
}

func short(r streams.Record) api.LogRecord {
	e := r.Envelope
	out := api.LogRecord{Position: uint64(r.Position), ID: e.ID, Type: e.Type, Source: e.Source, Session: e.Subject, Event: e.Event, Bytes: len(e.Body)}
	if !e.Time.IsZero() {
		out.Time = e.Time.UTC().Format(time.RFC3339Nano)
	}
	if e.Type == envelope.EventSkipped {
		var s event.EventSkipped
		if json.Unmarshal(e.Body, &s) == nil { // otherwise the record itself is all there is to tell
			out.Rule, out.Tool = s.Rule, s.Tool
		}
	}
	return out
}

// Verify reads the whole log and follows its chain.
func (n *Node) Verify(ctx context.Context) (api.LogReport, error) {
	if err := n.isOpen(); err != nil {
		return api.LogReport{}, err
	}
	r, err := n.stream.Verify(ctx, nil)
	if err != nil {
		return api.LogReport{}, err
	}
	out := api.LogReport{Values: r.Values, Messages: r.Messages, Bytes: r.Bytes, Abandoned: r.Abandoned, OK: len(r.Gaps)+len(r.Broken) == 0}
	out.Gaps, out.Told = logGaps(r.Gaps), logGaps(r.Told)
	for _, p := range r.Broken {
		out.Broken = append(out.Broken, uint64(p))
	}
	return out, nil
}

func logGaps(all []streams.Gap) (out []api.LogGap) {
	for _, g := range all {
		out = append(out, api.LogGap{First: uint64(g.First), Last: uint64(g.Last), Reason: g.Reason})
	}
	return out
}
