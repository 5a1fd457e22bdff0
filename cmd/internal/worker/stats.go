package worker

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"cmem/cmd/internal/api"
	"cmem/cmd/internal/config"
	"cmem/ingest/spool/drain"
	"cmem/projections/records"
	"cmem/projections/search"
)

// ModelStates says how far each read model is; none before the folder is open.
func (n *Node) ModelStates() []api.Model {
	if n.isOpen() != nil {
		return nil
	}
	var docs int
	_ = n.Search(func(x *search.Index) (err error) {
		docs, err = x.Documents()
		return err
	})
	all := []api.Model{n.records.status(), n.search.status(), n.contexts.status()}
	all[1].Documents = int64(docs)
	return all
}

// Stats counts. What cannot be counted yet is 0, and a note says why.
func (n *Node) Stats(ctx context.Context) (api.Stats, error) {
	n.addresses.Lock()
	socket, port := n.socket, n.port
	n.addresses.Unlock()
	s := api.Stats{
		Worker: api.WorkerStats{
			Version: config.Version, Instance: n.instance, PID: os.Getpid(), Running: n.stop != nil,
			Uptime: int64(n.now().Sub(n.started).Seconds()), Socket: socket, Port: port,
		},
		Database: api.DatabaseStats{Path: n.dir.Read()},
		Spool: api.SpoolStats{
			Waiting: entries(n.dir.Spool()), Held: entries(n.dir.Held()), Corrupt: files(n.dir.Corrupt()),
			Foreign: len(drain.Foreign(n.dir.Spool())),
		},
		Hooks: api.HookStats{Last: []api.HookSeen{}, Counters: n.hookCounters()},
		Disk:  n.sizes(),
		Phase: n.Phase(),
	}
	s.Database.Size = s.Disk.Models
	if n.isOpen() != nil {
		return s, nil
	}
	// Counting first: what it finds damaged must not be called ready.
	counted := n.count(&s)
	s.Models = n.ModelStates()
	opening, stop := n.stream.Opening(), n.tellStop()
	s.Log = api.LogStats{Identity: n.stream.Identity(), Head: uint64(n.head()), Bytes: s.Disk.Log, Unclean: stop != ""}
	if stop != "" {
		s.Notes = append(s.Notes, stop)
	}
	s.Notes = append(s.Notes, opening.Found...)
	last, err := n.lastHooks(ctx)
	if err != nil {
		s.Notes = append(s.Notes, reason(err))
	}
	s.Hooks.Last = last
	for _, g := range n.stream.Gaps() {
		s.Notes = append(s.Notes, fmt.Sprintf("positions %d to %d of the log hold nothing: %s", g.First, g.Last, g.Reason))
	}
	if counted != nil {
		s.Notes = append(s.Notes, reason(counted))
	}
	s.Storage = n.Storage()
	s.Notes = append(s.Notes, n.advice(s)...)
	return s, nil
}

func (n *Node) count(s *api.Stats) error {
	return n.Records(func(r *records.Store) error {
		c, err := r.Stats()
		if err != nil {
			return err
		}
		d := &s.Database
		d.Observations, d.Sessions, d.Summaries, d.Prompts, d.ToolUses, d.Texts = c.Observations, c.Sessions, c.Summaries, c.Prompts, c.ToolUses, c.Texts
		first, err := r.Observations(records.Filter{Limit: 1, Ascending: true})
		if err == nil && len(first) > 0 && !first[0].Time.IsZero() {
			at := first[0].Time.UTC().Format("2006-01-02T15:04:05.000Z07:00")
			d.FirstObservationAt = &at
		}
		if err != nil {
			return err
		}
		turns, err := r.Turns(records.Filter{Limit: 100})
		for _, t := range turns {
			if !t.Closed {
				s.Worker.ActiveSessions++
			}
		}
		return err
	})
}

// advice says what a person should know and do.
func (n *Node) advice(s api.Stats) (notes []string) {
	for _, u := range n.cfg.Unusable {
		notes = append(notes, "this setting cannot be used and does not hold: "+u.Error())
	}
	if problem := n.keyProblem(); problem != "" {
		notes = append(notes, problem)
	}
	if s.Spool.Held > 0 {
		notes = append(notes, fmt.Sprintf("%d events could not enter the log for days and are held; bring them back with: cmem spool retry", s.Spool.Held))
	}
	if s.Spool.Corrupt > 0 {
		notes = append(notes, fmt.Sprintf("%d files of the spool are no events; they are kept in %s", s.Spool.Corrupt, n.dir.Corrupt()))
	}
	if s.Spool.Foreign > 0 {
		notes = append(notes, fmt.Sprintf("not of the spool, and left alone in %s: %s", n.dir.Spool(), few(drain.Foreign(n.dir.Spool()))))
	}
	for _, f := range s.Storage {
		notes = append(notes, f.What+"; next: "+f.Next)
	}
	for _, m := range s.Models {
		if m.Reason != "" {
			notes = append(notes, fmt.Sprintf("%s: %s (%s)", m.Name, m.State, m.Reason))
		}
	}
	return notes
}

// few names the first of many.
func few(names []string) string {
	const enough = 5
	if len(names) <= enough {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:enough], ", "), len(names)-enough)
}

// size sums the files below dir, in bytes. What vanishes meanwhile is not there.
func size(dir string) (sum int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			sum += info.Size()
		}
		return nil
	})
	return sum
}

// entries counts the events in a folder of the spool. That it cannot be read, the
// doctor says.
func entries(dir string) int {
	names, _ := drain.Entries(dir)
	return len(names)
}

func files(dir string) (n int) {
	all, _ := os.ReadDir(dir)
	for _, e := range all {
		if e.Type().IsRegular() {
			n++
		}
	}
	return n
}
