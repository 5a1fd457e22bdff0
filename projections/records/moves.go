package records

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"path"
	"strings"

	"cmem/streams/event"
)

// place is what an envelope's origin says of its project.
type place struct {
	key, name, path, parent string
	cwd, branch             string
	guessed                 bool // the name is the key's, nothing better is known
}

// readOrigin reads the JSON that capture put there; what it cannot read names no
// project.
func readOrigin(origin string) (place, bool) {
	var o struct {
		Key, Cwd, Root, Branch, Remote, Main, Name, Worktree, Parent, Scope string
	}
	if json.Unmarshal([]byte(origin), &o) != nil {
		return place{}, false
	}
	p := place{key: o.Key, name: o.Name, path: slashed(o.Main), parent: o.Parent, cwd: o.Cwd, branch: o.Branch}
	if p.path == "" {
		p.path = slashed(firstOf(o.Root, o.Cwd))
	}
	if p.key == "" {
		p.key = firstOf(o.Scope, o.Remote, o.Main, o.Root, o.Cwd)
	}
	if p.name == "" || o.Scope != "" {
		p.name = firstOf(o.Scope, path.Base(strings.TrimRight(p.path, "/")))
	}
	return p, p.key != ""
}

func firstOf(all ...string) string {
	for _, s := range all {
		if s != "" {
			return s
		}
	}
	return ""
}

// sited gives a session the project of its first origin; later ones, when the
// folder changes, do not move it.
func (b *batch) sited(s *session, origin string) error {
	p, known := b.places[origin]
	if !known {
		p, _ = readOrigin(origin)
		b.places[origin] = p
	}
	b.sessions.edit(s.no)
	if p.branch != "" {
		s.branch = p.branch
	}
	if s.cwd == "" {
		s.cwd = p.cwd
	}
	if p.key == "" || s.project != 0 || s.pinned {
		return nil
	}
	no, err := b.project(p)
	if err != nil {
		return err
	}
	return b.moveSession(s, no)
}

func projectName(key string) hash { return hashOf("project", key) }

// project gives the number of the project, made at first sight; one that was
// moved is the one it was moved to.
func (b *batch) project(p place) (uint64, error) {
	no, err := referred(b.names.get(projectName(p.key)))
	if err != nil {
		return 0, err
	}
	if no == 0 {
		return b.newProject(p)
	}
	if err := b.nameProject(no, p); err != nil {
		return 0, err
	}
	for range 100 { // moves may follow each other, never in a circle
		x, err := b.projects.get(no)
		if err != nil || x == nil || x.to == 0 {
			return no, err
		}
		no = x.to
	}
	return no, nil
}

func (b *batch) newProject(p place) (uint64, error) {
	b.totals.Projects++
	x := &project{no: b.totals.Projects, key: p.key, name: p.name, path: p.path, guessed: p.guessed}
	b.projects.put(x.no, x)
	b.names.put(projectName(p.key), reference(x.no))
	if p.parent != "" && p.parent != p.key {
		parent, err := b.projectGiven(p.parent)
		if err != nil {
			return 0, err
		}
		x.parent = parent
	}
	return x.no, nil
}

func (b *batch) projectKey(no uint64) string {
	p, err := b.projects.get(no)
	if p == nil || err != nil {
		return ""
	}
	return p.key
}

// movedProject: a person said that a session, or all of a project, belongs to
// another.
func (b *batch) movedProject(f *event.Fact, body *event.ProjectMoved) error {
	if body.To == "" {
		return nil
	}
	to, err := b.projectGiven(body.To)
	if err != nil {
		return err
	}
	if body.Session != "" {
		s, err := b.session(anyHost(f.Host), body.Session)
		if err != nil {
			return err
		}
		s.pinned = true
		return b.moveSession(s, to)
	}
	from, err := referred(b.names.get(projectName(body.From)))
	if from == 0 || from == to || err != nil {
		return err
	}
	return b.moveProject(from, to)
}

// anyHost: a person's word names a session, not a host.
func anyHost(host string) string {
	if host == worker {
		return ""
	}
	return host
}

// projectGiven is the project a person named by key, or a new one. Whoever
// appends the event has made a key of the name.
func (b *batch) projectGiven(key string) (uint64, error) {
	return b.project(place{key: key, name: path.Base(slashed(key)), path: slashed(key), guessed: true})
}

// projectOfNote is the project that a note is given to; its origin, where it has
// one, knows the name.
func (b *batch) projectOfNote(key string) (uint64, error) {
	if p, ok := readOrigin(b.envelope.Origin); ok && p.key == key {
		return b.project(p)
	}
	return b.projectGiven(key)
}

