package records

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	bolt "go.etcd.io/bbolt"
)

// ErrNoProject: no project has this name or key.
var ErrNoProject = errors.New("no such project")

// AmbiguousError: a bare name matches several projects.
type AmbiguousError struct {
	Name       string
	Candidates []Project
}

func (e *AmbiguousError) Error() string {
	names := make([]string, len(e.Candidates))
	for i, c := range e.Candidates {
		names[i] = c.Name
	}
	return fmt.Sprintf("%q may be any of %s", e.Name, strings.Join(names, ", "))
}

// Projects lists all projects, the most recently used first. Names are unique:
// where two are equal each gets its parent folder, and where those are equal too
// a piece of its key's hash.
func (s *Store) Projects() (out []Project, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		all, err := loadProjects(tx)
		if err != nil {
			return err
		}
		out = showProjects(all)
		return nil
	})
	return out, err
}

func loadProjects(tx *bolt.Tx) (all []*project, err error) {
	err = tx.Bucket(bProjects).ForEach(func(_, raw []byte) error {
		p := &project{}
		all = append(all, p)
		return readValue(raw, p)
	})
	return all, err
}

func showProjects(all []*project) []Project {
	keys := map[uint64]string{}
	for _, p := range all {
		keys[p.no] = p.key
	}
	live := slices.DeleteFunc(slices.Clone(all), func(p *project) bool { return p.to != 0 })
	names := uniqueNames(live)
	out := make([]Project, len(live))
	for i, p := range live {
		out[i] = Project{
			Key: p.key, Name: names[p.no], Parent: keys[p.parent], Observations: p.observations, Sessions: p.sessions,
			Prompts: p.prompts, Summaries: p.summaries, Last: fromNanos(p.last),
		}
	}
	slices.SortStableFunc(out, func(a, b Project) int { return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.Name, b.Name)) })
	return out
}

func uniqueNames(all []*project) map[uint64]string {
	names := map[uint64]string{}
	for _, form := range []func(*project) string{bareName, nameInFolder, nameWithHash} {
		taken := map[string]int{}
		for _, p := range all {
			if names[p.no] == "" {
				taken[form(p)]++
			}
		}
		for _, n := range names {
			taken[n]++
		}
		for _, p := range all {
			if names[p.no] == "" && taken[form(p)] == 1 {
				names[p.no] = form(p)
			}
		}
	}
	for _, p := range all {
		if names[p.no] == "" {
			names[p.no] = p.key
		}
	}
	return names
}

func bareName(p *project) string { return p.name }

func nameInFolder(p *project) string {
	if folder := path.Base(path.Dir(p.path)); p.path != "" && folder != "." && folder != "/" {
		return p.name + " (" + folder + ")"
	}
	return nameWithHash(p)
}

func nameWithHash(p *project) string {
	h := hashOf(p.key)
	return fmt.Sprintf("%s (%x)", p.name, h[:3])
}

// Project finds one by key, by the name shown, by its folder, or by a bare name.
// Of a bare name that several have it gives an *AmbiguousError; of one that
// nobody has ErrNoProject. A project that was moved answers with the one it was
// moved to.
func (s *Store) Project(name string) (out Project, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		all, err := loadProjects(tx)
		if err != nil {
			return err
		}
		out, err = findProject(all, name)
		return err
	})
	return out, err
}

func findProject(all []*project, name string) (Project, error) {
	shown := showProjects(all)
	byKey := map[string]Project{}
	for _, p := range shown {
		byKey[p.Key] = p
	}
	live := func(p *project) (Project, bool) {
		for range all {
			if p.to == 0 {
				break
			}
			p = all[slices.IndexFunc(all, func(q *project) bool { return q.no == p.to })]
		}
		out, ok := byKey[p.key]
		return out, ok
	}
	for _, p := range all {
		if p.key == name {
			if out, ok := live(p); ok {
				return out, nil
			}
		}
	}
	for _, p := range shown {
		if p.Name == name {
			return p, nil
		}
	}
	var found []Project
	for _, p := range all {
		if p.path != slashed(name) && !strings.EqualFold(p.name, name) {
			continue
		}
		if out, ok := live(p); ok && !slices.ContainsFunc(found, func(q Project) bool { return q.Key == out.Key }) {
			found = append(found, out)
		}
	}
	switch len(found) {
	case 0:
		return Project{}, fmt.Errorf("%w: %q", ErrNoProject, name)
	case 1:
		return found[0], nil
	}
	return Project{}, &AmbiguousError{Name: name, Candidates: found}
}
