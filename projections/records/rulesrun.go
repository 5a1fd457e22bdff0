package records

import (
	"fmt"
	"maps"
	"slices"

	"cmem/streams/event"
)

// Rules see a turn as it was when it was closed, or when it last changed while
// closed. In a batch they run once for that, at its end; or before a fact that
// may open the turn again; or after the envelope that changed it and opened it, so
// that a batch leaves what single records would.

// beforeOpening runs the rules that wait for turns which f may open.
func (b *batch) beforeOpening(s *session, c int, f *event.Fact) error {
	ids := b.waiting[s.no]
	if len(ids) == 0 {
		return nil
	}
	_, prompt := f.Body.(event.PromptSubmitted) // may make one turn of two
	kept := ids[:0]
	for _, id := range ids {
		t, err := b.turns.get(id)
		if err != nil {
			return err
		}
		if !prompt && (t.side[c].state != closed || t.side[1-c].state == closed) {
			kept = append(kept, id)
			continue
		}
		if err := b.runPending(t); err != nil {
			return err
		}
	}
	b.waiting[s.no] = kept
	return nil
}

// runOpened runs the rules that wait for turns which the envelope has changed and
// then opened: the next one changes them without running rules.
func (b *batch) runOpened() error {
	for _, id := range b.opened {
		t, err := b.turns.get(id)
		if err != nil {
			return err
		}
		if t.isClosed() {
			continue
		}
		if err := b.runPending(t); err != nil {
			return err
		}
	}
	b.opened = b.opened[:0]
	return nil
}

// runAll runs what waits, in a fixed order.
func (b *batch) runAll() error {
	for _, id := range slices.Sorted(maps.Keys(b.pending)) {
		t, err := b.turns.get(id)
		if err != nil {
			return err
		}
		if err := b.runPending(t); err != nil {
			return err
		}
	}
	return nil
}

func (b *batch) runPending(t *turn) error {
	at, ok := b.pending[t.id]
	if !ok {
		return nil
	}
	delete(b.pending, t.id)
	m, err := b.memory(t)
	if err != nil {
		return err
	}
	if err := b.replaceObservations(t, m.Observations, at); err != nil {
		return err
	}
	return b.replaceSummary(t, m.Summary, at)
}

// memory is what the turn is worth remembering for: nothing if it is private.
func (b *batch) memory(t *turn) (m event.Memory, err error) {
	if b.store.c.Rules == nil || t.private || t.hidden() {
		return m, nil
	}
	in, err := b.ruleTurn(t)
	if err != nil {
		return m, err
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("rules on turn %s: panic: %v", in.Key, r)
		}
	}()
	m = b.store.c.Rules(in)
	// The rules' texts are stored; what one turn says must stay small.
	m.Observations = m.Observations[:min(len(m.Observations), madeBy(t))]
	return m, nil
}

// base is the first id of the turn's observations, and madeBy how many ids there
// are: the block of the position, shared by the turns that begin at it.
func base(t *turn) uint64 {
	block, n := t.id&^1023, t.id&1023
	if n == 0 {
		return block
	}
	return block + 512 + (n-1)*8
}

func madeBy(t *turn) int {
	switch n := t.id & 1023; {
	case n == 0:
		return 512
	case n <= 64:
		return 8
	}
	return 0
}

func (b *batch) ruleTurn(t *turn) (event.Turn, error) {
	s, err := b.sessions.get(t.session)
	if err != nil {
		return event.Turn{}, err
	}
	in := event.Turn{
		Host: s.host, Session: s.key, Project: b.projectKey(s.project),
		Key: turnName(s, t, nil), PromptNumber: int(t.number), Interrupted: t.interrupted,
	}
	span := t.span()
	in.Started, in.Ended = fromNanos(span.started), fromNanos(span.ended)
	if t.prompt != 0 {
		p, err := b.prompts.get(t.prompt)
		if err != nil {
			return in, err
		}
		in.Prompt, in.Key = p.text, turnName(s, t, p)
	}
	for _, st := range inOrder(t.steps) {
		step, ok, err := b.ruleStep(st)
		if err != nil {
			return in, err
		}
		if ok {
			in.Steps = append(in.Steps, step)
		}
	}
	return in, nil
}