// nameProject gives a project that only its key was known of its name.
func (b *batch) nameProject(no uint64, p place) error {
	x, err := b.projects.get(no)
	if err != nil || x == nil || !x.guessed || p.guessed {
		return err
	}
	x.name, x.path, x.guessed = p.name, p.path, false
	b.projects.edit(no)
	return nil
}

func (b *batch) moveProject(from, to uint64) error {
	for no, p := range map[uint64]uint64{from: to, to: 0} {
		x, err := b.projects.get(no)
		if err != nil || x == nil {
			return err
		}
		x.to = p
		b.projects.edit(no)
	}
	for no := uint64(1); no <= b.totals.Sessions; no++ {
		s, err := b.sessions.get(no)
		if err != nil {
			return err
		}
		if s == nil || s.project != from {
			continue
		}
		if err := b.moveSession(s, to); err != nil {
			return err
		}
	}
	return b.moveNotes(from, to)
}

// moveNotes moves observations that belong to no session.
func (b *batch) moveNotes(from, to uint64) error {
	var ids []uint64
	prefix := listKey(kindObservation, from, 0)[:5]
	c := b.tx.Bucket(bLists).Cursor()
	for k, _ := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); k, _ = c.Next() {
		ids = append(ids, binary.BigEndian.Uint64(k[5:]))
	}
	for _, id := range append(ids, b.observations.changed()...) {
		o, err := b.observations.get(id)
		if err != nil {
			return err
		}
		if o != nil && o.session == 0 && o.home == from {
			o.home = to
			b.observations.edit(id)
			b.mark(ObservationDoc, id)
		}
	}
	return nil
}

// moveSession moves a session with all it has. Rules see the project's key, so
// they run again.
func (b *batch) moveSession(s *session, to uint64) error {
	if s.project == to {
		return nil
	}
	s.moved, s.project = s.project, to
	b.sessions.edit(s.no)
	for _, id := range s.notes {
		if _, err := b.observations.get(id); err != nil {
			return err
		}
		b.observations.edit(id)
		b.mark(ObservationDoc, id)
	}
	for _, id := range turnsOf(b.tx, s.no) {
		t, err := b.turns.get(id)
		if err != nil {
			return err
		}
		if t == nil {
			continue
		}
		if err := b.moveTurn(t); err != nil {
			return err
		}
	}
	return nil
}

func (b *batch) moveTurn(t *turn) error {
	b.changedTurn(t)
	for _, id := range t.prompts {
		b.mark(PromptDoc, id)
		if _, err := b.prompts.get(id); err != nil {
			return err
		}
		b.prompts.edit(id)
	}
	for _, st := range t.steps {
		if err := b.moveListed(st); err != nil {
			return err
		}
	}
	for i := range t.made {
		id := base(t) + i
		if _, err := b.observations.get(id); err != nil {
			return err
		}
		b.observations.edit(id)
		b.mark(ObservationDoc, id)
	}
	if t.summary {
		if _, err := b.summaries.get(base(t)); err != nil {
			return err
		}
		b.summaries.edit(base(t))
		b.mark(SummaryDoc, base(t))
	}
	return nil
}

// moveListed has a step listed again.
func (b *batch) moveListed(st step) error {
	if st.text {
		if _, err := b.texts.get(st.id); err != nil {
			return err
		}
		b.texts.edit(st.id)
		b.mark(TextDoc, st.id)
		return nil
	}
	if _, err := b.tools.get(st.id); err != nil {
		return err
	}
	b.tools.edit(st.id)
	return nil
}

// saved keeps a person's note as an observation of the session's project, or of
// the one named.
func (b *batch) saved(f *event.Fact, body *event.MemorySaved) error {
	o := &observation{
		id: b.next(ObservationDoc), position: b.position, origin: originPerson, time: nanos(f.Time),
		Observation: event.Observation{
			Type: "note", Title: head(body.Title, maxSide), Narrative: head(body.Text, maxText), FactKeys: keysOf(f.Key),
		},
	}
	if o.Title == "" {
		line, _, _ := strings.Cut(strings.TrimSpace(body.Text), "\n")
		o.Title = head(line, 120)
	}
	if body.Project != "" {
		no, err := b.projectOfNote(body.Project)
		if err != nil {
			return err
		}
		o.home = no
	} else if s, err := b.sessionOfFact(f); err != nil {
		return err
	} else if s != nil {
		o.session = s.no
		s.notes = append(s.notes, o.id)
		b.sessions.edit(s.no)
	}
	b.observations.put(o.id, o)
	b.mark(ObservationDoc, o.id)
	return nil
}

func keysOf(key string) []string {
	if key == "" {
		return nil
	}
	return []string{key}
}
