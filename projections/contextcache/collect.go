package contextcache

import (
	"fmt"
	"slices"

	"cmem/projections/records"
)

// Reader is what a view is collected from; *records.Store is one.
type Reader interface {
	Projects() ([]records.Project, error)
	Observations(records.Filter) ([]records.Observation, error)
	Summaries(records.Filter) ([]records.Summary, error)
}

// Limits says how much is collected; zero values are the defaults.
type Limits struct {
	Observations int // newest; 0 is 50
	Sessions     int // newest summaries, one of each session; 0 is 10
	Decisions    int // newest decisions; 0 is 10
}

// Collect gives the view of a project: its own records and, for a worktree, those
// of its repository; with more keys also theirs. A key that nobody knows gives an
// empty view.
func Collect(r Reader, keys []string, l Limits) (View, error) {
	all, err := r.Projects()
	if err != nil {
		return View{}, fmt.Errorf("context: projects: %w", err)
	}
	v := scope(all, keys)
	if v.Project.Key == "" {
		return v, nil
	}
	f := records.Filter{Projects: v.keys(), Limit: orElse(l.Observations, 50)}
	if v.Observations, err = r.Observations(f); err != nil {
		return v, fmt.Errorf("context: observations: %w", err)
	}
	v.More = max(v.total()-len(v.Observations), 0)
	f.Types, f.Limit = []string{"decision"}, orElse(l.Decisions, 10)
	if v.Decisions, err = r.Observations(f); err != nil {
		return v, fmt.Errorf("context: decisions: %w", err)
	}
	v.Summaries, err = sessions(r, records.Filter{Projects: v.keys()}, orElse(l.Sessions, 10))
	if err != nil {
		return v, fmt.Errorf("context: summaries: %w", err)
	}
	return v, nil
}

// sessions gives the current summaries of the newest n sessions. A session may
// have any number of earlier ones between.
func sessions(r Reader, f records.Filter, n int) ([]records.Summary, error) {
	var out []records.Summary
	for f.Limit = 4 * n; ; f.Offset += f.Limit {
		some, err := r.Summaries(f)
		if err != nil {
			return nil, err
		}
		out = current(append(out, some...))
		if len(out) >= n || len(some) < f.Limit {
			return out[:min(len(out), n)], nil
		}
	}
}

// current leaves the newest summary of each session, newest first.
func current(all []records.Summary) []records.Summary {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b records.Summary) int { return newest(a.Time, b.Time, a.ID, b.ID) })
	seen := map[[2]string]bool{}
	return slices.DeleteFunc(all, func(s records.Summary) bool {
		key := [2]string{s.Host, s.Session}
		again := seen[key]
		seen[key] = true
		return again
	})
}

// scope finds the projects of keys and the repositories of worktrees among them.
func scope(all []records.Project, keys []string) View {
	var v View
	add := func(key string) {
		i := slices.IndexFunc(all, func(p records.Project) bool { return p.Key == key })
		switch {
		case i < 0 || slices.Contains(v.keys(), key):
		case v.Project.Key == "":
			v.Project = all[i]
		default:
			v.Related = append(v.Related, all[i])
		}
	}
	for _, k := range keys {
		add(k)
	}
	for _, p := range append([]records.Project{v.Project}, v.Related...) {
		if p.Parent != "" {
			add(p.Parent)
		}
	}
	return v
}

func (v *View) keys() []string {
	if v.Project.Key == "" {
		return nil
	}
	keys := []string{v.Project.Key}
	for _, p := range v.Related {
		keys = append(keys, p.Key)
	}
	return keys
}

func (v *View) total() int {
	n := v.Project.Observations
	for _, p := range v.Related {
		n += p.Observations
	}
	return n
}

func orElse(n, otherwise int) int {
	if n > 0 {
		return n
	}
	return otherwise
}
