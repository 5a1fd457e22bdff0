package records

import (
	"slices"
	"strings"

	"cmem/streams/event"
)

// Ranks of a prompt's text and time.
const (
	fromQueue uint8 = iota + 1
	fromFile
	fromHook
)

func promptRank(c int) uint8 {
	if c == hookSide {
		return fromHook
	}
	return fromFile
}

// prompted folds one side's word of a prompt. What a sub-agent was asked is not
// the user's.
func (b *batch) prompted(s *session, c int, f *event.Fact, body *event.PromptSubmitted) error {
	if f.Agent != "" || f.ParentCall != "" {
		b.totals.Counted["agent_prompt"]++
		return nil
	}
	if body.Origin == event.Queued {
		q := queued{text: head(body.Text, maxText), hash: hash64(normal(body.Text)), time: nanos(f.Time)}
		return b.onlyQueued(s, c, &q)
	}
	s.side[c].state = open
	p, err := b.findPrompt(s, c, f, body)
	if err != nil {
		return err
	}
	b.tellPrompt(p, c, f, body)
	t, err := b.turns.get(p.turn)
	if err != nil {
		return err
	}
	if t.prompt == p.id && t.private != p.private {
		t.private = p.private
	}
	if err := b.begin(s, c, t); err != nil {
		return err
	}
	return b.touch(s, c, t, nil, nanos(f.Time))
}

func (b *batch) tellPrompt(p *prompt, c int, f *event.Fact, body *event.PromptSubmitted) {
	rank := promptRank(c)
	if rank > p.rank && (body.Text != "" || p.rank < fromFile) {
		p.text, p.rank = head(body.Text, maxText), rank
	}
	if at := nanos(f.Time); at != 0 && rank > p.timeRank {
		p.time, p.timeRank = at, rank
	}
	p.private = p.private || body.Private
	p.images = max(p.images, body.Images)
	p.seen[c] = true
	if p.private {
		p.text = ""
	}
	b.changedPrompt(p)
}

func (b *batch) changedPrompt(p *prompt) {
	b.prompts.edit(p.id)
	b.mark(PromptDoc, p.id)
}

func promptKey(key string) hash { return hashOf("pk", key) }

// findPrompt finds the prompt by key, by the host's turn, or by text and
// occurrence; or a queued one with the text becomes it; or it is new.
func (b *batch) findPrompt(s *session, c int, f *event.Fact, body *event.PromptSubmitted) (*prompt, error) {
	key, err := b.promptKeyOf(f, c)
	if err != nil {
		return nil, err
	}
	p, err := b.promptNamed(promptKey(key), key != "")
	if err == nil && p == nil {
		p, err = b.promptOfTurn(s, c, f)
	}
	if err != nil {
		return nil, err
	}
	alt, n, id := hash{}, -1, uint64(0)
	if f.Alt != "" && (p == nil || !p.seen[c]) {
		alt = hashOf("p", f.Alt)
		var o *occurrence
		if o, err = b.occurrence(alt); err != nil {
			return nil, err
		}
		if n, id = o.another(c); p == nil && id != 0 {
			p, err = b.prompts.get(id)
		}
		if err != nil {
			return nil, err
		}
		defer func() {
			if p != nil && id == 0 {
				o.bind(n, p.id)
			}
			b.putOccurrence(alt, o)
		}()
	}
	if p == nil {
		if p, err = b.newPrompt(s, body); err != nil {
			return nil, err
		}
	}
	if key != "" && (p.key == "" || c == fileSide) {
		p.key = key
	}
	if key != "" {
		b.names.put(promptKey(key), reference(p.id))
	}
	if n >= 0 && p.alt == "" {
		p.alt = shownAlt(alt, n)
	}
	return p, b.placePrompt(s, p, f.Turn)
}

// promptKeyOf is like keyOf of tools.
func (b *batch) promptKeyOf(f *event.Fact, c int) (string, error) {
	if f.Key == "" || b.conflict == "" {
		return f.Key, nil
	}
	p, err := b.promptNamed(promptKey(f.Key), true)
	if p == nil || err != nil || !p.seen[c] {
		return f.Key, err
	}
	b.totals.Conflicts++
	return f.Key + b.conflict, nil
}

func (b *batch) promptNamed(name hash, named bool) (*prompt, error) {
	if !named {
		return nil, nil
	}
	id, err := referred(b.names.get(name))
	if id == 0 || err != nil {
		return nil, err
	}
	return b.prompts.get(id)
}

// promptOfTurn is the prompt that began the host's turn, if this side has not
// told it yet: a second one of a turn is another prompt.
func (b *batch) promptOfTurn(s *session, c int, f *event.Fact) (*prompt, error) {
	if f.Turn == "" {
		return nil, nil
	}
	id, err := b.turnNamed(s, f.Turn)
	if id == 0 || err != nil {
		return nil, err
	}
	t, err := b.turns.get(id)
	if err != nil || t.prompt == 0 {
		return nil, err
	}
	p, err := b.prompts.get(t.prompt)
	if err != nil || p.seen[c] {
		return nil, err
	}
	return p, nil
}

