package ingest

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"cmem/streams"
	"cmem/streams/durable"
	"cmem/streams/envelope"
)

// batch decides on the envelopes of one append.
type batch struct {
	*Ingester
	known   map[string]streams.Held // of the log, then of the batch so far too
	envs    []envelope.Envelope
	results []Result
	out     []envelope.Envelope // what is appended …
	from    []int               // … and its index in envs
	taken   map[string]bool     // ids of envs in the log or in out
}

func newBatch(i *Ingester, known map[string]streams.Held, envs []envelope.Envelope) *batch {
	return &batch{Ingester: i, known: known, envs: envs, results: make([]Result, len(envs)), taken: map[string]bool{}}
}

// decide fills results[n] and, if the envelope is to be stored, out.
func (b *batch) decide(n int) error {
	e := b.envs[n]
	held := b.known[e.ID]
	if !held.OK {
		second, err := b.secondDelivery(n)
		if err != nil {
			return err
		}
		if second {
			durable.Reached("ingest.second-delivery")
			b.results[n] = Result{Status: Duplicate}
			return nil
		}
		b.store(n, e, Added)
		return nil
	}
	b.taken[e.ID] = true
	if sameWords(held, &e) {
		durable.Reached("ingest.held")
		b.results[n] = Result{Status: Held, Owner: owner(held, &e)}
		return nil
	}
	e.ID = conflictID(&e)
	if again := b.known[e.ID]; again.OK {
		b.results[n] = Result{Status: Held, Owner: owner(again, &e)}
		return nil
	}
	b.logger.Warn("other words under a held id, both are kept", "id", e.ID, "session", e.Subject, "event", e.Event)
	b.store(n, e, Conflict)
	return nil
}

func (b *batch) store(n int, e envelope.Envelope, s Status) {
	b.known[e.ID] = streams.Held{OK: true, Session: e.Subject, Digest: e.Digest}
	b.taken[b.envs[n].ID] = true
	b.origins.drop(&e)
	b.results[n] = Result{Status: s}
	b.out, b.from = append(b.out, e), append(b.from, n)
}

// conflictID names other words under e's id.
func conflictID(e *envelope.Envelope) string { return e.ID + "#" + e.Digest }

// sameWords: a side without a digest has nothing to differ in.
func sameWords(h streams.Held, e *envelope.Envelope) bool {
	return h.Digest == e.Digest || h.Digest == "" || e.Digest == ""
}

func owner(h streams.Held, e *envelope.Envelope) string {
	if h.Session == e.Subject {
		return ""
	}
	return h.Session
}

// window is how far apart two deliveries of one event may be captured.
const window = 2 * time.Second

// secondDelivery tells whether envs[n], which has no host id, says what the log
// or an earlier one of the batch says, captured within the window and with no
// other event of the session captured between. Hosts do send equal words twice
// and mean two events; then something lies between, or time does.
func (b *batch) secondDelivery(n int) (bool, error) {
	e := &b.envs[n]
	words, ok := contentOf(e.ID, e.Digest, e.Time)
	if !ok || !isCapture(e) {
		return false, nil
	}
	near, err := b.near(e)
	if err != nil {
		return false, err
	}
	for _, c := range near {
		if c.stored && c.ID != e.ID && sameContent(c.Capture, words) && !between(near, words, c.Time, e.Time) {
			return true, nil
		}
	}
	return false, nil
}

// neighbour is a capture near another; stored: in the log, or about to be.
type neighbour struct {
	streams.Capture
	stored bool
}

// near gives the captures around e: of the table, the tail and the whole batch,
// also of what comes later in it, so that the batch's order does not matter.
func (b *batch) near(e *envelope.Envelope) ([]neighbour, error) {
	from, to := e.Time.Add(-window), e.Time.Add(window)
	held, err := b.table.Captures(e.Subject, from, to)
	if err != nil {
		return nil, fmt.Errorf("id table: captures of %q: %w", e.Subject, err)
	}
	var all []neighbour
	for _, c := range append(held, b.tail.near(e.Subject, from, to)...) {
		all = append(all, neighbour{c, true})
	}
	for k := range b.envs {
		o := &b.envs[k]
		if o.Subject == e.Subject && isCapture(o) && !o.Time.Before(from) && !o.Time.After(to) {
			all = append(all, neighbour{streams.Capture{ID: o.ID, Time: o.Time}, b.taken[o.ID]})
		}
	}
	return all, nil
}

// between: is anything but further copies of the same words captured between?
func between(near []neighbour, words string, a, z time.Time) bool {
	if z.Before(a) {
		a, z = z, a
	}
	for _, c := range near {
		if c.Time.After(a) && c.Time.Before(z) && !sameContent(c.Capture, words) {
			return true
		}
	}
	return false
}

// sameContent: an id of these words, at its own capture time.
func sameContent(c streams.Capture, words string) bool {
	return c.ID == words+"@"+strconv.FormatInt(c.Time.UnixNano(), 10)
}

// contentOf takes the capture time off an id that is made from content
// (identity.ContentID): "…/<hash>@<capture ns>", where the digest begins the
// hash. false: the id is the host's.
func contentOf(id, digest string, captured time.Time) (words string, ok bool) {
	words, ok = strings.CutSuffix(id, "@"+strconv.FormatInt(captured.UnixNano(), 10))
	hash := words[strings.LastIndexByte(words, '/')+1:]
	return words, ok && digest != "" && len(hash) == 32 && strings.HasPrefix(hash, digest)
}

// isCapture: a hook process made it, at the time it says. What a filter kept
// out of a transcript counts too; that can only keep a copy more.
func isCapture(e *envelope.Envelope) bool {
	return e.Type == envelope.HookReceived || e.Type == envelope.EventSkipped
}
