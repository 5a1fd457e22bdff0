package records

import (
	"fmt"

	bolt "go.etcd.io/bbolt"

	"cmem/streams"
)

// reader joins documents with what they refer to, within one transaction.
type reader struct {
	tx       *bolt.Tx
	sessions map[uint64]*session
	projects map[uint64]string
	turns    map[uint64]string
}

func newReader(tx *bolt.Tx) *reader {
	return &reader{tx: tx, sessions: map[uint64]*session{}, projects: map[uint64]string{}, turns: map[uint64]string{}}
}

// load reads one value; nil if there is none.
func load[V any, P interface {
	*V
	stored
}](tx *bolt.Tx, bucket []byte, id uint64) (*V, error) {
	raw := tx.Bucket(bucket).Get(key64(id))
	if raw == nil {
		return nil, nil
	}
	v := new(V)
	if err := readValue(raw, P(v)); err != nil {
		return nil, fmt.Errorf("%s %d: %w", bucket, id, err)
	}
	return v, nil
}

// session gives an empty one for what belongs to none.
func (r *reader) session(no uint64) (*session, error) {
	if s := r.sessions[no]; s != nil {
		return s, nil
	}
	s := &session{}
	if no != 0 {
		found, err := load[session](r.tx, bSessions, no)
		if err != nil {
			return nil, err
		}
		if found != nil {
			s = found
		}
	}
	r.sessions[no] = s
	return s, nil
}

func (r *reader) project(no uint64) (string, error) {
	if key, ok := r.projects[no]; ok || no == 0 {
		return key, nil
	}
	p, err := load[project](r.tx, bProjects, no)
	if err != nil || p == nil {
		return "", err
	}
	r.projects[no] = p.key
	return p.key, nil
}

// turnKeyOf is the shown key of a turn.
func (r *reader) turnKeyOf(id uint64) (string, error) {
	if key, ok := r.turns[id]; ok || id == 0 {
		return key, nil
	}
	t, err := load[turn](r.tx, bTurns, id)
	if err != nil || t == nil {
		return "", err
	}
	return r.nameTurn(t)
}

func (r *reader) nameTurn(t *turn) (string, error) {
	s, err := r.session(t.session)
	if err != nil {
		return "", err
	}
	var p *prompt
	if t.name == "" && t.prompt != 0 {
		if p, err = load[prompt](r.tx, bPrompts, t.prompt); err != nil {
			return "", err
		}
	}
	key := turnName(s, t, p)
	r.turns[t.id] = key
	return key, nil
}

// home is what all documents of a session say of where they belong.
type home struct{ session, host, project, turn string }

func (r *reader) home(session, turn uint64) (h home, err error) {
	s, err := r.session(session)
	if err != nil {
		return h, err
	}
	h.session, h.host = s.key, s.host
	if h.project, err = r.project(s.project); err != nil {
		return h, err
	}
	h.turn, err = r.turnKeyOf(turn)
	return h, err
}

func (r *reader) agent(id uint64) (string, error) {
	if id == 0 {
		return "", nil
	}
	a, err := load[agent](r.tx, bAgents, id)
	if err != nil || a == nil {
		return "", err
	}
	return shownAgent(a), nil
}

func (r *reader) showSession(s *session) (Session, error) {
	project, err := r.project(s.project)
	return s.shown(project), err
}

func (r *reader) showPrompt(p *prompt) (Prompt, error) {
	h, err := r.home(p.session, p.turn)
	return Prompt{
		ID: int64(p.id), Session: h.session, Host: h.host, Project: h.project, Turn: h.turn, Number: int(p.number),
		Text: p.text, Private: p.private, Queued: p.queuedOnly, Images: p.images, Time: fromNanos(p.time),
		Position: streams.Position(p.position),
	}, err
}

func (r *reader) showText(x *text) (Text, error) {
	h, err := r.home(x.session, x.turn)
	if err != nil {
		return Text{}, err
	}
	agent, err := r.agent(x.agent)
	return Text{
		ID: int64(x.id), Session: h.session, Host: h.host, Project: h.project, Turn: h.turn, Agent: agent,
		Text: x.text, Time: fromNanos(x.time), Position: streams.Position(x.position),
	}, err
}

func (r *reader) showTool(u *tool) (ToolUse, error) {
	h, err := r.home(u.session, u.turn)
	if err != nil {
		return ToolUse{}, err
	}
	agent, err := r.agent(u.agent)
	if err != nil {
		return ToolUse{}, err
	}
	parent, err := r.parentCall(u.agent)
	took, clock := u.took()
	return ToolUse{
		ID: int64(u.id), Session: h.session, Host: h.host, Project: h.project, Turn: h.turn,
		ToolUse: u.use(agent), ParentCall: parent, Called: u.called(), Ended: u.ended(),
		OutputBytes: u.size, Cut: u.cut, Duration: took, Clock: clock, Time: fromNanos(u.time),
		Position: streams.Position(u.position), ReturnPosition: streams.Position(u.returned),
	}, err
}

// parentCall is the key of the call that started an agent.
func (r *reader) parentCall(id uint64) (string, error) {
	if id == 0 {
		return "", nil
	}
	a, err := load[agent](r.tx, bAgents, id)
	if err != nil || a == nil || a.parent == 0 {
		return "", err
	}
	u, err := load[tool](r.tx, bTools, a.parent)
	if err != nil || u == nil {
		return "", err
	}
	return u.key, nil
}

func (r *reader) showTurn(t *turn) (Turn, error) {
	h, err := r.home(t.session, 0)
	if err != nil {
		return Turn{}, err
	}
	key, err := r.nameTurn(t)
	sp := t.span()
	out := Turn{
		ID: int64(t.id), Session: h.session, Host: h.host, Project: h.project, Key: key, PromptNumber: int(t.number),
		Started: fromNanos(sp.started), Closed: t.isClosed(), Interrupted: t.interrupted, Private: t.private,
		Duration: sp.duration(), Clock: sp.clock, Position: streams.Position(t.position),
	}
	if out.Closed {
		out.Ended = fromNanos(sp.ended)
	}
	for _, st := range inOrder(t.steps) {
		if !st.text {
			out.Tools = append(out.Tools, int64(st.id))
		}
	}
	return out, err
}

func (r *reader) showObservation(o *observation) (Observation, error) {
	h, err := r.home(o.session, o.turn)
	if err != nil {
		return Observation{}, err
	}
	if o.session == 0 {
		if h.project, err = r.project(o.home); err != nil {
			return Observation{}, err
		}
	}
	agent, err := r.agent(o.agent)
	return Observation{
		ID: int64(o.id), Session: h.session, Host: h.host, Project: h.project, Turn: h.turn, Agent: agent,
		Observation: o.Observation, Origin: o.origin, Time: fromNanos(o.time), Position: streams.Position(o.position),
	}, err
}

func (r *reader) showSummary(m *summary) (Summary, error) {
	h, err := r.home(m.session, m.turn)
	if err != nil {
		return Summary{}, err
	}
	s, err := r.session(m.session)
	return Summary{
		ID: int64(m.id), Session: h.session, Host: h.host, Project: h.project, Turn: h.turn, Summary: m.Summary,
		Origin: m.origin, Superseded: s.current != m.id, Time: fromNanos(m.time), Position: streams.Position(m.position),
	}, err
}
