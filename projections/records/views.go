package records

import (
	bolt "go.etcd.io/bbolt"

	"cmem/streams"
)

// TurnView gives a turn by its id with all that belongs to it; false if there is
// none.
func (s *Store) TurnView(id int64) (out TurnView, ok bool, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		r := newReader(tx)
		t, err := load[turn](tx, bTurns, uint64(id))
		if t == nil || t.hidden() || err != nil {
			return err
		}
		ok = true
		return r.fillTurn(&out, t)
	})
	return out, ok, err
}

func (r *reader) fillTurn(out *TurnView, t *turn) (err error) {
	if out.Turn, err = r.showTurn(t); err != nil {
		return err
	}
	prompts, err := showAll(r, promptSource(), t.prompts)
	if err != nil {
		return err
	}
	for i := range prompts {
		if prompts[i].ID == int64(t.prompt) {
			out.Prompt = &prompts[i]
		} else {
			out.Queued = append(out.Queued, prompts[i])
		}
	}
	ordered := &turn{steps: inOrder(t.steps)}
	if out.Texts, err = showAll(r, textSource(), ordered.stepIDs(true)); err != nil {
		return err
	}
	if out.ToolUses, err = showAll(r, toolSource(), ordered.stepIDs(false)); err != nil {
		return err
	}
	if out.Observations, err = showAll(r, observationSource(), t.observationIDs()); err != nil {
		return err
	}
	out.Summaries, err = showAll(r, summarySource(), summarySource().ofTurn(t))
	return err
}

func showAll[V, T any](r *reader, src source[V, T], ids []uint64) (out []T, err error) {
	for _, id := range ids {
		v, err := src.read(r.tx, id)
		if err != nil {
			return nil, err
		}
		if v == nil {
			continue
		}
		doc, err := src.show(r, v)
		if err != nil {
			return nil, err
		}
		out = append(out, doc)
	}
	return out, nil
}

// SessionView gives a session by the host's id; false if there is none. Of two
// hosts that use one id it is the first one's.
func (s *Store) SessionView(session string) (out SessionView, ok bool, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		r := newReader(tx)
		no, err := r.sessionNumber("", session)
		if no == 0 || err != nil {
			return err
		}
		ok = true
		return r.fillSession(&out, no)
	})
	return out, ok, err
}

func (r *reader) fillSession(out *SessionView, no uint64) error {
	s, err := r.session(no)
	if err != nil {
		return err
	}
	if out.Session, err = r.showSession(s); err != nil {
		return err
	}
	if out.Turns, err = r.turnsShown(no); err != nil {
		return err
	}
	for _, fork := range s.forks {
		f, err := r.session(fork)
		if err != nil {
			return err
		}
		out.Forks = append(out.Forks, f.key)
	}
	out.Shared, err = r.shared(s)
	return err
}

func (r *reader) turnsShown(no uint64) (out []Turn, err error) {
	for _, id := range turnsOf(r.tx, no) {
		t, err := load[turn](r.tx, bTurns, id)
		if err != nil {
			return nil, err
		}
		if t == nil || t.hidden() {
			continue
		}
		shown, err := r.showTurn(t)
		if err != nil {
			return nil, err
		}
		out = append(out, shown)
	}
	return out, nil
}

// shared are the turns a fork repeats: its origin's, from the one that holds the
// first shared record to what had begun when the fork itself did.
func (r *reader) shared(s *session) ([]Turn, error) {
	if s.parent == "" || s.shared == "" {
		return nil, nil
	}
	from, err := r.sessionNumber(s.host, s.parent)
	if from == 0 || err != nil {
		return nil, err
	}
	first, err := r.positionOf(s.shared)
	if err != nil {
		return nil, err
	}
	turns, err := r.turnsShown(from)
	if err != nil {
		return nil, err
	}
	began := fromNanos(s.span().started)
	var out []Turn
	for i, t := range turns {
		last := i+1 == len(turns)
		if !last && turns[i+1].Position <= first || !began.IsZero() && t.Started.After(began) {
			continue
		}
		out = append(out, t)
	}
	return out, nil
}

// positionOf is where an envelope is; 0 if the log has none with this id.
func (r *reader) positionOf(id string) (streams.Position, error) {
	raw := look(r.tx.Bucket(freshOf(pIDs)), r.tx.Bucket([]byte(pIDs)), hashOf(id))
	if len(raw) == 0 {
		return 0, nil
	}
	var h held
	err := readValue(raw, &h)
	return streams.Position(h.position), err
}

// Position says where the envelope with this id is; 0 if the log up to the
// checkpoint has none.
func (s *Store) Position(id string) (at streams.Position, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		at, err = newReader(tx).positionOf(id)
		return err
	})
	return at, err
}