func (b *batch) queuedName(s *session, hash uint64) hash {
	return b.nameIn(s, "q", string(key64(hash)))
}

func (b *batch) promptText(s *session, hash uint64) hash {
	return b.nameIn(s, "r", string(key64(hash)))
}

// newPrompt makes a prompt, of the queued one with the same text if there is.
func (b *batch) newPrompt(s *session, body *event.PromptSubmitted) (*prompt, error) {
	s.prompts++
	h := hash64(normal(body.Text))
	if body.Text == "" {
		p := &prompt{id: b.next(PromptDoc), session: s.no, position: b.position, number: s.prompts}
		b.prompts.put(p.id, p)
		s.n.prompts++
		return p, nil
	}
	p, err := b.promptNamed(b.queuedName(s, h), true)
	if err != nil {
		return nil, err
	}
	before := counts{}
	if p == nil {
		p = &prompt{id: b.next(PromptDoc), session: s.no, position: b.position}
		b.prompts.put(p.id, p)
	} else {
		before = p.contribution()
		if err := b.removePrompt(p); err != nil {
			return nil, err
		}
		b.names.drop(b.queuedName(s, h))
		p.queuedOnly, p.turn = false, 0
	}
	p.number = s.prompts
	b.names.put(b.promptText(s, h), reference(p.id))
	s.n.move(before, p.contribution())
	return p, nil
}

func (b *batch) removePrompt(p *prompt) error {
	t, err := b.turns.get(p.turn)
	if err != nil || t == nil {
		return err
	}
	t.prompts = slices.DeleteFunc(t.prompts, func(id uint64) bool { return id == p.id })
	b.changedTurn(t)
	return nil
}

// placePrompt gives the prompt its turn: the host's, or a new one.
func (b *batch) placePrompt(s *session, p *prompt, name string) error {
	var named, own *turn
	var err error
	if p.turn != 0 {
		if own, err = b.turns.get(p.turn); err != nil {
			return err
		}
	}
	if name != "" {
		id, err := b.turnNamed(s, name)
		if err != nil {
			return err
		}
		if named, err = b.turns.get(id); err != nil {
			return err
		}
	}
	switch {
	case own != nil && named != nil && own.id != named.id:
		_, err = b.merge(s, own, named)
		return err
	case own == nil && named != nil:
		b.attach(named, p)
		return nil
	case own == nil:
		if own, err = b.newTurn(s); err != nil {
			return err
		}
		b.attach(own, p)
	}
	if name != "" && named == nil {
		b.nameTurn(s, own, name)
	}
	return nil
}

func (b *batch) attach(t *turn, p *prompt) {
	p.turn = t.id
	t.prompts = append(t.prompts, p.id)
	if t.prompt == 0 && !p.queuedOnly {
		t.prompt, t.number, t.private = p.id, p.number, p.private
	}
	b.changedTurn(t)
}

// queuedUp follows the host's input queue. What is taken out of it undelivered
// is a prompt that may appear nowhere else.
func (b *batch) queuedUp(s *session, c int, f *event.Fact, body *event.PromptQueued) error {
	switch body.Op {
	case "enqueue":
		s.queue = append(s.queue, queued{
			text: head(body.Text, maxText), hash: hash64(normal(body.Text)), time: nanos(f.Time), position: b.position,
		})
		return nil
	case "popAll":
		s.queue = nil
		return nil
	}
	if len(s.queue) == 0 {
		return nil
	}
	n := 0
	if h := hash64(normal(body.Text)); body.Text != "" {
		n = max(0, slices.IndexFunc(s.queue, func(q queued) bool { return q.hash == h }))
	}
	q := s.queue[n]
	s.queue = slices.Delete(s.queue, n, n+1)
	if body.Op != "remove" {
		return nil // dequeued: the prompt itself follows
	}
	return b.onlyQueued(s, c, &q)
}

// onlyQueued keeps a text from the queue, once, unless it is a prompt's.
func (b *batch) onlyQueued(s *session, c int, q *queued) error {
	said := strings.TrimSpace(q.text)
	if said == "" || strings.ContainsAny(said[:1], "/<{") {
		return nil
	}
	for _, name := range []hash{b.promptText(s, q.hash), b.queuedName(s, q.hash)} {
		if len(b.names.get(name)) > 0 {
			return nil
		}
	}
	t, err := b.liveTurn(s, c)
	if err == nil && t == nil {
		t, err = b.zeroTurn(s)
	}
	if err != nil {
		return err
	}
	p := &prompt{
		id: b.next(PromptDoc), session: s.no, position: b.position, number: t.number,
		text: q.text, rank: fromQueue, time: q.time, timeRank: fromQueue, queuedOnly: true,
	}
	b.prompts.put(p.id, p)
	b.names.put(b.queuedName(s, q.hash), reference(p.id))
	s.n.queuedOnly++
	b.attach(t, p)
	b.changedPrompt(p)
	return nil
}
