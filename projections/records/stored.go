package records

import (
	"cmem/streams/event"
)

// The stored shapes. They are not the shapes readers see (types.go): those are
// joined from these. References are internal numbers; ids that readers see are
// first position × 1024 + ordinal.

// head of each document: the position of its latest change, at a fixed place,
// because it depends on how events were batched and a digest leaves it out; and
// under which project and time it is listed now (0 nowhere).
type listing struct {
	changed  uint64
	project  uint64 // number + 1
	listedAt int64
}

func (l *listing) code(c *coder) {
	c.fixed(&l.changed)
	c.u64(&l.project)
	c.i64(&l.listedAt)
}

// side is one channel's view of a session or turn: each channel tells its facts
// in order, so that what is kept by side does not depend on how channels mix.
type side struct {
	first, last int64 // source times of its first and last fact
	state       uint8
}

// The states of a side.
const (
	unseen uint8 = iota
	open
	closed
)

func (s *side) code(c *coder) {
	c.i64(&s.first)
	c.i64(&s.last)
	c.byte(&s.state)
}

func (s *side) saw(t int64) {
	if t == 0 {
		return
	}
	if s.first == 0 {
		s.first = t
	}
	s.last = t
}

// The sides.
const (
	hookSide = iota
	fileSide // the transcript
	sides
)

// session is keyed by its number, given in order of appearance.
type session struct {
	listing
	id, no, position uint64
	key, host        string
	project          uint64 // number; 0 is not known
	moved            uint64 // project it was in before, 0 none
	pinned           bool   // a person moved it: origins no longer count
	parent, shared   string
	forks            []uint64
	side             [sides]side // state: closed = ended
	seen             int64
	cwd, branch      string
	model, file      string
	cur              [sides]uint64   // the side's current turn
	open             [sides][]uint64 // turns that the side has open
	zero             uint64          // the turn before any prompt
	prompts          uint64          // given numbers so far
	n                counts
	interrupts       [sides]int
	compactions      [sides]int
	queue            []queued
	agents           []string // names; number = index + 1
	current          uint64   // newest summary
	notes            []uint64 // a person's
}

type queued struct {
	text     string
	hash     uint64
	time     int64
	position uint64
}

func (q *queued) code(c *coder) {
	c.str(&q.text)
	c.u64(&q.hash)
	c.i64(&q.time)
	c.u64(&q.position)
}

func (s *session) code(c *coder) {
	s.listing.code(c)
	c.u64(&s.id)
	c.u64(&s.no)
	c.u64(&s.position)
	c.str(&s.key)
	c.str(&s.host)
	c.u64(&s.project)
	c.u64(&s.moved)
	c.bool(&s.pinned)
	c.str(&s.parent)
	c.str(&s.shared)
	c.u64s(&s.forks)
	for i := range sides {
		s.side[i].code(c)
		c.u64(&s.cur[i])
		c.u64s(&s.open[i])
		c.num(&s.interrupts[i])
		c.num(&s.compactions[i])
	}
	c.i64(&s.seen)
	c.str(&s.cwd)
	c.str(&s.branch)
	c.str(&s.model)
	c.str(&s.file)
	c.u64(&s.zero)
	c.u64(&s.prompts)
	s.n.code(c)
	list(c, &s.queue, func(c *coder, q *queued) { q.code(c) })
	c.strs(&s.agents)
	c.u64(&s.current)
	c.u64s(&s.notes)
}

// counts are a session's totals, as sums of what its documents contribute.
type counts struct {
	prompts, queuedOnly, commands, toolUses, paired, unpaired int
	orphans, toolErrors, nested, containers, sidechain, texts int
}

func (n *counts) fields() [12]*int {
	return [...]*int{
		&n.prompts, &n.queuedOnly, &n.commands, &n.toolUses, &n.paired, &n.unpaired,
		&n.orphans, &n.toolErrors, &n.nested, &n.containers, &n.sidechain, &n.texts,
	}
}

func (n *counts) code(c *coder) {
	for _, f := range n.fields() {
		c.num(f)
	}
}

// move takes off what a document contributed and adds what it does now.
func (n *counts) move(before, after counts) {
	was, is := before.fields(), after.fields()
	for i, f := range n.fields() {
		*f += *is[i] - *was[i]
	}
}

// agent is keyed by session number << 20 | its number in the session.
type agent struct {
	id, session uint64
	name, typ   string
	parent      uint64   // tool that started it, 0 not known
	steps       []uint64 // its steps: tool id << 1, text id << 1 | 1
}

func (a *agent) code(c *coder) {
	c.u64(&a.id)
	c.u64(&a.session)
	c.str(&a.name)
	c.str(&a.typ)
	c.u64(&a.parent)
	c.u64s(&a.steps)
}

// turn is keyed by its id.
type turn struct {
	listing
	id, session, position uint64
	name                  string // the host's turn id
	prompt                uint64
	prompts               []uint64 // all, with queued ones
	number                uint64
	private, interrupted  bool
	side                  [sides]side
	steps                 []step
	said                  []uint64 // hashes of last texts the hook told
	made                  uint64   // rules observations stored
	summary               bool     // a rules summary is stored
}

// step is one tool use or text. at is where each side told it first, 0 not.
type step struct {
	id   uint64
	text bool
	at   [sides]uint64
}

