package records

import (
	"cmp"
	"slices"

	"cmem/streams/event"
)

// How sure it is that something belongs to a turn; the surest word counts, so
// that the order of channels does not. The host's own turn id is surer than the
// turn a channel was in, a call surer than its end, and the transcript, whose
// order is the host's, surer than hooks, which may begin in mid-session; but a
// sub-agent's file is read after its parent's, there hooks are surer. What a
// sub-agent did belongs to the turn of the call that started it.
const (
	byAgent   = 15
	byTurnID  = 10 // 11–14 with the bonus below
	byCurrent = 4  // 5–8
	beforeAny = 0  // 1–4
	callBonus = 2
	fileBonus = 1
)

// surety gives the rank of a fact's turn on top of base, one of the above.
func surety(base uint8, c int, call, agent bool) uint8 {
	rank := base + 1
	if call {
		rank += callBonus
	}
	if (c == fileSide) != agent {
		rank += fileBonus
	}
	return rank
}

// turnOf gives the turn that the fact names, or else the side's current one, or
// else the one before any prompt, and how sure that is.
func (b *batch) turnOf(s *session, c int, h *event.Header, call bool) (*turn, uint8, error) {
	agent := h.Agent != "" || h.ParentCall != ""
	if h.Turn != "" {
		t, err := b.namedTurn(s, c, h.Turn, agent)
		return t, surety(byTurnID, c, call, agent), err
	}
	if s.cur[c] != 0 {
		t, err := b.turns.get(s.cur[c])
		return t, surety(byCurrent, c, call, agent), err
	}
	t, err := b.zeroTurn(s)
	return t, surety(beforeAny, c, call, agent), err
}

// namedTurn finds the turn by the host's id, or makes it: its prompt may come
// later, or never. A turn first seen is the side's current one.
func (b *batch) namedTurn(s *session, c int, name string, agent bool) (*turn, error) {
	id, err := b.turnNamed(s, name)
	if err != nil {
		return nil, err
	}
	if id != 0 {
		return b.turns.get(id)
	}
	t, err := b.newTurn(s)
	if err != nil {
		return nil, err
	}
	b.nameTurn(s, t, name)
	if !agent {
		err = b.begin(s, c, t)
	}
	return t, err
}

func (b *batch) turnNamed(s *session, name string) (uint64, error) {
	return referred(b.names.get(b.nameIn(s, "t", name)))
}

func (b *batch) nameTurn(s *session, t *turn, name string) {
	b.names.put(b.nameIn(s, "t", name), reference(t.id))
	if t.name == "" {
		t.name = name
		b.turns.edit(t.id)
	}
}

func (b *batch) zeroTurn(s *session) (*turn, error) {
	if s.zero != 0 {
		return b.turns.get(s.zero)
	}
	t, err := b.newTurn(s)
	if err == nil {
		s.zero = t.id
	}
	return t, err
}

func (b *batch) newTurn(s *session) (*turn, error) {
	t := &turn{id: b.next(TurnDoc), session: s.no, position: b.position}
	b.turns.put(t.id, t)
	return t, b.tx.Bucket(bLists).Put(turnKey(s.no, t.id), nil)
}

// begin makes t the side's current turn; what the side had open is at its end.
func (b *batch) begin(s *session, c int, t *turn) error {
	if s.cur[c] == t.id {
		return nil
	}
	s.cur[c] = t.id
	return b.closeAll(s, c, t.id)
}

// touch says that the side, by its own view, was in the turn: it is open again on
// that side until the next mark of an end. What a sub-agent did, whose file may
// be read at any time, opens only a turn that nothing was told of.
func (b *batch) touch(s *session, c int, t *turn, a *agent, at int64) error {
	if a != nil && t.side[c].state != unseen {
		return nil
	}
	if t.side[c].state != open {
		t.side[c].state = open
		s.open[c] = append(s.open[c], t.id)
		b.opened = append(b.opened, t.id)
	}
	if a == nil {
		t.side[c].saw(at)
	}
	b.changedTurn(t)
	return nil
}

// changedTurn notes a change; rules run again if the turn is closed.
func (b *batch) changedTurn(t *turn) {
	b.turns.edit(t.id)
	b.mark(TurnDoc, t.id)
	if !t.isClosed() {
		return
	}
	if _, waits := b.pending[t.id]; !waits {
		b.waiting[t.session] = append(b.waiting[t.session], t.id)
	}
	b.pending[t.id] = b.position
}

// closeAll ends what the side has open in the session, but for one.
func (b *batch) closeAll(s *session, c int, except uint64) error {
	all := s.open[c]
	s.open[c] = nil
	for _, id := range all {
		if id == except {
			s.open[c] = append(s.open[c], id)
			continue
		}
		t, err := b.turns.get(id)
		if err != nil {
			return err
		}
		b.end(t, c)
	}
	b.sessions.edit(s.no)
	return nil
}

// end closes t on one side; one that is closed there stays as it is.
func (b *batch) end(t *turn, c int) {
	if t.side[c].state == closed {
		return
	}
	t.side[c].state = closed
	b.changedTurn(t)
}

// turnEnded: the main agent stopped. A hook that never told a prompt ends the
// turn that the transcript is in.
func (b *batch) turnEnded(s *session, c int, f *event.Fact, body *event.TurnEnded) error {
	if f.Agent != "" || body.Background {
		return nil
	}
	if body.Interrupted {
		s.interrupts[c]++
	}
	t, err := b.endedTurn(s, c, f.Turn)
	if t == nil || err != nil {
		return err
	}
	if body.Interrupted && !t.interrupted {
		t.interrupted = true
		b.changedTurn(t)
	}
	// Also where an idle mark has closed it before: a file that is read while it
	// grows gets such marks, and must end as one that is read whole.
	t.side[c].saw(nanos(f.Time))
	b.changedTurn(t)
	if t.id == s.cur[c] || t.side[c].state != open {
		if err := b.closeAll(s, c, 0); err != nil {
			return err
		}
	}
	s.open[c] = slices.DeleteFunc(s.open[c], func(id uint64) bool { return id == t.id })
	b.end(t, c)
	return nil
}

