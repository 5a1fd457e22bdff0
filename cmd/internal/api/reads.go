package api

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"cmem/projections/records"
)

// projectNames resolves what a person calls projects into keys. A name nobody
// has is NotFound, one that several have Ambiguous with the candidates.
func projectKeys(s *records.Store, names []string) ([]string, error) {
	var keys []string
	for _, name := range names {
		p, err := s.Project(name)
		if err != nil {
			return nil, ProjectError(name, err)
		}
		keys = append(keys, p.Key)
	}
	return keys, nil
}

// ProjectError names what records say of a project's name for a caller.
func ProjectError(name string, err error) error {
	var several *records.AmbiguousError
	switch {
	case errors.As(err, &several):
		e := Errorf(Ambiguous, "several projects are called %s", quote(name))
		for _, c := range several.Candidates {
			e.Candidates = append(e.Candidates, c.Name)
		}
		e.Message += ": say which of " + strings.Join(e.Candidates, ", ")
		return e
	case errors.Is(err, records.ErrNoProject):
		return Errorf(NotFound, "no project is called %s", quote(name))
	}
	return err
}

// shown makes rows with the names projects are shown under.
func shown(s *records.Store) (rows, error) {
	all, err := s.Projects()
	if err != nil {
		return rows{}, err
	}
	names := make(map[string]string, len(all))
	for _, p := range all {
		names[p.Key] = p.Name
	}
	return rows{names: func(key string) string {
		if n, ok := names[key]; ok {
			return n
		}
		return key
	}}, nil
}

// listing is what a page of a list asks for.
type listing struct {
	projects      []string
	filter        records.Filter
	offset, limit int
}

func (h *handler) listing(r *http.Request) (listing, error) {
	p := params{Values: r.URL.Query()}
	_, span := p.dates(h.Zone, h.Now())
	l := listing{
		projects: p.all("project", "projects"),
		offset:   p.int("offset", 0, 0, 1<<30),
		limit:    p.int("limit", defaultLimit, 1, maxLimit),
		filter: records.Filter{
			Host: hostName(p.first("platformSource", "platform_source", "host")), Session: p.first("session", "session_id"),
			Types: p.all("type", "obs_type"), Concepts: p.all("concepts", "concept"), Files: p.all("files", "filePath", "file"),
			Folder: p.flag("isFolder"), From: span.from, To: span.to,
			Ascending: p.oneOf("orderBy", "date_desc", "date_asc", "relevance") == "date_asc",
		},
	}
	// One more than asked for tells whether there is more.
	l.filter.Offset, l.filter.Limit = l.offset, l.limit+1
	return l, p.err
}

