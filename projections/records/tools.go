package records

import (
	"slices"

	"cmem/streams/event"
)

// Ranks of sources, by what a field trusts most.
const (
	inputHookCall   = 8 // what was asked, as the host was about to run it
	inputFileCall   = 6
	inputHookReturn = 4
	inputFileReturn = 2
	inputUpdated    = 12 // the host said that another hook changed it
	endFile         = 8  // how it ended: the transcript knows best
	endHook         = 6
)

func keyName(key string) hash { return hashOf("k", key) }

// toolTold folds one side's word of a tool call, or of its end.
func (b *batch) toolTold(s *session, c int, f *event.Fact, r *event.ToolReturned, call bool) error {
	u, err := b.findTool(s, c, f, call)
	if err != nil {
		return err
	}
	before := u.contribution()
	b.tools.edit(u.id)
	owner, err := b.sessions.get(u.session)
	if err != nil {
		return err
	}
	u.tell(c, f, r, call)
	b.placeOf(u, c, call)
	b.sessions.edit(owner.no)
	owner.n.move(before, u.contribution())
	if owner != s {
		// Another session showed it first: a fork repeats it, and that is all.
		return b.turnOfToolChanged(u)
	}
	return b.join(s, u, c, f, call)
}

func (b *batch) turnOfToolChanged(u *tool) error {
	if u.turn == 0 {
		return nil
	}
	t, err := b.turns.get(u.turn)
	if err == nil && t != nil {
		b.changedTurn(t)
	}
	return err
}

// placeOf notes where in the log and in the side's order it was told.
func (b *batch) placeOf(u *tool, c int, call bool) {
	switch {
	case call && u.told&(hookCall|fileCall) == 0, u.position == 0:
		u.position = b.position
	}
	if !call && u.returned == 0 {
		u.returned = b.position
	}
	if u.at[c] == 0 {
		u.at[c] = b.order()
	}
	u.told |= heard(c, call)
}

func heard(c int, call bool) uint8 {
	switch {
	case c == hookSide && call:
		return hookCall
	case c == hookSide:
		return hookReturn
	case call:
		return fileCall
	}
	return fileReturn
}

// join puts the tool use into its turn and among its agent's steps.
func (b *batch) join(s *session, u *tool, c int, f *event.Fact, call bool) error {
	a, err := b.agent(s, f)
	if err != nil {
		return err
	}
	if a != nil && u.agent == 0 {
		u.agent = a.id
		a.steps = append(a.steps, u.id<<1)
		b.agents.edit(a.id)
	}
	t, rank, err := b.turnFor(s, c, &f.Header, a, call)
	if err != nil {
		return err
	}
	if u.turn == 0 || rank > u.rank[fTurn] {
		if u.turn != t.id {
			if err := b.removeStep(u.turn, u.id, false); err != nil {
				return err
			}
		}
		u.turn, u.rank[fTurn] = t.id, rank
		if err := b.moveChildren(u); err != nil {
			return err
		}
	}
	its, err := b.turns.get(u.turn)
	if err != nil {
		return err
	}
	b.addStep(its, u.id, false, u.at)
	return b.touch(s, c, t, a, nanos(f.Time))
}

// turnFor is turnOf, but for a sub-agent whose call is known.
func (b *batch) turnFor(s *session, c int, h *event.Header, a *agent, call bool) (*turn, uint8, error) {
	id, err := b.agentsTurn(a)
	if err != nil {
		return nil, 0, err
	}
	if id != 0 {
		t, err := b.turns.get(id)
		return t, byAgent, err
	}
	return b.turnOf(s, c, h, call)
}

// findTool finds the tool use that a fact is about by its key and by its second
// name, or makes it. Two records that turn out to be one are folded together.
func (b *batch) findTool(s *session, c int, f *event.Fact, call bool) (*tool, error) {
	key, err := b.keyOf(f, heard(c, call))
	if err != nil {
		return nil, err
	}
	var u *tool
	if key != "" {
		id, err := referred(b.names.get(keyName(key)))
		if err != nil {
			return nil, err
		}
		if id != 0 {
			if u, err = b.tools.get(id); err != nil {
				return nil, err
			}
		}
	}
	if f.Alt != "" {
		if u, err = b.byAlt(u, c, f.Alt, call); err != nil {
			return nil, err
		}
	}
	if u == nil {
		u = b.newTool(s)
	}
	if key != "" {
		b.addKey(u, key, c)
	}
	if f.Alt != "" {
		b.bindAlt(u, c, f.Alt, call)
	}
	return u, nil
}