func (b *batch) endedTurn(s *session, c int, name string) (*turn, error) {
	if name != "" {
		id, err := b.turnNamed(s, name)
		if id == 0 || err != nil {
			return nil, err
		}
		return b.turns.get(id)
	}
	if t, err := b.liveTurn(s, c); t != nil || err != nil {
		return t, err
	}
	if s.zero == 0 {
		return nil, nil
	}
	return b.turns.get(s.zero)
}

// liveTurn is the current turn of the side, or of the other one if it has none.
func (b *batch) liveTurn(s *session, c int) (*turn, error) {
	for _, id := range []uint64{s.cur[c], s.cur[1-c]} {
		if id != 0 {
			return b.turns.get(id)
		}
	}
	return nil, nil
}

// addStep puts a step into the turn, or notes where another side told it.
func (b *batch) addStep(t *turn, id uint64, text bool, at [sides]uint64) {
	b.changedTurn(t)
	for i := len(t.steps) - 1; i >= 0; i-- {
		if s := &t.steps[i]; s.id == id && s.text == text {
			s.at = at
			return
		}
	}
	t.steps = append(t.steps, step{id: id, text: text, at: at})
}

func (b *batch) removeStep(id, of uint64, text bool) error {
	if id == 0 {
		return nil
	}
	t, err := b.turns.get(id)
	if err != nil || t == nil {
		return err
	}
	t.steps = slices.DeleteFunc(t.steps, func(s step) bool { return s.id == of && s.text == text })
	b.changedTurn(t)
	return nil
}

// merge makes one turn of two that turned out to be one; the older id stays.
func (b *batch) merge(s *session, x, y *turn) (*turn, error) {
	if x.id > y.id {
		x, y = y, x
	}
	if y.name != "" {
		b.nameTurn(s, x, y.name)
	}
	for _, id := range y.prompts {
		p, err := b.prompts.get(id)
		if err != nil {
			return nil, err
		}
		p.turn = x.id
		b.changedPrompt(p)
		x.prompts = append(x.prompts, id)
	}
	if x.prompt == 0 {
		x.prompt, x.number = y.prompt, y.number
	}
	x.private, x.interrupted = x.private || y.private, x.interrupted || y.interrupted
	x.said = append(x.said, y.said...)
	for c := range sides {
		mergeSide(&x.side[c], &y.side[c])
		replace(s.open[c], y.id, x.id)
		slices.Sort(s.open[c])
		s.open[c] = slices.Compact(s.open[c])
		if s.cur[c] == y.id {
			s.cur[c] = x.id
		}
	}
	if s.zero == y.id {
		s.zero = x.id
	}
	steps := y.steps
	y.steps, y.prompts, y.prompt, y.name = nil, nil, 0, ""
	for _, st := range steps {
		if err := b.moveStep(st, x); err != nil {
			return nil, err
		}
	}
	b.changedTurn(x)
	b.changedTurn(y)
	b.pending[y.id] = b.position // nothing is left of it
	b.opened = append(b.opened, x.id, y.id)
	return x, nil
}

func mergeSide(x, y *side) {
	if x.first == 0 || y.first != 0 && y.first < x.first {
		x.first = y.first
	}
	x.last = max(x.last, y.last)
	switch {
	case x.state == open || y.state == open:
		x.state = open
	default:
		x.state = max(x.state, y.state)
	}
}

func replace(ids []uint64, from, to uint64) {
	for i := range ids {
		if ids[i] == from {
			ids[i] = to
		}
	}
}

// moveStep puts a tool use or text that is in no turn now into t.
func (b *batch) moveStep(st step, t *turn) error {
	if st.text {
		x, err := b.texts.get(st.id)
		if err != nil {
			return err
		}
		x.turn = t.id
		b.texts.edit(x.id)
		b.mark(TextDoc, x.id)
		b.addStep(t, st.id, true, st.at)
		return nil
	}
	u, err := b.tools.get(st.id)
	if err != nil {
		return err
	}
	u.turn = t.id
	b.tools.edit(u.id)
	b.addStep(t, st.id, false, st.at)
	return b.moveChildren(u)
}

// inOrder sorts a turn's steps in one order whatever came first: that of the
// transcript, with what only hooks told behind the step before it.
func inOrder(steps []step) []step {
	out := slices.Clone(steps)
	slices.SortStableFunc(out, func(x, y step) int { return cmp.Compare(behind(x.at[hookSide]), behind(y.at[hookSide])) })
	type place struct{ file, hook uint64 }
	places := make(map[step]place, len(out))
	last := uint64(0)
	for _, s := range out {
		p := place{file: s.at[fileSide]}
		if p.file == 0 {
			p = place{file: last, hook: s.at[hookSide]}
		} else if s.at[hookSide] != 0 {
			last = p.file
		}
		places[s] = p
	}
	slices.SortStableFunc(out, func(x, y step) int {
		p, q := places[x], places[y]
		if d := cmp.Compare(p.file, q.file); d != 0 {
			return d
		}
		return cmp.Compare(p.hook, q.hook)
	})
	return out
}

// behind sorts what a side has not told behind what it has.
func behind(at uint64) uint64 { return at - 1 }
