package records

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"cmem/projections"
	"cmem/streams"
	"cmem/streams/envelope"
	"cmem/streams/event"
)

// maxFacts is how many facts of one envelope get ids of their own; more are
// counted as dropped. No host comes near.
const maxFacts = 1000

// Apply folds batch and moves the checkpoint to upto, in one transaction. What
// a record leaves the same in a batch of its own, it leaves the same here. A
// panic of Rules is an error that names the turn.
func (s *Store) Apply(batch []projections.Entry, upto streams.Checkpoint) error {
	err := s.update(func(tx *bolt.Tx) error {
		at, err := readCheckpoint(tx)
		if err != nil {
			return err
		}
		if err := sameLog(at.Log, upto.Log); err != nil {
			return err
		}
		b, err := newBatch(s, tx)
		if err != nil {
			return err
		}
		for i := range batch {
			if err := b.entry(&batch[i]); err != nil {
				return fmt.Errorf("position %d, %s %q: %w", batch[i].Record.Position, batch[i].Record.Envelope.Type, batch[i].Record.Envelope.ID, err)
			}
		}
		if err := b.flush(); err != nil {
			return err
		}
		return writeCheckpoint(tx, upto)
	})
	if err != nil {
		return err
	}
	s.announce()
	return nil
}

// update runs one write transaction. A panic inside leaves nothing of it and is
// an error, ErrDamaged if it came from the file: a fault of mapped memory, or a
// page that is not what bbolt expects. The stack goes to the log.
func (s *Store) update(do func(tx *bolt.Tx) error) (err error) {
	before := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(before)
		r := recover()
		if r == nil {
			return
		}
		s.c.Logger.Error("a write panicked", "model", "records", "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
		if err = fmt.Errorf("panic: %v", r); ofTheFile(r) {
			s.broken.Store(true)
			err = fmt.Errorf("%w: %v", ErrDamaged, r)
		}
	}()
	err = s.db.Update(do)
	if errors.Is(err, bolterrors.ErrDatabaseNotOpen) {
		return ErrClosed
	}
	return err
}

// ofTheFile says, while a deferred function handles the panic r, that it came
// from a mapped page or from bbolt's own reading of one.
func ofTheFile(r any) bool {
	if _, fault := r.(interface{ Addr() uintptr }); fault {
		return true
	}
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(0, pcs[:])])
	for panicked := false; ; {
		f, more := frames.Next()
		switch {
		case f.Function == "runtime.gopanic":
			panicked = true
		case panicked && !strings.HasPrefix(f.Function, "runtime."):
			return strings.HasPrefix(f.Function, "go.etcd.io/bbolt")
		}
		if !more {
			return false
		}
	}
}

// batch is the reducer over one transaction: what it has read and changed is in
// memory until flush.
type batch struct {
	store *Store
	tx    *bolt.Tx

	sessions     *table[session, *session]
	projects     *table[project, *project]
	agents       *table[agent, *agent]
	turns        *table[turn, *turn]
	prompts      *table[prompt, *prompt]
	texts        *table[text, *text]
	tools        *table[tool, *tool]
	observations *table[observation, *observation]
	summaries    *table[summary, *summary]

	ids, names, occurrences *hashTable
	totals                  *totals

	sessionOf map[[2]string]*session
	agentOf   map[agentName]*agent
	places    map[string]place    // decoded origins
	pending   map[uint64]uint64   // closed turns whose rules must run → position of the change
	waiting   map[uint64][]uint64 // session → its turns in pending
	opened    []uint64            // turns that the envelope being folded opened
	changes   map[Doc]change

	// of the envelope being folded
	envelope *envelope.Envelope
	position uint64
	fact     uint64 // its number in the envelope
	given    map[DocKind]uint64
	conflict string // suffix of keys: the envelope has other words under a held id
}

func newBatch(s *Store, tx *bolt.Tx) (*batch, error) {
	b := &batch{
		store: s, tx: tx,
		sessions:     newTable[session](tx.Bucket(bSessions)),
		projects:     newTable[project](tx.Bucket(bProjects)),
		agents:       newTable[agent](tx.Bucket(bAgents)),
		turns:        newTable[turn](tx.Bucket(bTurns)),
		prompts:      newTable[prompt](tx.Bucket(bPrompts)),
		texts:        newTable[text](tx.Bucket(bTexts)),
		tools:        newTable[tool](tx.Bucket(bTools)),
		observations: newTable[observation](tx.Bucket(bObservations)),
		summaries:    newTable[summary](tx.Bucket(bSummaries)),
		sessionOf:    map[[2]string]*session{},
		agentOf:      map[agentName]*agent{},
		places:       map[string]place{},
		pending:      map[uint64]uint64{},
		waiting:      map[uint64][]uint64{},
		changes:      map[Doc]change{},
		given:        map[DocKind]uint64{},
	}
	var err [4]error
	b.ids, err[0] = newHashTable(tx, pIDs)
	b.names, err[1] = newHashTable(tx, pNames)
	b.occurrences, err[2] = newHashTable(tx, pOccurrences)
	b.totals, err[3] = readTotals(tx)
	return b, errors.Join(err[:]...)
}

