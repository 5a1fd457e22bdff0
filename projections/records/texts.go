package records

import (
	"slices"
	"strconv"
	"strings"

	"cmem/streams/event"
)

// said folds a text of the agent. What the host gave as a turn's last words and
// the same text told on its own are one, in either order: the n-th of one is the
// n-th of the other. The same last words told again in a turn are one telling.
func (b *batch) said(s *session, c int, f *event.Fact, body *event.AssistantSaid) error {
	norm := normal(body.Text)
	if norm == "" {
		return nil
	}
	a, err := b.agent(s, f)
	if err != nil {
		return err
	}
	t, rank, err := b.turnOfText(s, c, f, a, body.Last)
	if err != nil {
		return err
	}
	slot := c
	if body.Last {
		slot += sides
		if told := hash64(strconv.Itoa(c) + norm); slices.Contains(t.said, told) {
			return b.touch(s, c, t, a, nanos(f.Time))
		} else {
			t.said = append(t.said, told)
		}
	}
	name := b.nameIn(s, "x", f.Agent, norm)
	o, err := b.occurrence(name)
	if err != nil {
		return err
	}
	n, id := o.another(slot)
	var x *text
	if id != 0 {
		if x, err = b.texts.get(id); err != nil {
			return err
		}
	} else {
		x = &text{id: b.next(TextDoc), session: s.no, position: b.position}
		b.texts.put(x.id, x)
		o.bind(n, x.id)
		s.n.texts++
	}
	b.putOccurrence(name, o)
	b.tellText(x, c, f, body)
	return b.joinText(s, x, c, f, a, t, rank)
}

// turnOfText: the last words of a hook that never told a prompt are of the turn
// that the transcript is in.
func (b *batch) turnOfText(s *session, c int, f *event.Fact, a *agent, last bool) (*turn, uint8, error) {
	if last && f.Turn == "" && a == nil && s.cur[c] == 0 && s.cur[1-c] != 0 {
		t, err := b.turns.get(s.cur[1-c])
		return t, surety(beforeAny, c, false, false), err
	}
	return b.turnFor(s, c, &f.Header, a, !last)
}

func (b *batch) tellText(x *text, c int, f *event.Fact, body *event.AssistantSaid) {
	rank := uint8(c+1) << 1 // the transcript's words and time before the hook's
	if !body.Last {
		rank++
	}
	if rank > x.timeRank {
		x.text = head(strings.TrimSpace(body.Text), maxText)
		if at := nanos(f.Time); at != 0 {
			x.time = at
		}
		if f.Key != "" {
			x.key = f.Key
		}
		x.timeRank = rank
	}
	if x.at[c] == 0 {
		x.at[c] = b.order()
	}
	b.texts.edit(x.id)
	b.mark(TextDoc, x.id)
}

func (b *batch) joinText(s *session, x *text, c int, f *event.Fact, a *agent, t *turn, rank uint8) error {
	if a != nil && x.agent == 0 {
		x.agent = a.id
		a.steps = append(a.steps, x.id<<1|1)
		b.agents.edit(a.id)
	}
	if x.turn == 0 || rank > x.turnRank {
		if x.turn != t.id {
			if err := b.removeStep(x.turn, x.id, true); err != nil {
				return err
			}
		}
		x.turn, x.turnRank = t.id, rank
	}
	its, err := b.turns.get(x.turn)
	if err != nil {
		return err
	}
	b.addStep(its, x.id, true, x.at)
	return b.touch(s, c, t, a, nanos(f.Time))
}
