package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"cmem/cmd/internal/api"
	"cmem/ingest"
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
	project, name, err := n.projectFor(named)
	if err != nil {
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
		ID:   "memory/" + key.ContentHash([]byte(project+"\x00"+text)),
		Type: envelope.MemorySaved, Source: own, Time: n.now(),
		Body: body(event.MemorySaved{Title: title, Text: text, Project: project}),
	}
	results, err := n.ingester.Add(ctx, e)
	if err != nil {
		return api.SaveAnswer{}, apiError(err, "this note was not kept, save it again then")
	}
	if err := n.settle(ctx); err != nil {
		return api.SaveAnswer{}, err
	}
	o, err := n.savedAs(e.ID, project, results[0].Position)
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
		default:
			return api.ProjectError(name, err)
		}
		return nil
	})
	return key, shown, err
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
	to, _, err := n.projectFor(r.To)
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
