package records

import (
	"strings"

	bolt "go.etcd.io/bbolt"

	"cmem/streams/event"
)

// maxTurnText bounds what a turn's tool uses give a search index.
const maxTurnText = 24 << 10

// Document gives what there is to index and show of a document; false if there
// is none, or none any more. Of a turn it is its tool uses: names as the title,
// commands, queries and first error lines as facts, files as Paths.
func (s *Store) Document(d Doc) (out Document, ok bool, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		out, ok, err = newReader(tx).document(d)
		return err
	})
	return out, ok, err
}

func (r *reader) document(d Doc) (out Document, ok bool, err error) {
	id := uint64(d.ID)
	switch d.Kind {
	case PromptDoc:
		p, err := one(r, promptSource(), id)
		if p == nil || err != nil {
			return out, false, err
		}
		return Document{Doc: d, Position: p.Position, Time: p.Time, Project: p.Project, Host: p.Host, Session: p.Session, Text: p.Text}, true, nil
	case TextDoc:
		x, err := one(r, textSource(), id)
		if x == nil || err != nil {
			return out, false, err
		}
		return Document{Doc: d, Position: x.Position, Time: x.Time, Project: x.Project, Host: x.Host, Session: x.Session, Text: x.Text}, true, nil
	case TurnDoc:
		return r.turnDocument(d, id)
	case ObservationDoc:
		o, err := one(r, observationSource(), id)
		if o == nil || err != nil {
			return out, false, err
		}
		return Document{
			Doc: d, Position: o.Position, Time: o.Time, Project: o.Project, Host: o.Host, Session: o.Session,
			Type: o.Type, Concepts: o.Concepts, Files: append(append([]string{}, o.FilesRead...), o.FilesModified...),
			Title: o.Title, Facts: o.Facts, Text: lines(o.Subtitle, o.Narrative),
		}, true, nil
	case SummaryDoc:
		m, err := one(r, summarySource(), id)
		if m == nil || err != nil {
			return out, false, err
		}
		return Document{
			Doc: d, Position: m.Position, Time: m.Time, Project: m.Project, Host: m.Host, Session: m.Session,
			Files: append(append([]string{}, m.FilesRead...), m.FilesModified...),
			Title: m.Request, Text: lines(m.Investigated, m.Learned, m.Completed, m.NextSteps),
		}, true, nil
	}
	return out, false, nil
}

// one reads a document that is listed; nil if it is not.
func one[V, T any](r *reader, src source[V, T], id uint64) (*T, error) {
	v, err := src.read(r.tx, id)
	if v == nil || err != nil || src.about(v).listing.project == 0 {
		return nil, err
	}
	doc, err := src.show(r, v)
	return &doc, err
}

func lines(all ...string) string {
	kept := all[:0]
	for _, s := range all {
		if s != "" {
			kept = append(kept, s)
		}
	}
	return strings.Join(kept, "\n")
}

func (r *reader) turnDocument(d Doc, id uint64) (out Document, ok bool, err error) {
	t, err := load[turn](r.tx, bTurns, id)
	if t == nil || t.private || err != nil {
		return out, false, err
	}
	h, err := r.home(t.session, 0)
	if err != nil {
		return out, false, err
	}
	w := words{seen: map[string]bool{}, room: maxTurnText}
	for _, st := range inOrder(t.steps) {
		if st.text {
			continue
		}
		u, err := load[tool](r.tx, bTools, st.id)
		if err != nil {
			return out, false, err
		}
		if u != nil {
			w.add(u)
		}
	}
	return Document{
		Doc: d, Position: positionOf(t), Time: fromNanos(t.span().started), Project: h.project, Host: h.host, Session: h.session,
		Title: strings.Join(w.names, " "), Facts: w.facts, Paths: w.paths,
	}, len(w.names) > 0, nil
}

// words collects each thing once, while there is room.
type words struct {
	names, facts, paths []string
	seen                map[string]bool
	room                int
}

func (w *words) add(u *tool) {
	w.put(&w.names, u.tool.Name)
	w.put(&w.facts, u.tool.Command)
	w.put(&w.facts, u.tool.Query)
	w.put(&w.facts, u.tool.Note)
	for _, p := range append(append([]string{}, u.tool.Reads...), u.tool.Writes...) {
		w.put(&w.paths, p)
	}
	if u.outcome == event.Failed || u.exit != nil && *u.exit != 0 {
		w.put(&w.facts, errorLines(u.error, maxSide))
		w.put(&w.facts, errorLines(u.output, maxSide))
	}
}

func (w *words) put(to *[]string, s string) {
	if s == "" || w.seen[s] || len(s) > w.room {
		return
	}
	w.seen[s] = true
	w.room -= len(s)
	*to = append(*to, s)
}
