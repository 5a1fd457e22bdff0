package api

import (
	"cmp"
	"slices"

	"cmem/projections/records"
	"cmem/streams"
)

// merged gathers documents of several kinds to be put in one order.
type merged struct{ all []placed }

type placed struct {
	doc records.Doc
	at  streams.Position
}

func (m *merged) add(s *records.Store, k records.DocKind, f records.Filter) error {
	switch k {
	case records.ObservationDoc:
		return place(m, k, f, s.Observations, func(o records.Observation) (int64, streams.Position) { return o.ID, o.Position })
	case records.SummaryDoc:
		return place(m, k, f, s.Summaries, func(o records.Summary) (int64, streams.Position) { return o.ID, o.Position })
	case records.PromptDoc:
		return place(m, k, f, s.Prompts, func(o records.Prompt) (int64, streams.Position) { return o.ID, o.Position })
	case records.TextDoc:
		return place(m, k, f, s.Texts, func(o records.Text) (int64, streams.Position) { return o.ID, o.Position })
	case records.TurnDoc:
		return place(m, k, f, s.Turns, func(o records.Turn) (int64, streams.Position) { return o.ID, o.Position })
	}
	return nil
}

func place[T any](m *merged, k records.DocKind, f records.Filter, read func(records.Filter) ([]T, error), where func(T) (int64, streams.Position)) error {
	found, err := read(f)
	for _, one := range found {
		id, at := where(one)
		m.all = append(m.all, placed{records.Doc{Kind: k, ID: id}, at})
	}
	return err
}

// sorted is newest first, or oldest first.
func (m *merged) sorted(ascending bool) []records.Doc {
	slices.SortStableFunc(m.all, func(a, b placed) int {
		if ascending {
			a, b = b, a
		}
		return cmp.Or(cmp.Compare(b.at, a.at), cmp.Compare(b.doc.ID, a.doc.ID))
	})
	docs := make([]records.Doc, len(m.all))
	for i, p := range m.all {
		docs[i] = p.doc
	}
	return docs
}
