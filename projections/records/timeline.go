package records

import (
	"slices"

	bolt "go.etcd.io/bbolt"
)

var timelineKinds = []kind{kindPrompt, kindObservation, kindSummary}

// Timeline gives prompts, observations and summaries in log order, oldest first:
// at most before entries before the anchor, the anchor itself if it is one of
// them and f lets it through, and at most after entries behind it.
func (s *Store) Timeline(a Anchor, before, after int, f Filter) (out []Item, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		r := newReader(tx)
		projects, err := r.numbers(f.Projects)
		if err != nil {
			return err
		}
		at, ok := r.anchor(a, projects)
		if !ok {
			return nil
		}
		older, err := r.take(newMergeAt(tx, timelineKinds, projects, false, at), before, f)
		if err != nil {
			return err
		}
		slices.Reverse(older)
		newer, err := r.takeFrom(at, projects, after, f)
		out = append(older, newer...)
		return err
	})
	return out, err
}

// anchor is where the timeline's middle is; false if there is nothing at all.
func (r *reader) anchor(a Anchor, projects []uint64) (spot, bool) {
	if a.Doc.ID != 0 {
		return spot{uint64(a.Doc.ID), rankOf(kindOf[a.Doc.Kind])}, true
	}
	m := newMerge(r.tx, timelineKinds, projects, false)
	oldest, found := spot{}, false
	for c, k, ok := m.nextOf(); ok; c, k, ok = m.nextOf() {
		oldest, found = spot{c.id, rankOf(k)}, true
		if a.Time.IsZero() || c.at != 0 && c.at <= nanos(a.Time) {
			break
		}
	}
	return oldest, found
}

// takeFrom takes the anchor, if it is listed, and what is behind it.
func (r *reader) takeFrom(at spot, projects []uint64, after int, f Filter) ([]Item, error) {
	m := newMergeAt(r.tx, timelineKinds, projects, true, at)
	more := after
	if at.rank < 3 && listed(m, at) {
		more++
	}
	return r.take(m, more, f)
}

func listed(m *merge, at spot) bool {
	return slices.ContainsFunc(m.runs, func(r *run) bool { return r.id == at.id && r.rank == at.rank })
}

// take takes n items that f lets through.
func (r *reader) take(m *merge, n int, f Filter) (out []Item, err error) {
	for len(out) < n {
		c, k, ok := m.nextOf()
		if !ok {
			return out, nil
		}
		if !inTime(c.at, f) {
			continue
		}
		i, fits, err := r.item(k, c.id, f)
		if err != nil {
			return nil, err
		}
		if fits {
			out = append(out, i)
		}
	}
	return out, nil
}

func (r *reader) item(k kind, id uint64, f Filter) (i Item, fits bool, err error) {
	i.Doc = Doc{Kind: docKindOf[k], ID: int64(id)}
	switch k {
	case kindPrompt:
		i.Prompt, fits, err = fittingDoc(r, promptSource(), id, f)
		if fits {
			i.Position, i.Time = i.Prompt.Position, i.Prompt.Time
		}
	case kindObservation:
		i.Observation, fits, err = fittingDoc(r, observationSource(), id, f)
		if fits {
			i.Position, i.Time = i.Observation.Position, i.Observation.Time
		}
	case kindSummary:
		i.Summary, fits, err = fittingDoc(r, summarySource(), id, f)
		if fits {
			i.Position, i.Time = i.Summary.Position, i.Summary.Time
		}
	}
	return i, fits, err
}

func fittingDoc[V, T any](r *reader, src source[V, T], id uint64, f Filter) (*T, bool, error) {
	v, fits, err := fitting(r, src, id, f)
	if !fits || err != nil {
		return nil, false, err
	}
	doc, err := src.show(r, v)
	return &doc, err == nil, err
}
