package records

import "cmem/streams/event"

// The fields of a tool use that are merged on their own. Each remembers the rank
// of the source its value came from; a higher rank replaces it, an equal or
// lower one fills a blank. So the result does not depend on the order of
// channels, and within one channel the first word counts.
const (
	fName = iota // with the action
	fInput
	fCommand
	fQuery
	fReads
	fWrites
	fEdits
	fNote
	fOutcome
	fExit
	fError
	fDuration
	fTime
	fEnd
	fAgent
	fTurn
	fieldCount
)

// tool is keyed by its id.
type tool struct {
	listing
	id, session, turn    uint64
	position, returned   uint64
	agent, parent        uint64 // parent: tool that started the agent
	key                  string // shown; the transcript's where it has one
	keyRank              uint8
	keys                 []string // all
	alts                 []altName
	rank                 [fieldCount + fieldCount%2]uint8
	told                 uint8 // what was heard: see below
	tool                 event.Tool
	outcome              event.Outcome
	exit                 *int
	output, error        string
	size                 int // of the whole output
	cut                  bool
	outputRank           uint8
	duration, time, end  int64
	clock                bool
	timeSide, endSide    uint8
	at                   [sides]uint64
	children             []uint64 // agents it started
	plain, nested, wraps bool     // told as itself; told by a progress record; a container
}

// What was heard of a tool use.
const (
	hookCall uint8 = 1 << iota
	hookReturn
	fileCall
	fileReturn
)

// altName is a tool use's name by content and occurrence: the n-th, from 0.
type altName struct {
	hash hash
	n    uint64
}

func (a *altName) code(c *coder) {
	for i := range a.hash {
		c.byte(&a.hash[i])
	}
	c.u64(&a.n)
}

func (t *tool) code(c *coder) {
	t.listing.code(c)
	c.u64(&t.id)
	c.u64(&t.session)
	c.u64(&t.turn)
	c.u64(&t.position)
	c.u64(&t.returned)
	c.u64(&t.agent)
	c.u64(&t.parent)
	c.str(&t.key)
	c.byte(&t.keyRank)
	c.strs(&t.keys)
	list(c, &t.alts, func(c *coder, a *altName) { a.code(c) })
	for i := 0; i < len(t.rank); i += 2 {
		pair := t.rank[i]<<4 | t.rank[i+1]
		c.byte(&pair)
		t.rank[i], t.rank[i+1] = pair>>4, pair&15
	}
	c.byte(&t.told)
	word(c, &t.tool.Name)
	word(c, &t.tool.Action)
	c.str(&t.tool.Input)
	c.str(&t.tool.Command)
	c.str(&t.tool.Query)
	c.strs(&t.tool.Reads)
	c.strs(&t.tool.Writes)
	list(c, &t.tool.Edits, func(c *coder, e *event.Change) {
		c.str(&e.Path)
		c.str(&e.Old)
		c.str(&e.New)
	})
	c.str(&t.tool.Note)
	word(c, &t.outcome)
	t.codeExit(c)
	c.str(&t.output)
	c.str(&t.error)
	c.num(&t.size)
	c.byte(&t.outputRank)
	c.i64(&t.duration)
	c.i64(&t.time)
	c.i64(&t.end)
	c.byte(&t.timeSide)
	c.byte(&t.endSide)
	c.u64(&t.at[hookSide])
	c.u64(&t.at[fileSide])
	c.u64s(&t.children)
	t.codeFlags(c)
}

func (t *tool) codeExit(c *coder) {
	known := t.exit != nil
	c.bool(&known)
	if !known {
		return
	}
	if t.exit == nil {
		t.exit = new(int)
	}
	c.num(t.exit)
}

func (t *tool) codeFlags(c *coder) {
	flags := [...]*bool{&t.cut, &t.clock, &t.plain, &t.nested, &t.wraps}
	var b uint8
	for i, f := range flags {
		if *f {
			b |= 1 << i
		}
	}
	c.byte(&b)
	for i, f := range flags {
		*f = b&(1<<i) != 0
	}
}

// called: the call is known, by itself or from an end that repeats it.
func (t *tool) called() bool {
	return t.told&(hookCall|fileCall) != 0 || t.tool.Name != ""
}

func (t *tool) ended() bool { return t.told&(hookReturn|fileReturn) != 0 }

// ghost: nothing was heard of it but that it started an agent.
func (t *tool) ghost() bool { return t.told == 0 }

// contribution is what the tool use adds to its session's counts. Containers
// and calls told only inside a parent's progress are counted apart.
func (t *tool) contribution() (n counts) {
	if t.nested {
		n.nested = 1
	}
	switch {
	case t.ghost():
	case t.wraps:
		n.containers = 1
	case !t.plain:
	case !t.called():
		n.orphans = 1
	case t.ended():
		n.toolUses, n.paired = 1, 1
		if t.outcome == event.Failed || t.outcome == event.Refused || t.outcome == event.Interrupted {
			n.toolErrors = 1
		}
	default:
		n.toolUses, n.unpaired = 1, 1
	}
	return n
}
