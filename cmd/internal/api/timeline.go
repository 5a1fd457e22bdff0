package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"cmem/projections/records"
	"cmem/projections/search"
)

// refs are the letters that say what an id is of.
var refs = map[string]records.DocKind{
	"": records.ObservationDoc, "S": records.SummaryDoc, "P": records.PromptDoc, "T": records.TextDoc, "W": records.TurnDoc,
}

// ParseRef reads "12", "#12", "S3", "#P7", "T9" or "W5".
func ParseRef(s string) (records.Doc, bool) {
	s = strings.TrimPrefix(strings.TrimSpace(s), "#")
	letter := strings.ToUpper(strings.TrimRight(s, "0123456789"))
	kind, ok := refs[letter]
	if !ok {
		return records.Doc{}, false
	}
	id, err := strconv.ParseInt(s[len(letter):], 10, 64)
	return records.Doc{Kind: kind, ID: id}, err == nil && id > 0
}

// refOf writes a document as ParseRef reads it.
func refOf(d records.Doc) string {
	for letter, kind := range refs {
		if kind == d.Kind {
			return "#" + letter + strconv.FormatInt(d.ID, 10)
		}
	}
	return fmt.Sprintf("#%d", d.ID)
}

// timelining is what /api/timeline asks for.
type timelining struct {
	anchor, query string
	before, after int
	projects      []string
	host, session string
	zone          *time.Location
	json          bool
}

func (h *handler) timeline(w http.ResponseWriter, r *http.Request) error {
	p := params{Values: r.URL.Query()}
	zone, _ := p.dates(h.Zone, h.Now())
	t := timelining{
		anchor: p.first("anchor"), query: p.first("query", "q"), zone: zone,
		before: p.int("depth_before", defaultDepth, 0, maxDepth), after: p.int("depth_after", defaultDepth, 0, maxDepth),
		projects: p.projects(), host: hostName(p.first("platformSource", "platform_source", "host")),
		session: p.first("session", "session_id"), json: p.oneOf("format", "text", "json") == "json",
	}
	if (t.anchor == "") == (t.query == "") {
		p.fail(Errorf(Invalid, `give either "anchor" (an id, S and an id, P and an id, or a time) or "query"`))
	}
	if p.err != nil {
		return p.err
	}
	out, err := h.around(r.Context(), t)
	if err != nil {
		return err
	}
	if t.json {
		writeJSON(w, http.StatusOK, out)
		return nil
	}
	writeJSON(w, http.StatusOK, textAnswer(out.text(t)))
	return nil
}

func textAnswer(s string) Content { return Content{Content: []ContentPart{{Type: "text", Text: s}}} }

// around finds the anchor and reads what lies around it.
func (h *handler) around(ctx context.Context, t timelining) (TimelineAnswer, error) {
	out := TimelineAnswer{Anchor: t.anchor, Query: t.query, Before: t.before, After: t.after, Items: []TimelineItem{}}
	f := records.Filter{Host: t.host, Session: t.session}
	err := h.Records(func(s *records.Store) (err error) {
		f.Projects, err = projectKeys(s, t.projects)
		return err
	})
	if err != nil {
		return out, err
	}
	anchor, found, err := h.anchor(ctx, t, f)
	if err != nil || !found {
		return out, err
	}
	if anchor.Doc.ID != 0 {
		out.Anchor = strings.TrimPrefix(refOf(anchor.Doc), "#")
	}
	err = h.Records(func(s *records.Store) error {
		if err := exists(s, anchor); err != nil {
			return err
		}
		items, err := s.Timeline(anchor, t.before, t.after, f)
		if err != nil {
			return err
		}
		names, err := shown(s)
		if err != nil {
			return err
		}
		for _, i := range items {
			out.Items = append(out.Items, item(names, i, anchor))
		}
		return err
	})
	return out, err
}

func exists(s *records.Store, a records.Anchor) error {
	if a.Doc.ID == 0 {
		return nil
	}
	_, ok, err := s.Document(a.Doc)
	if err == nil && !ok {
		err = Errorf(NotFound, "%s not found", refOf(a.Doc))
	}
	return err
}

// anchor reads the anchor given, or takes the best hit of the query.
func (h *handler) anchor(ctx context.Context, t timelining, f records.Filter) (a records.Anchor, found bool, err error) {
	if t.query != "" {
		return h.anchorByQuery(ctx, t.query, f)
	}
	if doc, ok := ParseRef(t.anchor); ok {
		return records.Anchor{Doc: doc}, true, nil
	}
	s, err := parseDate(t.anchor, t.zone, h.Now())
	if err != nil {
		return a, false, Errorf(Invalid, "the anchor %s is neither an id like 12, S12 or P12 nor a time", quote(t.anchor))
	}
	return records.Anchor{Time: s.from}, true, nil
}

func (h *handler) anchorByQuery(ctx context.Context, query string, f records.Filter) (a records.Anchor, found bool, err error) {
	q := search.Query{Text: query, Projects: f.Projects, Limit: 1, Kinds: []records.DocKind{records.ObservationDoc}}
	if f.Host != "" {
		q.Hosts = []string{f.Host}
	}
	if f.Session != "" {
		q.Sessions = []string{f.Session}
	}
	var res search.Result
	err = h.Search(func(x *search.Index) error {
		res, err = x.Query(ctx, q)
		if err == nil && len(res.Hits) == 0 {
			q.Kinds = []records.DocKind{records.SummaryDoc, records.PromptDoc}
			res, err = x.Query(ctx, q)
		}
		return err
	})
	if errors.Is(err, search.ErrNoText) {
		err = nil
	}
	if err != nil || len(res.Hits) == 0 {
		return a, false, err
	}
	return records.Anchor{Doc: res.Hits[0].Doc}, true, nil
}

func item(n rows, i records.Item, a records.Anchor) TimelineItem {
	out := TimelineItem{Ref: refOf(i.Doc), Anchor: a.Doc.ID != 0 && a.Doc == i.Doc}
	switch {
	case i.Observation != nil:
		row := n.observation(*i.Observation)
		out.Kind, out.Observation = "observation", &row
	case i.Summary != nil:
		row := n.summary(*i.Summary)
		out.Kind, out.Session = "session", &row
	case i.Prompt != nil:
		row := n.prompt(*i.Prompt, 0)
		out.Kind, out.Prompt = "prompt", &row
	}
	return out
}

// text is the timeline for a reader.
func (t TimelineAnswer) text(q timelining) string {
	if len(t.Items) == 0 {
		if q.query != "" {
			return fmt.Sprintf("No observations found matching %s. Try a different search query.", quote(q.query))
		}
		return fmt.Sprintf("Nothing was recorded around %s.", t.Anchor)
	}
	s := &sheet{zone: q.zone, cost: "Tokens"}
	fmt.Fprintf(&s.b, "# Timeline around anchor: %s\n**Window:** %d records before -> %d records after | **Items:** %d\n\n", t.Anchor, t.Before, t.After, len(t.Items))
	var entries []entry
	for _, i := range t.Items {
		entries = append(entries, i.entry())
	}
	s.write(entries)
	return s.b.String()
}

func (i TimelineItem) entry() (e entry) {
	switch {
	case i.Observation != nil:
		e = i.Observation.entry()
	case i.Session != nil:
		e = i.Session.entry()
	case i.Prompt != nil:
		e = i.Prompt.entry()
	}
	e.anchor = i.Anchor
	return e
}
