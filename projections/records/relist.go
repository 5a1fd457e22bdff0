package records

import (
	"bytes"
	"encoding/binary"
	"path"
	"strings"

	bolt "go.etcd.io/bbolt"
)

// listKey sorts a project's documents of a kind by id.
func listKey(k kind, project, id uint64) []byte {
	out := append(make([]byte, 0, 13), byte(k))
	out = binary.BigEndian.AppendUint32(out, uint32(project))
	return binary.BigEndian.AppendUint64(out, id)
}

// turnKey sorts a session's turns by id.
func turnKey(session, id uint64) []byte {
	return listKey('n', session, id)
}

func turnsOf(tx *bolt.Tx, session uint64) (ids []uint64) {
	prefix := turnKey(session, 0)[:5]
	c := tx.Bucket(bLists).Cursor()
	for k, _ := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); k, _ = c.Next() {
		ids = append(ids, binary.BigEndian.Uint64(k[5:]))
	}
	return ids
}

// relist brings every changed document into the list of the project it is of
// now, under the time it has now.
func (b *batch) relist() error {
	if err := b.relistSessions(); err != nil {
		return err
	}
	if err := eachChanged(b.prompts, func(p *prompt) error {
		return b.listUnder(kindPrompt, p.id, &p.listing, p.session, 0, p.time, false)
	}); err != nil {
		return err
	}
	if err := eachChanged(b.texts, func(x *text) error {
		return b.listUnder(kindText, x.id, &x.listing, x.session, 0, x.time, false)
	}); err != nil {
		return err
	}
	if err := eachChanged(b.tools, func(u *tool) error {
		return b.listUnder(kindTool, u.id, &u.listing, u.session, 0, u.time, u.ghost())
	}); err != nil {
		return err
	}
	if err := eachChanged(b.turns, func(t *turn) error {
		return b.listUnder(kindTurn, t.id, &t.listing, t.session, 0, t.span().started, t.hidden())
	}); err != nil {
		return err
	}
	return b.relistMemories()
}

func (b *batch) relistSessions() error {
	return eachChanged(b.sessions, func(s *session) error {
		return b.listUnder(kindSession, s.no, &s.listing, s.no, 0, s.span().started, false)
	})
}

// relistMemories also keeps the lists by file and concept, which hold the
// project in their keys.
func (b *batch) relistMemories() error {
	if err := eachChanged(b.observations, func(o *observation) error {
		before := o.listing
		if err := b.listUnder(kindObservation, o.id, &o.listing, o.session, o.home, o.time, false); err != nil {
			return err
		}
		if before.project != 0 && before.project != o.project {
			was := *o
			was.listing = before
			if err := b.indexObservation(&was, false); err != nil {
				return err
			}
		}
		return b.indexObservation(o, true)
	}); err != nil {
		return err
	}
	return eachChanged(b.summaries, func(m *summary) error {
		before := m.listing
		if err := b.listUnder(kindSummary, m.id, &m.listing, m.session, 0, m.time, false); err != nil {
			return err
		}
		if before.project != 0 && before.project != m.project {
			was := *m
			was.listing = before
			if err := b.indexSummary(&was, false); err != nil {
				return err
			}
		}
		return b.indexSummary(m, true)
	})
}

func eachChanged[V any, P interface {
	*V
	stored
}](t *table[V, P], do func(*V) error) error {
	for _, id := range t.changed() {
		if v := t.held[id]; v != nil {
			if err := do(v); err != nil {
				return err
			}
		}
	}
	return nil
}

// listUnder lists a document under its session's project, or home if it has no
// session; hidden ones are in no list.
func (b *batch) listUnder(k kind, id uint64, l *listing, session, home uint64, at int64, hidden bool) error {
	want := home + 1
	if session != 0 {
		s, err := b.sessions.get(session)
		if err != nil {
			return err
		}
		want = s.project + 1
	}
	if hidden {
		want = 0
	}
	if want == l.project && at == l.listedAt {
		return nil
	}
	by := 0
	if want != l.project {
		if err := b.unlist(k, id, l); err != nil {
			return err
		}
		by = 1
	}
	l.project, l.listedAt = want, at
	if want == 0 {
		return nil
	}
	if err := b.tally(k, want-1, by); err != nil {
		return err
	}
	return b.tx.Bucket(bLists).Put(listKey(k, want-1, id), key64(uint64(at)))
}

func (b *batch) unlist(k kind, id uint64, l *listing) error {
	if l.project == 0 {
		return nil
	}
	err := b.tx.Bucket(bLists).Delete(listKey(k, l.project-1, id))
	if err == nil {
		err = b.tally(k, l.project-1, -1)
	}
	l.project = 0
	return err
}

// tally keeps a project's totals.
func (b *batch) tally(k kind, no uint64, by int) error {
	p, err := b.projects.get(no)
	if p == nil || err != nil {
		return err
	}
	switch k {
	case kindObservation:
		p.observations += by
	case kindSession:
		p.sessions += by
	case kindPrompt:
		p.prompts += by
	case kindSummary:
		p.summaries += by
	}
	b.projects.edit(no)
	return nil
}

// The lists of memories by what they are about.
const (
	byFile    = 'f'
	byFolder  = 'd'
	byConcept = 'c'
)

// aboutKey sorts a project's memories of one name by kind and id.
func aboutKey(what byte, project uint64, name string, k kind, id uint64) []byte {
	out := append(make([]byte, 0, 22), what)
	out = binary.BigEndian.AppendUint32(out, uint32(project))
	out = binary.BigEndian.AppendUint64(out, hash64(name))
	return append(out, docKey(k, id)...)
}

func (b *batch) indexObservation(o *observation, put bool) error {
	if o.project == 0 {
		return nil
	}
	files := append(append([]string{}, o.FilesRead...), o.FilesModified...)
	if err := b.indexFiles(kindObservation, o.id, o.project-1, files, put); err != nil {
		return err
	}
	for _, c := range o.Concepts {
		if err := b.index(aboutKey(byConcept, o.project-1, c, kindObservation, o.id), put); err != nil {
			return err
		}
	}
	return nil
}

func (b *batch) indexSummary(m *summary, put bool) error {
	if m.project == 0 {
		return nil
	}
	files := append(append([]string{}, m.FilesRead...), m.FilesModified...)
	return b.indexFiles(kindSummary, m.id, m.project-1, files, put)
}

func (b *batch) indexFiles(k kind, id, project uint64, files []string, put bool) error {
	for _, f := range files {
		dir, name := path.Split(slashed(f))
		folder := path.Base(strings.TrimSuffix(dir, "/"))
		if err := b.index(aboutKey(byFile, project, name, k, id), put); err != nil {
			return err
		}
		if err := b.index(aboutKey(byFolder, project, folder, k, id), put); err != nil {
			return err
		}
	}
	return nil
}

func (b *batch) index(key []byte, put bool) error {
	if put {
		return b.tx.Bucket(bLists).Put(key, nil)
	}
	return b.tx.Bucket(bLists).Delete(key)
}

// slashed is a path with forward slashes only.
func slashed(p string) string { return strings.ReplaceAll(p, `\`, "/") }
