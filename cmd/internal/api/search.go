package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"cmem/projections/records"
	"cmem/projections/search"
)

func (h *handler) search(w http.ResponseWriter, r *http.Request) error {
	return h.searchFor(w, r, nil)
}

func (h *handler) searchObservations(w http.ResponseWriter, r *http.Request) error {
	return h.searchFor(w, r, func(p *params) { p.Set("type", "observations") })
}

func (h *handler) searchByFile(w http.ResponseWriter, r *http.Request) error {
	return h.searchFor(w, r, func(p *params) {
		if len(p.all("files", "filePath", "file")) == 0 {
			p.fail(Errorf(Invalid, "give filePath"))
		}
	})
}

func (h *handler) searchFor(w http.ResponseWriter, r *http.Request, change func(*params)) error {
	p := params{Values: r.URL.Query()}
	if change != nil {
		change(&p)
	}
	s := p.searching(h.Zone, h.Now())
	if p.err != nil {
		return p.err
	}
	// A query that is there and empty is a search for nothing in particular.
	if !s.limited() && !p.Has("query") && !p.Has("q") {
		return Errorf(Invalid, "give a query or a filter")
	}
	out, err := h.find(r.Context(), s)
	if err != nil {
		return err
	}
	if s.json {
		writeJSON(w, http.StatusOK, out)
		return nil
	}
	writeJSON(w, http.StatusOK, textAnswer(out.text(s)))
	return nil
}

// find asks the index for words, or records for the newest where there are none.
func (h *handler) find(ctx context.Context, s searching) (SearchAnswer, error) {
	out := SearchAnswer{
		Observations: []ObservationRow{}, Sessions: []SummaryRow{}, Prompts: []PromptRow{}, Texts: []TextRow{}, Turns: []TurnRow{},
		Query: s.query, Limit: s.limit, Offset: s.offset, Order: []string{}, Notes: s.notes,
	}
	var keys []string
	err := h.Records(func(st *records.Store) (err error) {
		keys, err = projectKeys(st, s.projects)
		return err
	})
	if err != nil {
		return out, err
	}
	docs, err := h.hits(ctx, s, keys, &out)
	if errors.Is(err, search.ErrNoText) {
		docs, err = h.newest(s, keys, &out)
	}
	if err != nil {
		return out, err
	}
	found := out
	err = h.Records(func(st *records.Store) error {
		out = found
		return out.fill(st, docs)
	})
	return out, err
}

// hits asks the index.
func (h *handler) hits(ctx context.Context, s searching, keys []string, out *SearchAnswer) ([]records.Doc, error) {
	if strings.TrimSpace(s.query) == "" {
		return nil, search.ErrNoText
	}
	q := search.Query{
		Text: s.query, Kinds: s.kinds, Projects: keys, Types: s.types, Concepts: s.concepts, Files: s.files, Folder: s.folder,
		From: s.span.from, To: s.span.to, Sort: s.sort, Offset: s.offset, Limit: s.limit,
	}
	if s.host != "" {
		q.Hosts = []string{s.host}
	}
	if s.session != "" {
		q.Sessions = []string{s.session}
	}
	var res search.Result
	err := h.Search(func(x *search.Index) (err error) {
		res, err = x.Query(ctx, q)
		return err
	})
	out.TotalResults, out.InterpretedAs = res.Total, res.Interpreted
	docs := make([]records.Doc, len(res.Hits))
	for i, hit := range res.Hits {
		docs[i] = hit.Doc
	}
	return docs, err
}

// newest lists without words: the newest (or oldest) of every kind asked for.
func (h *handler) newest(s searching, keys []string, out *SearchAnswer) ([]records.Doc, error) {
	out.InterpretedAs = "no words to look for: the newest first"
	f := records.Filter{
		Projects: keys, Host: s.host, Session: s.session, Types: s.types, Concepts: s.concepts, Files: s.files, Folder: s.folder,
		From: s.span.from, To: s.span.to, Limit: s.offset + s.limit + 1,
	}
	if f.Ascending = s.sort == search.DateAsc; f.Ascending {
		out.InterpretedAs = "no words to look for: the oldest first"
	}
	wanted := s.kinds
	if wanted == nil {
		// Agents' texts and tools are many; without words they would hide the rest.
		wanted = []records.DocKind{records.ObservationDoc, records.SummaryDoc, records.PromptDoc}
	}
	var found merged
	err := h.Records(func(st *records.Store) error {
		found = merged{}
		for _, k := range wanted {
			// Only observations and summaries are about files.
			if len(s.files) > 0 && k != records.ObservationDoc && k != records.SummaryDoc {
				continue
			}
			if err := found.add(st, k, f); err != nil {
				return err
			}
		}
		return nil
	})
	docs := found.sorted(f.Ascending)
	out.TotalResults = len(docs)
	docs = docs[min(s.offset, len(docs)):]
	if len(docs) > s.limit {
		docs = docs[:s.limit]
		out.Notes = append(out.Notes, "there are more: totalResults counts up to the next page only")
	}
	return docs, err
}

