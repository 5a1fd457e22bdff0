package worker

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"cmem/ingest"
	"cmem/projections"
	"cmem/projections/records"
	"cmem/replay"
	"cmem/streams"
	"cmem/streams/envelope"
)

// idle knows which sessions said something and when, so that a turn that nobody
// ends is closed: hosts are killed, and some have no event for it.
type idle struct {
	now   func() time.Time
	after time.Duration

	mu       sync.Mutex
	sessions map[string]lastWord // by host and session
}

// lastWord is the newest record of a session.
type lastWord struct {
	last envelope.Envelope // without its body
	seen time.Time         // on our clock
}

func newIdle(now func() time.Time, after time.Duration) *idle {
	return &idle{now: now, after: after, sessions: map[string]lastWord{}}
}

// observe is told of every record on its way into records.
func (i *idle) observe(e envelope.Envelope) {
	if e.Subject == "" {
		return
	}
	key := e.Source + "\x00" + e.Subject
	i.mu.Lock()
	defer i.mu.Unlock()
	switch e.Type {
	case envelope.SessionIdled:
		delete(i.sessions, key)
	case envelope.HookReceived, envelope.TranscriptValue, envelope.EventSkipped:
		e.Body = nil
		i.sessions[key] = lastWord{last: e, seen: i.now()}
	}
}

// seed finds what was open when the last worker went away: its sessions have
// been quiet since their last word, not since now.
func (i *idle) seed(ctx context.Context, n *Node) error {
	var open []records.Turn
	err := n.records.read(func(s *records.Store) error {
		turns, err := s.Turns(records.Filter{Limit: 1000})
		for _, t := range turns {
			if !t.Closed {
				open = append(open, t)
			}
		}
		return err
	})
	if err != nil || len(open) == 0 {
		return err
	}
	sessions := map[string]bool{}
	from := open[0].Position
	for _, t := range open {
		sessions[t.Host+"\x00"+t.Session] = true
		from = min(from, t.Position)
	}
	for r, err := range n.stream.Read(ctx, from-1) {
		if err != nil {
			return err
		}
		if sessions[r.Envelope.Source+"\x00"+r.Envelope.Subject] {
			i.observe(r.Envelope)
			i.backdate(r.Envelope)
		}
	}
	return nil
}

// backdate: a word from before we ran was said when its time says.
func (i *idle) backdate(e envelope.Envelope) {
	key := e.Source + "\x00" + e.Subject
	i.mu.Lock()
	defer i.mu.Unlock()
	if w, ok := i.sessions[key]; ok && e.Time.Before(w.seen) {
		w.seen = e.Time
		i.sessions[key] = w
	}
}

// quiet takes out the sessions that have been quiet for long enough.
func (i *idle) quiet() []envelope.Envelope {
	i.mu.Lock()
	defer i.mu.Unlock()
	now := i.now()
	var out []envelope.Envelope
	for key, w := range i.sessions {
		if now.Sub(w.seen) >= i.after {
			out = append(out, w.last)
			delete(i.sessions, key)
		}
	}
	return out
}

// every is how often quiet sessions are looked for.
func (i *idle) every() time.Duration { return max(i.after/12, time.Second/10) }

// closeQuiet appends session.idled for quiet sessions whose turn is open.
func (n *Node) closeQuiet(ctx context.Context) error {
	var envs []envelope.Envelope
	for _, last := range n.idle.quiet() {
		open, err := n.turnOpen(last)
		if err != nil {
			return err
		}
		if open {
			envs = append(envs, replay.Idled(last))
		}
	}
	if len(envs) == 0 {
		return nil
	}
	_, err := n.ingester.Add(ctx, envs...)
	return err
}

func (n *Node) turnOpen(last envelope.Envelope) (open bool, err error) {
	err = n.records.read(func(s *records.Store) error {
		turns, err := s.Turns(records.Filter{Session: last.Subject, Host: last.Source, Limit: 1})
		open = len(turns) > 0 && !turns[0].Closed
		return err
	})
	return open, err
}

// tap is a feed that tells what flows through it.
type tap struct {
	feed projections.Feed[projections.Entry]
	seen func(envelope.Envelope)
}

// Next passes on and tells.
func (t *tap) Next(ctx context.Context, c streams.Checkpoint, limit int) ([]projections.Entry, streams.Checkpoint, error) {
	batch, upto, err := t.feed.Next(ctx, c, limit)
	for _, e := range batch {
		t.seen(e.Record.Envelope)
	}
	return batch, upto, err
}

// Wait passes on.
func (t *tap) Wait(ctx context.Context, c streams.Checkpoint) error { return t.feed.Wait(ctx, c) }

// saved is the body of memory.saved; decoded again by ingest.Decode.
func body(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // our own plain structs
	}
	return b
}

var _ ingest.Log = (*streams.Log)(nil)
