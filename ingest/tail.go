package ingest

import (
	"time"

	"cmem/streams"
	"cmem/streams/envelope"
)

// tail is what the table does not know yet: ids and hook captures of the
// records at low < position ≤ high.
type tail struct {
	low, high streams.Position
	ids       map[string]streams.Held
	order     []tailEntry                  // of ids, by position
	captures  map[string][]streams.Capture // by session
}

type tailEntry struct {
	position    streams.Position
	id, session string
}

func newTail(from streams.Position) tail {
	return tail{low: from, high: from, ids: map[string]streams.Held{}, captures: map[string][]streams.Capture{}}
}

// observe adds the record at p, which comes after all others.
func (t *tail) observe(p streams.Position, e *envelope.Envelope) {
	t.high = max(t.high, p)
	if p <= t.low {
		return
	}
	if _, ok := t.ids[e.ID]; ok {
		return // the first one counts
	}
	t.ids[e.ID] = streams.Held{OK: true, Session: e.Subject, Digest: e.Digest}
	t.order = append(t.order, tailEntry{p, e.ID, e.Subject})
	if isCapture(e) {
		t.captures[e.Subject] = append(t.captures[e.Subject], streams.Capture{ID: e.ID, Time: e.Time})
	}
}

// prune drops what is at or before p.
func (t *tail) prune(p streams.Position) {
	n := 0
	for n < len(t.order) && t.order[n].position <= p {
		t.drop(t.order[n])
		n++
	}
	t.order = t.order[n:]
	if len(t.order) == 0 {
		t.order = nil // frees the memory of a long tail
	}
	t.low, t.high = max(t.low, p), max(t.high, p)
}

func (t *tail) drop(e tailEntry) {
	delete(t.ids, e.id)
	list := t.captures[e.session]
	switch {
	case len(list) == 0 || list[0].ID != e.id:
	case len(list) == 1:
		delete(t.captures, e.session)
	default:
		t.captures[e.session] = list[1:]
	}
}

// near gives the session's captures with from ≤ Time ≤ to.
func (t *tail) near(session string, from, to time.Time) []streams.Capture {
	var found []streams.Capture
	for _, c := range t.captures[session] {
		if !c.Time.Before(from) && !c.Time.After(to) {
			found = append(found, c)
		}
	}
	return found
}

// origins remembers the origin that each session's last envelope with one had.
// It may forget: then an origin is stored once more.
type origins map[string]string

const maxOrigins = 4096

// drop empties e.Origin if the session has it already.
func (o origins) drop(e *envelope.Envelope) {
	key := e.Source + "\x00" + e.Subject
	switch last, ok := o[key]; {
	case e.Origin == "":
	case ok && last == e.Origin:
		e.Origin = ""
	default:
		if len(o) >= maxOrigins {
			clear(o)
		}
		o[key] = e.Origin
	}
}

func (o origins) forget(envs []envelope.Envelope) {
	for n := range envs {
		delete(o, envs[n].Source+"\x00"+envs[n].Subject)
	}
}
