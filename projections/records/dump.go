package records

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	bolt "go.etcd.io/bbolt"
)

// Dump writes all that can be read, one JSON object a line, sorted. Without
// o.Positions two logs that tell the same by the same channels, mixed otherwise,
// give the same dump.
func (s *Store) Dump(w io.Writer, o DumpOptions) error {
	d := &dumper{o: o}
	err := s.view(func(tx *bolt.Tx) error {
		d.r = newReader(tx)
		return d.all()
	})
	if err != nil {
		return err
	}
	slices.Sort(d.lines)
	out := bufio.NewWriter(w)
	for _, l := range d.lines {
		if _, err := fmt.Fprintln(out, l); err != nil {
			return err
		}
	}
	return out.Flush()
}

type dumper struct {
	r     *reader
	o     DumpOptions
	lines []string
}

func (d *dumper) add(what string, v any) error {
	raw, err := json.Marshal(v)
	d.lines = append(d.lines, what+" "+string(raw))
	return err
}

func (d *dumper) all() error {
	steps := []func() error{
		func() error { return dumpAll(d, "session", sessionSource(), d.session) },
		func() error { return dumpAll(d, "turn", turnSource(), d.turn) },
		func() error { return dumpAll(d, "prompt", promptSource(), d.prompt) },
		func() error { return dumpAll(d, "text", textSource(), d.text) },
		func() error { return dumpAll(d, "tool", toolSource(), d.tool) },
		func() error { return dumpAll(d, "observation", observationSource(), d.observation) },
		func() error { return dumpAll(d, "summary", summarySource(), d.summary) },
		d.projects,
	}
	for _, do := range steps {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

// dumpAll dumps every listed document of a kind, plainly or as plain makes it.
func dumpAll[V, T any, D any](d *dumper, what string, src source[V, T], plain func(*V, T) (D, error)) error {
	var ids []uint64
	err := d.r.tx.Bucket(src.bucket).ForEach(func(k, _ []byte) error {
		ids = append(ids, be64(k))
		return nil
	})
	if err != nil {
		return err
	}
	for _, id := range ids {
		v, err := src.read(d.r.tx, id)
		if err != nil {
			return err
		}
		if src.about(v).listing.project == 0 {
			continue
		}
		doc, err := src.show(d.r, v)
		if err != nil {
			return err
		}
		var line any = doc
		if !d.o.Positions {
			if line, err = plain(v, doc); err != nil {
				return err
			}
		}
		if err := d.add(what, line); err != nil {
			return err
		}
	}
	return nil
}

func (d *dumper) session(_ *session, s Session) (Session, error) {
	s.ID, s.Position, s.Model, s.Branch = 0, 0, "", ""
	return s, nil
}

// dumpedTurn names a turn's steps by key, in their order.
type dumpedTurn struct {
	Turn
	Steps []string
}

func (d *dumper) turn(v *turn, t Turn) (dumpedTurn, error) {
	out := dumpedTurn{Turn: t}
	out.ID, out.Position, out.PromptNumber, out.Tools = 0, 0, 0, nil
	for _, st := range inOrder(v.steps) {
		name := ""
		if st.text {
			x, err := load[text](d.r.tx, bTexts, st.id)
			if err != nil {
				return out, err
			}
			name = "said: " + x.text
		} else {
			u, err := load[tool](d.r.tx, bTools, st.id)
			if err != nil {
				return out, err
			}
			name = "did: " + u.key
		}
		out.Steps = append(out.Steps, name)
	}
	return out, nil
}

func (d *dumper) prompt(_ *prompt, p Prompt) (Prompt, error) {
	p.ID, p.Position, p.Number = 0, 0, 0
	return p, nil
}

func (d *dumper) text(_ *text, x Text) (Text, error) {
	x.ID, x.Position = 0, 0
	return x, nil
}

func (d *dumper) tool(_ *tool, u ToolUse) (ToolUse, error) {
	u.ID, u.Position, u.ReturnPosition = 0, 0, 0
	return u, nil
}

func (d *dumper) observation(_ *observation, o Observation) (Observation, error) {
	o.ID, o.Position, o.PromptNumber = 0, 0, 0
	return o, nil
}

func (d *dumper) summary(_ *summary, m Summary) (Summary, error) {
	m.ID, m.Position, m.PromptNumber, m.Superseded = 0, 0, 0, false
	return m, nil
}

func (d *dumper) projects() error {
	all, err := loadProjects(d.r.tx)
	if err != nil {
		return err
	}
	for _, p := range showProjects(all) {
		if err := d.add("project", p); err != nil {
			return err
		}
	}
	return nil
}