// page reads one page with read, which makes rows of what it found.
func page[T, Row any](h *handler, w http.ResponseWriter, r *http.Request, read func(*records.Store, records.Filter) ([]T, error), row func(*records.Store, rows, T) (Row, error)) error {
	l, err := h.listing(r)
	if err != nil {
		return err
	}
	out := Page[Row]{Items: []Row{}, Offset: l.offset, Limit: l.limit}
	err = h.Records(func(s *records.Store) error {
		if l.filter.Projects, err = projectKeys(s, l.projects); err != nil {
			return err
		}
		found, err := read(s, l.filter)
		if err != nil {
			return err
		}
		names, err := shown(s)
		if err != nil {
			return err
		}
		if out.HasMore = len(found) > l.limit; out.HasMore {
			found = found[:l.limit]
		}
		out.Items = []Row{}
		for _, f := range found {
			one, err := row(s, names, f)
			if err != nil {
				return err
			}
			out.Items = append(out.Items, one)
		}
		return nil
	})
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

func (h *handler) observations(w http.ResponseWriter, r *http.Request) error {
	return page(h, w, r, (*records.Store).Observations, func(_ *records.Store, n rows, o records.Observation) (ObservationRow, error) {
		return n.observation(o), nil
	})
}

func (h *handler) summaries(w http.ResponseWriter, r *http.Request) error {
	return page(h, w, r, (*records.Store).Summaries, func(_ *records.Store, n rows, s records.Summary) (SummaryRow, error) {
		return n.summary(s), nil
	})
}

func (h *handler) prompts(w http.ResponseWriter, r *http.Request) error {
	return page(h, w, r, (*records.Store).Prompts, promptRow)
}

func (h *handler) sessions(w http.ResponseWriter, r *http.Request) error {
	return page(h, w, r, (*records.Store).Sessions, func(_ *records.Store, n rows, s records.Session) (SessionRow, error) {
		return n.session(s), nil
	})
}

func promptRow(s *records.Store, n rows, p records.Prompt) (PromptRow, error) {
	view, _, err := s.SessionView(p.Session)
	return n.prompt(p, view.Session.ID), err
}

// observationsByFile: path (repeated), projects, limit.
func (h *handler) observationsByFile(w http.ResponseWriter, r *http.Request) error {
	p := params{Values: r.URL.Query()}
	f := records.Filter{Files: p.Values["path"], Limit: p.int("limit", 15, 1, maxLimit), Folder: p.flag("isFolder"),
		Host: hostName(p.first("platformSource", "platform_source", "host"))}
	f.Files = append(f.Files, p.all("files", "filePath")...)
	if p.err == nil && len(f.Files) == 0 {
		p.fail(Errorf(Invalid, "give at least one path"))
	}
	if p.err != nil {
		return p.err
	}
	out := struct {
		Observations []ObservationRow `json:"observations"`
		Count        int              `json:"count"`
	}{Observations: []ObservationRow{}}
	err := h.Records(func(s *records.Store) (err error) {
		if f.Projects, err = knownProjects(s, p.projects()); err != nil {
			return err
		}
		found, err := s.Observations(f)
		if err != nil {
			return err
		}
		names, err := shown(s)
		if err != nil {
			return err
		}
		for _, o := range found {
			out.Observations = append(out.Observations, names.observation(o))
		}
		out.Count = len(found)
		return err
	})
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

// knownProjects is projectKeys for callers that send whatever folder they are
// in: names nobody has are left out, and if none is left nothing matches.
func knownProjects(s *records.Store, names []string) ([]string, error) {
	var keys []string
	for _, name := range names {
		p, err := s.Project(name)
		switch {
		case err == nil:
			keys = append(keys, p.Key)
		case errors.Is(err, records.ErrNoProject):
			keys = append(keys, name)
		default:
			return nil, ProjectError(name, err)
		}
	}
	return keys, nil
}

func (h *handler) observationsBatch(w http.ResponseWriter, r *http.Request) error {
	var in BatchRequest
	if err := readBody(r, &in); err != nil {
		return err
	}
	if in.IDs == nil {
		return Errorf(Invalid, "ids must be a list of numbers")
	}
	out := []ObservationRow{}
	err := h.Records(func(s *records.Store) error {
		found, err := batch(s, in)
		if err != nil {
			return err
		}
		names, err := shown(s)
		if err != nil {
			return err
		}
		for _, o := range found {
			out = append(out, names.observation(o))
		}
		return err
	})
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

// batch is what BatchRequest asks for, newest first unless asked otherwise.
func batch(s *records.Store, in BatchRequest) ([]records.Observation, error) {
	found, err := s.ObservationsByID(in.IDs...)
	if err != nil {
		return nil, err
	}
	if in.Project != "" {
		keys, err := projectKeys(s, []string{in.Project})
		if err != nil {
			return nil, err
		}
		found = slices.DeleteFunc(found, func(o records.Observation) bool { return o.Project != keys[0] })
	}
	newest := func(a, b records.Observation) int { return int(b.Position) - int(a.Position) }
	switch in.OrderBy {
	case "", "date_desc", "relevance":
		slices.SortStableFunc(found, newest)
	case "date_asc":
		slices.SortStableFunc(found, func(a, b records.Observation) int { return newest(b, a) })
	case "as_given":
	default:
		return nil, Errorf(Invalid, "orderBy must be date_desc, date_asc or as_given, not %s", quote(in.OrderBy))
	}
	if in.Limit < 0 {
		return nil, Errorf(Invalid, "limit must not be negative")
	}
	if in.Limit > 0 && len(found) > in.Limit {
		found = found[:in.Limit]
	}
	return found, nil
}

// one answers with the thing of an id.
func one[T, Row any](h *handler, w http.ResponseWriter, r *http.Request, what string, read func(*records.Store, ...int64) ([]T, error), row func(*records.Store, rows, T) (Row, error)) error {
	id, err := parseID(r.PathValue("id"))
	if err != nil {
		return err
	}
	var out Row
	err = h.Records(func(s *records.Store) error {
		found, err := read(s, id)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return Errorf(NotFound, "%s #%d not found", what, id)
		}
		names, err := shown(s)
		if err != nil {
			return err
		}
		out, err = row(s, names, found[0])
		return err
	})
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

func (h *handler) observation(w http.ResponseWriter, r *http.Request) error {
	return one(h, w, r, "Observation", (*records.Store).ObservationsByID, func(_ *records.Store, n rows, o records.Observation) (ObservationRow, error) {
		return n.observation(o), nil
	})
}

func (h *handler) prompt(w http.ResponseWriter, r *http.Request) error {
	return one(h, w, r, "Prompt", (*records.Store).PromptsByID, promptRow)
}

func (h *handler) text(w http.ResponseWriter, r *http.Request) error {
	return one(h, w, r, "Text", (*records.Store).TextsByID, func(_ *records.Store, n rows, t records.Text) (TextRow, error) {
		return n.text(t), nil
	})
}

func (h *handler) turn(w http.ResponseWriter, r *http.Request) error {
	return one(h, w, r, "Turn", (*records.Store).TurnsByID, turnRow)
}

func turnRow(s *records.Store, n rows, t records.Turn) (TurnRow, error) {
	tools, err := s.ToolUsesByID(t.Tools...)
	return n.turn(t, tools), err
}

// session: a number is a summary, which claude-mem calls a session; anything
// else is a host's session id and gives the session itself.
func (h *handler) session(w http.ResponseWriter, r *http.Request) error {
	id := strings.TrimPrefix(strings.TrimPrefix(r.PathValue("id"), "#"), "S")
	if _, err := parseID(id); err == nil {
		r.SetPathValue("id", id)
		return one(h, w, r, "Session", (*records.Store).SummariesByID, func(_ *records.Store, n rows, s records.Summary) (SummaryRow, error) {
			return n.summary(s), nil
		})
	}
	return h.hostSession(w, r.PathValue("id"))
}

// SessionAnswer is a host's session with its turns.
type SessionAnswer struct {
	SessionRow
	Turns []TurnRow `json:"turns"`
	Forks []string  `json:"forks,omitempty"`
}

func (h *handler) hostSession(w http.ResponseWriter, session string) error {
	var out SessionAnswer
	err := h.Records(func(s *records.Store) error {
		view, ok, err := s.SessionView(session)
		if err != nil {
			return err
		}
		if !ok {
			return Errorf(NotFound, "Session %s not found", quote(session))
		}
		names, err := shown(s)
		if err != nil {
			return err
		}
		out = SessionAnswer{SessionRow: names.session(view.Session), Turns: []TurnRow{}, Forks: view.Forks}
		for _, t := range append(slices.Clone(view.Shared), view.Turns...) {
			row, err := turnRow(s, names, t)
			if err != nil {
				return err
			}
			out.Turns = append(out.Turns, row)
		}
		return nil
	})
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

func (h *handler) projects(w http.ResponseWriter, r *http.Request) error {
	p := params{Values: r.URL.Query()}
	host := hostName(p.first("platformSource", "platform_source", "host"))
	out := ProjectsAnswer{Projects: []string{}, Sources: []string{}, ProjectsBySource: map[string][]string{}}
	err := h.Records(func(s *records.Store) error {
		all, err := s.Projects()
		if err != nil {
			return err
		}
		names := map[string]string{}
		for _, p := range all {
			names[p.Key] = p.Name
		}
		seen := map[string]map[string]bool{}
		sessions, err := s.Sessions(records.Filter{Host: host})
		if err != nil {
			return err
		}
		for _, one := range sessions {
			if seen[one.Host] == nil {
				seen[one.Host] = map[string]bool{}
			}
			seen[one.Host][one.Project] = true
		}
		fillProjects(&out, all, seen, host)
		return nil
	})
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

// fillProjects keeps the order of all: the most recently used first.
func fillProjects(out *ProjectsAnswer, all []records.Project, seen map[string]map[string]bool, host string) {
	for h := range seen {
		out.Sources = append(out.Sources, platformName(h))
	}
	slices.Sort(out.Sources)
	for _, p := range all {
		any := host == ""
		for h, keys := range seen {
			if keys[p.Key] {
				any = true
				out.ProjectsBySource[platformName(h)] = append(out.ProjectsBySource[platformName(h)], p.Name)
			}
		}
		if any {
			out.Projects = append(out.Projects, p.Name)
		}
	}
}
