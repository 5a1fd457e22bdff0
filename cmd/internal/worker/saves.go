package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"cmem/cmd/internal/api"
	"cmem/ingest"
	"cmem/ingest/project"
	"cmem/projections/records"
	"cmem/streams"
	"cmem/streams/envelope"
	"cmem/streams/event"
)

// own is the source of what cmem itself says.
const own = "cmem"

// Save stores a note as memory.saved. The same words in the same project are
// the same note: the second time the answer is the first one's id.
func (n *Node) Save(ctx context.Context, r api.SaveRequest) (api.SaveAnswer, error) {
	if err := n.isPrepared(); err != nil {
		return api.SaveAnswer{}, err
	}
	n.saving.Lock()
	defer n.saving.Unlock()
	// A project's name is a stranger's text like any other.
	named := n.clean(r.Project)
	if named != r.Project && strings.TrimSpace(named) == "" {
		return api.SaveAnswer{}, api.Errorf(api.Invalid, "nothing is left of the project's name without its private parts")
	}
	to, name, err := n.projectFor(named)
	if err != nil {
		return api.SaveAnswer{}, err
	}
	if err := checkOrigin(r); err != nil {
		return api.SaveAnswer{}, err
	}
	text := n.clean(strings.TrimSpace(r.Text))
	if text == "" {
		return api.SaveAnswer{}, api.Errorf(api.Invalid, "nothing is left of the text without its private parts")
	}
	title := n.clean(strings.TrimSpace(r.Title))
	if title == "" {
		title = titleOf(text)
	}
	key, err := n.idKey()
	if err != nil {
		return api.SaveAnswer{}, err
	}
	e := envelope.Envelope{
		ID:   "memory/" + key.ContentHash([]byte(to+"\x00"+text)),
		Type: envelope.MemorySaved, Source: own, Time: n.now(),
		Body: body(event.MemorySaved{Title: title, Text: text, Project: to}), Origin: n.clean(r.Origin),
	}
	results, err := n.ingester.Add(ctx, e)
	if err != nil {
		return api.SaveAnswer{}, apiError(err, "this note was not kept, save it again then")
	}
	if err := n.settle(ctx); err != nil {
		return api.SaveAnswer{}, err
	}
	o, err := n.savedAs(e.ID, to, results[0].Position)
	if err != nil {
		return api.SaveAnswer{}, err
	}
	out := api.SaveAnswer{Success: true, ID: o.ID, Title: o.Title, Project: name, Existing: results[0].Status == ingest.Held}
	out.Message = fmt.Sprintf("Memory saved as observation #%d", o.ID)
	if out.Existing {
		out.Message = fmt.Sprintf("This memory is there already, as observation #%d", o.ID)
	}
	return out, nil
}

// checkOrigin: a note's origin tells of the note's project, or of nothing.
func checkOrigin(r api.SaveRequest) error {
	if r.Origin == "" {
		return nil
	}
	o, err := project.Parse(r.Origin)
	if err != nil || o.Key() != r.Project {
		return api.Errorf(api.Invalid, "the origin is not one of the project")
	}
	return nil
}

// titleOf is the beginning of a note without a title.
func titleOf(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	if r := []rune(line); len(r) > 80 {
		return strings.TrimSpace(string(r[:80])) + "…"
	}
	return line
}

// projectFor gives the key and the shown name of what a person calls a project.
// A name nobody has begins a project of its own.
func (n *Node) projectFor(name string) (key, shown string, err error) {
	if name == "" {
		return "", "", nil
	}
	err = n.records.read(func(s *records.Store) error {
		p, err := s.Project(name)
		switch {
		case err == nil:
			key, shown = p.Key, p.Name
		case errors.Is(err, records.ErrNoProject):
			key, shown = name, name
			return checkName(name)
		default:
			return api.ProjectError(name, err)
		}
		return nil
	})
	return key, shown, err
}

// maxName is as long as a path can be, since paths are names of projects.
const maxName = 4096

// checkName looks at a name that would begin a project: it is shown in lists.
func checkName(name string) error {
	switch {
	case strings.TrimSpace(name) == "":
		return api.Errorf(api.Invalid, "a project's name must not be blank")
	case len(name) > maxName:
		return api.Errorf(api.Invalid, "a project's name must not be over %d bytes", maxName)
	case strings.ContainsFunc(name, func(r rune) bool {
		return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control) || r == utf8.RuneError
	}):
		return api.Errorf(api.Invalid, "a project's name must be one line of text, without control characters: %.80q", name)
	}
	return nil
}

// savedAs finds the observation of a saved note: at its position if it is new,
// else by the key of the fact it came from.
func (n *Node) savedAs(id, project string, at streams.Position) (found records.Observation, err error) {
	const page = 1000
	f := records.Filter{Limit: page}
	if project != "" {
		f.Projects = []string{project}
	}
	err = n.records.read(func(s *records.Store) error {
		for ; ; f.Offset += page {
			list, err := s.Observations(f)
			if err != nil {
				return err
			}
			for _, o := range list {
				if o.Position == at || slices.Contains(o.FactKeys, id) {
					found = o
					return nil
				}
			}
			if len(list) < page {
				return fmt.Errorf("the saved note %s is in the log at %d and in no record", id, at)
			}
		}
	})
	return found, err
}

// Move gives what was stored under one project to another, as an event: a
// rebuild does the same again.
func (n *Node) Move(ctx context.Context, r api.MoveRequest) (api.MoveAnswer, error) {
	if err := n.isPrepared(); err != nil {
		return api.MoveAnswer{}, err
	}
	to, _, err := n.projectFor(n.clean(r.To))
	if err != nil {
		return api.MoveAnswer{}, err
	}
	from, err := n.movedFrom(r)
	if err != nil {
		return api.MoveAnswer{}, err
	}
	out := api.MoveAnswer{From: from, To: to, Session: r.Session}
	if from == to {
		return out, nil
	}
	key, err := n.idKey()
	if err != nil {
		return out, err
	}
	e := envelope.Envelope{
		ID:   fmt.Sprintf("project-moved/%s@%d", key.ContentHash([]byte(from+"\x00"+to+"\x00"+r.Session)), n.now().UnixNano()),
		Type: envelope.ProjectMoved, Source: own, Time: n.now(),
		Body: body(event.ProjectMoved{Session: r.Session, From: from, To: to}),
	}
	if _, err := n.ingester.Add(ctx, e); err != nil {
		return out, apiError(err, "nothing was moved, say it again then")
	}
	out.Moved = true
	return out, n.settle(ctx)
}

// movedFrom is the key of the project that is moved, or of the session's.
func (n *Node) movedFrom(r api.MoveRequest) (key string, err error) {
	err = n.records.read(func(s *records.Store) error {
		if r.Session != "" {
			view, ok, err := s.SessionView(r.Session)
			if err == nil && !ok {
				err = api.Errorf(api.NotFound, "Session %q not found", r.Session)
			}
			key = view.Session.Project
			return err
		}
		p, err := s.Project(r.From)
		if err != nil {
			return api.ProjectError(r.From, err)
		}
		key = p.Key
		return nil
	})
	return key, err
}