// fill reads what the documents hold; what is gone meanwhile is left out.
func (a *SearchAnswer) fill(s *records.Store, docs []records.Doc) error {
	n, err := shown(s)
	if err != nil {
		return err
	}
	for _, d := range docs {
		ok := false
		switch d.Kind {
		case records.ObservationDoc:
			a.Observations, ok, err = appendRow(a.Observations, s, n, d.ID, s.ObservationsByID, func(_ *records.Store, n rows, o records.Observation) (ObservationRow, error) {
				return n.observation(o), nil
			})
		case records.SummaryDoc:
			a.Sessions, ok, err = appendRow(a.Sessions, s, n, d.ID, s.SummariesByID, func(_ *records.Store, n rows, o records.Summary) (SummaryRow, error) {
				return n.summary(o), nil
			})
		case records.PromptDoc:
			a.Prompts, ok, err = appendRow(a.Prompts, s, n, d.ID, s.PromptsByID, promptRow)
		case records.TextDoc:
			a.Texts, ok, err = appendRow(a.Texts, s, n, d.ID, s.TextsByID, func(_ *records.Store, n rows, o records.Text) (TextRow, error) {
				return n.text(o), nil
			})
		case records.TurnDoc:
			a.Turns, ok, err = appendRow(a.Turns, s, n, d.ID, s.TurnsByID, turnRow)
		}
		if err != nil {
			return err
		}
		if ok {
			a.Order = append(a.Order, refOf(d))
		}
	}
	return nil
}

func appendRow[T, Row any](to []Row, s *records.Store, n rows, id int64, read func(...int64) ([]T, error), row func(*records.Store, rows, T) (Row, error)) ([]Row, bool, error) {
	found, err := read(id)
	if err != nil || len(found) == 0 {
		return to, false, err
	}
	r, err := row(s, n, found[0])
	return append(to, r), err == nil, err
}

// text is the answer for a reader: days in ascending order, then files.
func (a SearchAnswer) text(s searching) string {
	if len(a.Order) == 0 {
		return a.nothing(s)
	}
	sh := &sheet{zone: s.zone, cost: "Read"}
	fmt.Fprintf(&sh.b, "Found %d result(s)%s (%d obs, %d sessions, %d prompts%s)\n", a.TotalResults, a.matching(), len(a.Observations), len(a.Sessions), len(a.Prompts), a.others())
	if note := a.interpreted(); note != "" {
		fmt.Fprintf(&sh.b, "%s\n", note)
	}
	sh.b.WriteByte('\n')
	sh.write(byDay(a.entries(), s.zone))
	return sh.b.String()
}

func (a SearchAnswer) matching() string {
	if strings.TrimSpace(a.Query) == "" {
		return ""
	}
	return fmt.Sprintf(" matching %q", a.Query)
}

func (a SearchAnswer) others() string {
	out := ""
	if len(a.Texts) > 0 {
		out += fmt.Sprintf(", %d texts", len(a.Texts))
	}
	if len(a.Turns) > 0 {
		out += fmt.Sprintf(", %d turns", len(a.Turns))
	}
	return out
}

// interpreted is said where the query was not simply its words.
func (a SearchAnswer) interpreted() string {
	if a.InterpretedAs == "" || a.InterpretedAs == a.Query || a.Query == "" {
		return ""
	}
	return "Interpreted as: " + a.InterpretedAs
}

func (a SearchAnswer) nothing(s searching) string {
	out := "No results found" + a.matching()
	for _, n := range s.notes {
		out += "\n" + n
	}
	if note := a.interpreted(); note != "" {
		out += "\n" + note
	}
	if s.query != "" && (len(s.types)+len(s.concepts)+len(s.files)+len(s.projects) > 0 || s.span != span{} || s.host != "") {
		out += "\nWithout the filters there may be some."
	}
	return out
}

// entries gives the rows in the order of the answer.
func (a SearchAnswer) entries() []entry {
	byRef := map[string]entry{}
	for _, o := range a.Observations {
		byRef[o.entry().ref] = o.entry()
	}
	for _, o := range a.Sessions {
		byRef[o.entry().ref] = o.entry()
	}
	for _, o := range a.Prompts {
		byRef[o.entry().ref] = o.entry()
	}
	for _, o := range a.Texts {
		byRef[o.entry().ref] = o.entry()
	}
	for _, o := range a.Turns {
		byRef[o.entry().ref] = o.entry()
	}
	var out []entry
	for _, ref := range a.Order {
		out = append(out, byRef[ref])
	}
	return out
}