// keyOf is the fact's key. Where the envelope has other words under a held id
// and this side told the same of that key already, it is another thing: it gets
// a key of its own and is counted.
func (b *batch) keyOf(f *event.Fact, what uint8) (string, error) {
	if f.Key == "" || b.conflict == "" {
		return f.Key, nil
	}
	id, err := referred(b.names.get(keyName(f.Key)))
	if id == 0 || err != nil {
		return f.Key, err
	}
	u, err := b.tools.get(id)
	if err != nil || u.told&what == 0 {
		return f.Key, err
	}
	b.totals.Conflicts++
	return f.Key + b.conflict, nil
}

func slotOf(c int, call bool) int {
	if call {
		return c
	}
	return c + sides
}

func altHash(alt string) hash { return hashOf("u", alt) }

// has says whether u has a name of this hash.
func (u *tool) has(h hash) bool {
	return slices.ContainsFunc(u.alts, func(a altName) bool { return a.hash == h })
}

// byAlt finds the record that is the n-th of the name, and folds u, found by its
// key, into it or the other way round. A record that has the name is found.
func (b *batch) byAlt(u *tool, c int, alt string, call bool) (*tool, error) {
	h := altHash(alt)
	if u != nil && u.has(h) {
		return u, nil
	}
	o, err := b.occurrence(h)
	if err != nil {
		return nil, err
	}
	n := int(o.n[slotOf(c, call)])
	if n >= len(o.ids) || o.ids[n] == 0 {
		return u, nil
	}
	v, err := b.tools.get(o.ids[n])
	if err != nil || u == nil {
		return v, err
	}
	return b.fold(u, v)
}

// bindAlt counts this telling of the name and says that it is u.
func (b *batch) bindAlt(u *tool, c int, alt string, call bool) {
	h := altHash(alt)
	o, err := b.occurrence(h)
	if err != nil {
		return
	}
	n, _ := o.another(slotOf(c, call))
	if !u.has(h) {
		o.bind(n, u.id)
		u.alts = append(u.alts, altName{hash: h, n: uint64(n)})
		if u.key == "" {
			u.key = shownAlt(h, n)
		}
	}
	b.putOccurrence(h, o)
}

func (b *batch) newTool(s *session) *tool {
	u := &tool{id: b.next("tool"), session: s.no}
	b.tools.put(u.id, u)
	return u
}

// addKey gives u one more key. The one shown is the transcript's, or else the
// hook's, or else the name by content.
func (b *batch) addKey(u *tool, key string, c int) {
	if rank := uint8(c + 1); rank > u.keyRank {
		u.key, u.keyRank = key, rank
	}
	if !slices.Contains(u.keys, key) {
		u.keys = append(u.keys, key)
		b.names.put(keyName(key), reference(u.id))
	}
}

// fold makes one record of two; the older id stays.
func (b *batch) fold(u, v *tool) (*tool, error) {
	if u.id == v.id {
		return u, nil
	}
	if u.id > v.id {
		u, v = v, u
	}
	owner, err := b.sessions.get(u.session)
	if err != nil {
		return nil, err
	}
	other, err := b.sessions.get(v.session)
	if err != nil {
		return nil, err
	}
	before := u.contribution()
	other.n.move(v.contribution(), counts{})
	if err := b.removeStep(v.turn, v.id, false); err != nil {
		return nil, err
	}
	u.absorb(v)
	owner.n.move(before, u.contribution())
	b.sessions.edit(owner.no)
	b.sessions.edit(other.no)
	b.tools.edit(u.id)
	return u, b.rename(u, v)
}

// rename points all that spoke of v to u, and drops v.
func (b *batch) rename(u, v *tool) error {
	for _, k := range v.keys {
		b.names.put(keyName(k), reference(u.id))
	}
	for _, a := range v.alts {
		o, err := b.occurrence(a.hash)
		if err != nil {
			return err
		}
		o.bind(int(a.n), u.id)
		b.putOccurrence(a.hash, o)
	}
	for _, id := range v.children {
		a, err := b.agents.get(id)
		if err != nil {
			return err
		}
		a.parent = u.id
		b.agents.edit(id)
	}
	if v.agent != 0 {
		a, err := b.agents.get(v.agent)
		if err != nil {
			return err
		}
		replace(a.steps, v.id<<1, u.id<<1)
		b.agents.edit(a.id)
	}
	if err := b.unlist(kindTool, v.id, &v.listing); err != nil {
		return err
	}
	b.tools.drop(v.id)
	if u.turn == 0 {
		return nil
	}
	t, err := b.turns.get(u.turn)
	if err != nil {
		return err
	}
	b.addStep(t, u.id, false, u.at)
	return b.moveChildren(u)
}
