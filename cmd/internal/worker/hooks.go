package worker

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"cmem/cmd/internal/api"
	"cmem/streams"
	"cmem/streams/envelope"
)

// meanings of the names under which hooks count (package ingest/hook). A name
// that ends in a colon is a prefix; what follows it is the case.
var meanings = []struct {
	name, says string
	problem    bool
}{
	{"hook-panic", "a hook failed inside, and its event may be missing; the transcript has it", true},
	{"hook-usage", "cmem-hook was called with wrong arguments: check the host's settings", true},
	{"hook-unknown-host", "cmem-hook was called for a host it does not know, and kept nothing: check the host's settings", true},
	{"config-broken", "hooks could not use all of config.json or of the CMEM_ variables; see cmem config", true},
	{"redact-pattern-unusable", "a pattern of the setting redact cannot be used; see cmem config", true},
	{"id-key-unusable", "id.key could not be read, so an event was kept under a name of its own", true},
	{"empty-payload", "a hook got no payload, so nothing could be kept; often a wrapper swallows standard input", true},
	{"undecodable-payload", "a payload was no JSON object and was kept as text", true},
	{"noise-before-payload", "something else wrote to a hook's input before the payload; the payload was found and kept", true},
	{"odd-payload", "a payload has nothing that its host's payloads have; it was kept as it came", true},
	{"setting-unusable", "a setting cannot be used and does not hold; see cmem config", true},
	{"late-payload", "a host did not finish a payload in time; what had come was used", true},
	{"spool-failed:", "an event could not be written to the spool, and the transcript alone has it", true},
	{"worker-missing", "a hook found no cmem beside cmem-hook to start", true},
	{"worker-start-failed:", "a hook could not start the worker", true},
	{"worker-started", "a hook started the worker", false},
	{"noise:", "an event of a kind that tells nothing was not kept", false},
}

// meaning says what was counted under name.
func meaning(name string) (says string, problem bool) {
	for _, m := range meanings {
		if name == m.name {
			return m.says, m.problem
		}
		if which, ok := strings.CutPrefix(name, m.name); ok && strings.HasSuffix(m.name, ":") {
			return m.says + " (" + which + ")", m.problem
		}
	}
	return "counted by another version of cmem", true
}

// hookCounters reads what hooks counted. Counters that cannot be read are none:
// they tell of trouble, they must not make any.
func (n *Node) hookCounters() []api.HookCounter {
	all, err := n.dir.Counters()
	if err != nil {
		n.log.Warn("counters of hooks were not read", "err", err)
	}
	out := make([]api.HookCounter, 0, len(all))
	for _, c := range all {
		says, problem := meaning(c.Name)
		one := api.HookCounter{Name: c.Name, Count: c.N, Meaning: says, Problem: problem}
		if !c.Last.IsZero() {
			one.Last = c.Last.UTC().Format(time.RFC3339)
		}
		out = append(out, one)
	}
	return out
}

// lookBack is how many positions are searched for the last event of a hook.
const lookBack = 500

// delivered remembers what hooks delivered last, so that asking again reads only
// what came since.
type delivered struct {
	mu   sync.Mutex // guards what follows
	at   streams.Position
	last map[string]streams.Record // by host, without bodies
}

// lastHooks finds the newest event that each host's hook delivered, sorted by
// host. What came more than lookBack positions before the first question is not
// looked at.
func (n *Node) lastHooks(ctx context.Context) ([]api.HookSeen, error) {
	d := &n.delivered
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.catchUp(ctx, n.stream); err != nil {
		return []api.HookSeen{}, err
	}
	out := make([]api.HookSeen, 0, len(d.last))
	for host, r := range d.last {
		out = append(out, api.HookSeen{Host: host, Event: r.Envelope.Event, Time: r.Envelope.Time.UTC().Format(time.RFC3339)})
	}
	slices.SortFunc(out, func(a, b api.HookSeen) int { return strings.Compare(a.Host, b.Host) })
	return out, nil
}

func (d *delivered) catchUp(ctx context.Context, log *streams.Log) error {
	if d.last == nil {
		d.last = map[string]streams.Record{}
	}
	head := log.Head().Position
	from := max(d.at, head-min(head, lookBack))
	if from == head {
		return nil
	}
	for r, err := range log.Read(ctx, from) {
		if err != nil {
			return err
		}
		d.at = r.Position
		if r.Envelope.Type == envelope.HookReceived && !r.Envelope.Time.Before(d.last[r.Envelope.Source].Envelope.Time) {
			r.Envelope.Body = nil
			d.last[r.Envelope.Source] = r
		}
	}
	return nil
}
