package records

import "cmem/streams/event"

// agentName is an agent within a session.
type agentName struct {
	session uint64
	name    string
}

// unnamed begins the name of an agent that only its call names.
const unnamed = "\x00"

// agentTold notes a sub-agent and the call that started it.
func (b *batch) agentTold(s *session, f *event.Fact, typ string) error {
	a, err := b.agent(s, f)
	if a == nil || err != nil {
		return err
	}
	if a.typ == "" && typ != "" {
		a.typ = typ
		b.agents.edit(a.id)
	}
	return nil
}

// agent gives the sub-agent that a fact is of, nil for the main one. Once its
// call is known all it did belongs to that call's turn.
func (b *batch) agent(s *session, f *event.Fact) (*agent, error) {
	name := f.Agent
	if name == "" && f.ParentCall != "" {
		name = unnamed + f.ParentCall
	}
	if name == "" {
		return nil, nil
	}
	a, err := b.agentNamed(s, name)
	if err != nil || f.ParentCall == "" || a.parent != 0 {
		return a, err
	}
	parent, err := b.toolByKey(s, f.ParentCall)
	if err != nil {
		return nil, err
	}
	a.parent = parent.id
	parent.children = append(parent.children, a.id)
	b.agents.edit(a.id)
	b.tools.edit(parent.id)
	return a, b.moveChildren(parent)
}

func (b *batch) agentNamed(s *session, name string) (*agent, error) {
	known := agentName{s.no, name}
	if a := b.agentOf[known]; a != nil {
		return a, nil
	}
	n := 0
	for n < len(s.agents) && s.agents[n] != name {
		n++
	}
	id := s.no<<20 | uint64(n+1)
	var a *agent
	if n < len(s.agents) {
		var err error
		if a, err = b.agents.get(id); err != nil {
			return nil, err
		}
	} else {
		s.agents = append(s.agents, name)
		a = &agent{id: id, session: s.no, name: name}
		b.agents.put(id, a)
	}
	b.agentOf[known] = a
	return a, nil
}

// toolByKey finds a tool use, or makes one of which nothing else is known yet.
func (b *batch) toolByKey(s *session, key string) (*tool, error) {
	id, err := referred(b.names.get(keyName(key)))
	if err != nil {
		return nil, err
	}
	if id != 0 {
		return b.tools.get(id)
	}
	u := b.newTool(s)
	b.addKey(u, key, fileSide)
	return u, nil
}

// moveChildren brings what the agents of a call did to the call's turn.
func (b *batch) moveChildren(parent *tool) error {
	if parent.turn == 0 {
		return nil
	}
	for _, id := range parent.children {
		a, err := b.agents.get(id)
		if err != nil {
			return err
		}
		for _, st := range a.steps {
			if err := b.moveTo(st>>1, st&1 == 1, parent.turn); err != nil {
				return err
			}
		}
	}
	return nil
}

// moveTo moves a sub-agent's step to another turn.
func (b *batch) moveTo(id uint64, isText bool, to uint64) error {
	t, err := b.turns.get(to)
	if err != nil {
		return err
	}
	st := step{id: id, text: isText}
	var from uint64
	if isText {
		x, err := b.texts.get(id)
		if err != nil || x == nil {
			return err
		}
		from, st.at, x.turnRank = x.turn, x.at, byAgent
		b.texts.edit(id)
	} else {
		u, err := b.tools.get(id)
		if err != nil || u == nil {
			return err
		}
		from, st.at, u.rank[fTurn] = u.turn, u.at, byAgent
		b.tools.edit(id)
	}
	if from == to {
		return nil
	}
	if err := b.removeStep(from, id, isText); err != nil {
		return err
	}
	return b.moveStep(st, t)
}

// agentsTurn is the turn of the call that started the agent, 0 if not known.
func (b *batch) agentsTurn(a *agent) (uint64, error) {
	if a == nil || a.parent == 0 {
		return 0, nil
	}
	parent, err := b.tools.get(a.parent)
	if err != nil || parent == nil {
		return 0, err
	}
	return parent.turn, nil
}