func (b *batch) ruleStep(st step) (event.Step, bool, error) {
	if st.text {
		x, err := b.texts.get(st.id)
		if err != nil || x == nil {
			return event.Step{}, false, err
		}
		return event.Step{Time: fromNanos(x.time), Said: x.text}, true, nil
	}
	u, err := b.tools.get(st.id)
	if err != nil || u == nil || u.wraps || !u.called() {
		return event.Step{}, false, err
	}
	name := ""
	if u.agent != 0 {
		a, err := b.agents.get(u.agent)
		if err != nil {
			return event.Step{}, false, err
		}
		name = shownAgent(a)
	}
	use := u.use(name)
	return event.Step{Time: fromNanos(u.time), Tool: &use}, true, nil
}

// replaceObservations puts the turn's rules observations in place of earlier
// ones, by ordinal; what did not change is left as it is.
func (b *batch) replaceObservations(t *turn, made []event.Observation, at uint64) error {
	first := base(t)
	for i, o := range made {
		id := first + uint64(i)
		old, err := b.observations.get(id)
		if err != nil {
			return err
		}
		is := &observation{
			id: id, session: t.session, position: t.position, turn: t.id,
			origin: originRules, time: t.span().ended, Observation: o,
		}
		if err := b.putObservation(old, is, at); err != nil {
			return err
		}
	}
	for i := uint64(len(made)); i < t.made; i++ {
		old, err := b.observations.get(first + i)
		if err != nil {
			return err
		}
		if err := b.dropObservation(old, at); err != nil {
			return err
		}
	}
	if n := uint64(len(made)); n != t.made {
		t.made = n
		b.turns.edit(t.id)
	}
	return nil
}

// The origins of observations and summaries.
const (
	originRules  = "rules"
	originPerson = "person"
)

func (b *batch) putObservation(old, is *observation, at uint64) error {
	if old != nil {
		is.listing = old.listing
		if string(appendValue(nil, old)) == string(appendValue(nil, is)) {
			return nil
		}
		if err := b.indexObservation(old, false); err != nil {
			return err
		}
	}
	b.observations.put(is.id, is)
	b.markAt(ObservationDoc, is.id, at)
	return nil
}

func (b *batch) dropObservation(old *observation, at uint64) error {
	if old == nil {
		return nil
	}
	if err := b.indexObservation(old, false); err != nil {
		return err
	}
	b.markGone(ObservationDoc, old.id, at, &old.listing, old.session)
	if err := b.unlist(kindObservation, old.id, &old.listing); err != nil {
		return err
	}
	b.observations.drop(old.id)
	return nil
}

func (b *batch) replaceSummary(t *turn, made *event.Summary, at uint64) error {
	id := base(t)
	old, err := b.summaries.get(id)
	if err != nil {
		return err
	}
	s, err := b.sessions.get(t.session)
	if err != nil {
		return err
	}
	switch {
	case made != nil:
		is := &summary{
			id: id, session: t.session, position: t.position, turn: t.id,
			origin: originRules, time: t.span().ended, Summary: *made,
		}
		if err := b.putSummary(old, is, at); err != nil {
			return err
		}
	case old != nil:
		if err := b.dropSummary(old, at); err != nil {
			return err
		}
	}
	if has := made != nil; has != t.summary {
		t.summary = has
		b.turns.edit(t.id)
		return b.newestSummary(s)
	}
	return nil
}

func (b *batch) putSummary(old, is *summary, at uint64) error {
	if old != nil {
		is.listing = old.listing
		if string(appendValue(nil, old)) == string(appendValue(nil, is)) {
			return nil
		}
		if err := b.indexSummary(old, false); err != nil {
			return err
		}
	}
	b.summaries.put(is.id, is)
	b.markAt(SummaryDoc, is.id, at)
	return nil
}

func (b *batch) dropSummary(old *summary, at uint64) error {
	if err := b.indexSummary(old, false); err != nil {
		return err
	}
	b.markGone(SummaryDoc, old.id, at, &old.listing, old.session)
	if err := b.unlist(kindSummary, old.id, &old.listing); err != nil {
		return err
	}
	b.summaries.drop(old.id)
	return nil
}

// newestSummary finds the session's current summary: that of the last turn with
// one. The one that was current, or is now, reads differently.
func (b *batch) newestSummary(s *session) error {
	var now uint64
	for _, id := range slices.Backward(turnsOf(b.tx, s.no)) {
		t, err := b.turns.get(id)
		if err != nil {
			return err
		}
		if t != nil && t.summary {
			now = base(t)
			break
		}
	}
	if now == s.current {
		return nil
	}
	for _, id := range []uint64{s.current, now} {
		if x, err := b.summaries.get(id); err != nil {
			return err
		} else if x != nil {
			b.summaries.edit(id)
			b.mark(SummaryDoc, id)
		}
	}
	s.current = now
	b.sessions.edit(s.no)
	return nil
}