// entry folds one record of the log. The first envelope with an id wins; a
// second one is counted and changes nothing.
func (b *batch) entry(e *projections.Entry) error {
	env := &e.Record.Envelope
	b.envelope, b.position = env, uint64(e.Record.Position)
	clear(b.given)
	id := hashOf(env.ID)
	if done, err := b.foldedBefore(id); done || err != nil {
		return err
	}
	s, err := b.session(env.Source, env.Subject)
	if err != nil {
		return err
	}
	b.hold(id, s)
	if err := b.captured(); err != nil {
		return err
	}
	b.count()
	if s != nil && env.Origin != "" {
		if err := b.sited(s, env.Origin); err != nil {
			return err
		}
	}
	if err := b.used(s); err != nil {
		return err
	}
	b.conflict = conflictOf(env)
	for i := range e.Facts {
		if i >= maxFacts {
			b.totals.Dropped += len(e.Facts) - i
			break
		}
		b.fact = uint64(i)
		if err := b.apply(&e.Facts[i]); err != nil {
			return fmt.Errorf("%s: %w", e.Facts[i].Body.Kind(), err)
		}
	}
	return b.runOpened()
}

// used notes when the session's project was last heard of.
func (b *batch) used(s *session) error {
	if s == nil || s.project == 0 {
		return nil
	}
	p, err := b.projects.get(s.project)
	if at := nanos(b.envelope.Time); err == nil && at > p.last {
		p.last = at
		b.projects.edit(p.no)
	}
	return err
}

func (b *batch) count() {
	t := b.totals
	t.Envelopes++
	t.Types[b.envelope.Type]++
	if at := nanos(b.envelope.Time); at != 0 {
		if t.First == 0 {
			t.First = at
		}
		t.First, t.Last = min(t.First, at), max(t.Last, at)
	}
}

// conflictOf is the suffix that ingest gives the id of an envelope whose words
// differ from those held under its id; "" for all others.
func conflictOf(e *envelope.Envelope) string {
	if e.Digest == "" {
		return ""
	}
	if suffix := "#" + e.Digest; strings.HasSuffix(e.ID, suffix) {
		return suffix
	}
	return ""
}

// apply folds one fact into its session.
func (b *batch) apply(f *event.Fact) error {
	b.totals.Kinds[string(f.Body.Kind())]++
	if done := b.counted(f.Body); done {
		return nil
	}
	switch body := f.Body.(type) {
	case event.MemorySaved:
		return b.saved(f, &body)
	case event.ProjectMoved:
		return b.movedProject(f, &body)
	case event.LogDamaged:
		return b.lost(append(body.Lost, body.Spoiled...))
	}
	s, err := b.sessionOfFact(f)
	if err != nil {
		return err
	}
	if s == nil {
		b.totals.Counted["without session:"+string(f.Body.Kind())]++
		return nil
	}
	return b.told(s, f)
}

// counted takes facts that are counted over the whole log and nothing else.
func (b *batch) counted(body event.Body) bool {
	switch f := body.(type) {
	case event.EventSkipped:
		b.totals.Skipped[f.Rule]++
	case event.Unreadable:
		b.totals.Unreadable++
	case event.Counted:
		b.totals.Counted[f.What]++
		return f.What != sidechain
	default:
		return false
	}
	return true
}

const sidechain = "sidechain_message"

// told folds a fact of a session.
func (b *batch) told(s *session, f *event.Fact) error {
	b.sessions.edit(s.no)
	if f.File != "" {
		s.file = f.File
	}
	c := sideOf(f.Channel)
	if f.Channel == event.Hook || f.Channel == event.Transcript {
		s.side[c].saw(nanos(f.Time))
		s.seen = max(s.seen, nanos(f.Time))
	}
	if err := b.beforeOpening(s, c, f); err != nil {
		return err
	}
	switch body := f.Body.(type) {
	case event.SessionStarted:
		return b.started(s, c, &body)
	case event.SessionEnded:
		return b.ended(s, c)
	case event.SessionIdled:
		return b.idled(s)
	case event.SessionForked:
		return b.forked(s, &body)
	case event.PromptSubmitted:
		return b.prompted(s, c, f, &body)
	case event.PromptQueued:
		return b.queuedUp(s, c, f, &body)
	case event.CommandRun:
		return b.commanded(s, c, &f.Header, &body)
	case event.AssistantSaid:
		return b.said(s, c, f, &body)
	case event.ToolCalled:
		return b.toolTold(s, c, f, &event.ToolReturned{Tool: body.Tool}, true)
	case event.ToolReturned:
		return b.toolTold(s, c, f, &body, false)
	case event.TurnEnded:
		return b.turnEnded(s, c, f, &body)
	case event.CompactionDone:
		s.compactions[c]++
	case event.AgentStarted:
		return b.agentTold(s, f, body.Type)
	case event.AgentEnded:
		return b.agentTold(s, f, body.Type)
	case event.Counted:
		s.n.sidechain++
	}
	// What is left (lists of tasks, forgotten memories, kinds this version does
	// not know) is counted by kind and stays in the log.
	return nil
}

func sideOf(c event.Channel) int {
	if c == event.Hook {
		return hookSide
	}
	return fileSide
}

// next gives a document's id: one for each document of a kind that an envelope
// makes.
func (b *batch) next(kind DocKind) uint64 {
	n := b.given[kind]
	b.given[kind]++
	return b.position<<10 + n
}

// order is the fact's place within its channel.
func (b *batch) order() uint64 { return b.position<<10 + b.fact }