func (s *step) code(c *coder) {
	c.u64(&s.id)
	c.bool(&s.text)
	c.u64(&s.at[hookSide])
	c.u64(&s.at[fileSide])
}

func (t *turn) code(c *coder) {
	t.listing.code(c)
	c.u64(&t.id)
	c.u64(&t.session)
	c.u64(&t.position)
	c.str(&t.name)
	c.u64(&t.prompt)
	c.u64s(&t.prompts)
	c.u64(&t.number)
	c.bool(&t.private)
	c.bool(&t.interrupted)
	for i := range sides {
		t.side[i].code(c)
	}
	list(c, &t.steps, func(c *coder, s *step) { s.code(c) })
	c.u64s(&t.said)
	c.u64(&t.made)
	c.bool(&t.summary)
}

func (t *turn) isClosed() bool {
	return t.side[hookSide].state == closed || t.side[fileSide].state == closed
}

// hidden: everything in it turned out to belong elsewhere.
func (t *turn) hidden() bool { return len(t.prompts) == 0 && len(t.steps) == 0 }

// prompt is keyed by its id.
type prompt struct {
	listing
	id, session, position, turn, number uint64
	key, alt                            string // the host's name; the name by text and occurrence
	text                                string
	rank, timeRank                      uint8 // of text and time: 0 queue, 1 transcript, 2 hook
	private, queuedOnly                 bool
	images                              int
	time                                int64
	seen                                [sides]bool
}

func (p *prompt) code(c *coder) {
	p.listing.code(c)
	c.u64(&p.id)
	c.u64(&p.session)
	c.u64(&p.position)
	c.u64(&p.turn)
	c.u64(&p.number)
	c.str(&p.key)
	c.str(&p.alt)
	c.str(&p.text)
	c.byte(&p.rank)
	c.byte(&p.timeRank)
	c.bool(&p.private)
	c.bool(&p.queuedOnly)
	c.num(&p.images)
	c.i64(&p.time)
	c.bool(&p.seen[hookSide])
	c.bool(&p.seen[fileSide])
}

func (p *prompt) contribution() counts {
	if p.queuedOnly {
		return counts{queuedOnly: 1}
	}
	return counts{prompts: 1}
}

// text is keyed by its id.
type text struct {
	listing
	id, session, position, turn uint64
	agent                       uint64
	key, text                   string
	turnRank, timeRank          uint8
	time                        int64
	at                          [sides]uint64
}

func (t *text) code(c *coder) {
	t.listing.code(c)
	c.u64(&t.id)
	c.u64(&t.session)
	c.u64(&t.position)
	c.u64(&t.turn)
	c.u64(&t.agent)
	c.str(&t.key)
	c.str(&t.text)
	c.byte(&t.turnRank)
	c.byte(&t.timeRank)
	c.i64(&t.time)
	c.u64(&t.at[hookSide])
	c.u64(&t.at[fileSide])
}

// observation is keyed by its id.
type observation struct {
	listing
	id, session, position, turn uint64
	home                        uint64 // project of one that has no session
	agent                       uint64
	origin                      string
	time                        int64
	event.Observation
}

func (o *observation) code(c *coder) {
	o.listing.code(c)
	c.u64(&o.id)
	c.u64(&o.session)
	c.u64(&o.position)
	c.u64(&o.turn)
	c.u64(&o.home)
	c.u64(&o.agent)
	c.str(&o.origin)
	c.i64(&o.time)
	c.str(&o.Rule)
	c.str(&o.Type)
	c.str(&o.Title)
	c.str(&o.Subtitle)
	c.strs(&o.Facts)
	c.str(&o.Narrative)
	c.strs(&o.Concepts)
	c.strs(&o.FilesRead)
	c.strs(&o.FilesModified)
	c.num(&o.PromptNumber)
	c.strs(&o.FactKeys)
}

// summary is keyed by its id.
type summary struct {
	listing
	id, session, position, turn uint64
	origin                      string
	time                        int64
	event.Summary
}

func (s *summary) code(c *coder) {
	s.listing.code(c)
	c.u64(&s.id)
	c.u64(&s.session)
	c.u64(&s.position)
	c.u64(&s.turn)
	c.str(&s.origin)
	c.i64(&s.time)
	c.str(&s.Request)
	c.str(&s.Investigated)
	c.str(&s.Learned)
	c.str(&s.Completed)
	c.str(&s.NextSteps)
	c.strs(&s.FilesRead)
	c.strs(&s.FilesModified)
	c.num(&s.PromptNumber)
}

// project is keyed by its number, given in order of appearance.
type project struct {
	no                                         uint64
	key, name, path                            string // path: tells equal names apart
	parent                                     uint64
	to                                         uint64 // it was moved there
	observations, sessions, prompts, summaries int
	last                                       int64
	guessed                                    bool // name and path are the key's
}

func (p *project) code(c *coder) {
	c.u64(&p.no)
	c.str(&p.key)
	c.str(&p.name)
	c.str(&p.path)
	c.u64(&p.parent)
	c.u64(&p.to)
	c.num(&p.observations)
	c.num(&p.sessions)
	c.num(&p.prompts)
	c.num(&p.summaries)
	c.i64(&p.last)
	c.bool(&p.guessed)
}
