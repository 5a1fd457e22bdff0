package records

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
)

// kind is a document's letter in keys.
type kind byte

const (
	kindSession     kind = 's'
	kindPrompt      kind = 'p'
	kindText        kind = 'x'
	kindTool        kind = 'u'
	kindTurn        kind = 't'
	kindObservation kind = 'o'
	kindSummary     kind = 'm'
)

var kindOf = map[DocKind]kind{
	PromptDoc: kindPrompt, TextDoc: kindText, TurnDoc: kindTurn,
	ObservationDoc: kindObservation, SummaryDoc: kindSummary,
}

var docKindOf = map[kind]DocKind{
	kindPrompt: PromptDoc, kindText: TextDoc, kindTurn: TurnDoc,
	kindObservation: ObservationDoc, kindSummary: SummaryDoc,
}

// change is what a batch did to a document. Only the latest change of a document
// is kept, so that the list of them does not grow with the log.
type change struct {
	at      uint64
	deleted bool
	project uint64 // of a deleted one
	before  uint64 // position of the change that is in the list now, 0 none
}

func (b *batch) mark(k DocKind, id uint64) { b.markAt(k, id, b.position) }

func (b *batch) markAt(k DocKind, id uint64, at uint64) {
	d := Doc{Kind: k, ID: int64(id)}
	c := b.changes[d]
	c.at, c.deleted = max(c.at, at), false
	b.changes[d] = c
}

func (b *batch) markGone(k DocKind, id, at uint64, l *listing, session uint64) {
	d := Doc{Kind: k, ID: int64(id)}
	c := b.changes[d]
	c.at, c.deleted = max(c.at, at), true
	if l.project > 0 {
		c.project = l.project - 1
	} else if s, err := b.sessions.get(session); err == nil && s != nil {
		c.project = s.project
	}
	c.before = max(c.before, l.changed)
	b.changes[d] = c
}

// flush runs the rules that wait and writes everything.
func (b *batch) flush() error {
	if err := b.runAll(); err != nil {
		return err
	}
	if err := b.relist(); err != nil {
		return err
	}
	if err := b.writeChanges(); err != nil {
		return err
	}
	if err := b.writeTables(); err != nil {
		return err
	}
	return errors.Join(b.ids.flush(), b.names.flush(), b.occurrences.flush(), writeTotals(b.tx, b.totals))
}

func (b *batch) writeTables() error {
	var buf []byte
	var err error
	for _, flush := range []func([]byte) ([]byte, error){
		b.sessions.flush, b.projects.flush, b.agents.flush, b.turns.flush, b.prompts.flush,
		b.texts.flush, b.tools.flush, b.observations.flush, b.summaries.flush,
	} {
		if buf, err = flush(buf); err != nil {
			return err
		}
	}
	return nil
}

// writeChanges moves each changed document to its new place in the list.
func (b *batch) writeChanges() error {
	docs := make([]Doc, 0, len(b.changes))
	for d := range b.changes {
		docs = append(docs, d)
	}
	slices.SortFunc(docs, func(x, y Doc) int {
		return cmp.Or(cmp.Compare(b.changes[x].at, b.changes[y].at), cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.ID, y.ID))
	})
	for _, d := range docs {
		if err := b.writeChange(d, b.changes[d]); err != nil {
			return err
		}
	}
	return nil
}

func (b *batch) writeChange(d Doc, c change) error {
	id := uint64(d.ID)
	l, session, err := b.listingOf(d.Kind, id)
	if err != nil {
		return err
	}
	list, gone := b.tx.Bucket(bChanges), b.tx.Bucket(bGone)
	before := c.before
	if l != nil {
		before = l.changed
	}
	goneKey := docKey(kindOf[d.Kind], id)
	if raw := gone.Get(goneKey); len(raw) == 8 {
		before = binary.BigEndian.Uint64(raw)
		if err := gone.Delete(goneKey); err != nil {
			return err
		}
	}
	if before != 0 {
		if err := list.Delete(changeKey(before, kindOf[d.Kind], id)); err != nil {
			return err
		}
	}
	value := changeValue{project: c.project, deleted: l == nil}
	if l != nil {
		l.changed = c.at
		value.project = b.homeOf(l, session)
		if session != nil {
			value.from = session.moved
		}
	} else if err := gone.Put(goneKey, key64(c.at)); err != nil {
		return err
	}
	return list.Put(changeKey(c.at, kindOf[d.Kind], id), appendValue(nil, &value))
}

// homeOf is the project a document is of.
func (b *batch) homeOf(l *listing, s *session) uint64 {
	if l.project > 0 {
		return l.project - 1
	}
	if s != nil {
		return s.project
	}
	return 0
}

// listingOf gives the listing of a document and its session; nil if it is gone.
func (b *batch) listingOf(k DocKind, id uint64) (*listing, *session, error) {
	var l *listing
	var no uint64
	var err error
	switch k {
	case PromptDoc:
		var p *prompt
		if p, err = b.prompts.get(id); p != nil {
			b.prompts.edit(id)
			l, no = &p.listing, p.session
		}
	case TextDoc:
		var x *text
		if x, err = b.texts.get(id); x != nil {
			b.texts.edit(id)
			l, no = &x.listing, x.session
		}
	case TurnDoc:
		var t *turn
		if t, err = b.turns.get(id); t != nil {
			b.turns.edit(id)
			l, no = &t.listing, t.session
		}
	case ObservationDoc:
		var o *observation
		if o, err = b.observations.get(id); o != nil {
			b.observations.edit(id)
			l, no = &o.listing, o.session
		}
	case SummaryDoc:
		var m *summary
		if m, err = b.summaries.get(id); m != nil {
			b.summaries.edit(id)
			l, no = &m.listing, m.session
		}
	}
	if l == nil || err != nil {
		return nil, nil, err
	}
	s, err := b.sessions.get(no)
	return l, s, err
}

func docKey(k kind, id uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{byte(k)}, id)
}

func changeKey(at uint64, k kind, id uint64) []byte {
	out := binary.BigEndian.AppendUint64(make([]byte, 0, 17), at)
	return append(out, docKey(k, id)...)
}

type changeValue struct {
	project, from uint64
	deleted       bool
}

func (v *changeValue) code(c *coder) {
	c.u64(&v.project)
	c.u64(&v.from)
	c.bool(&v.deleted)
}
