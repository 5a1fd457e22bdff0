package worker

import (
	"context"
	"fmt"

	"cmem/cmd/internal/api"
	"cmem/projections"
	"cmem/projections/records"
	"cmem/projections/search"
	"cmem/streams"
)

// chain reads every file of the log, follows the log's own links, and asks the id
// table for every id on the way: one that is missing there is taken in twice when
// it comes again.
func (x *examination) chain(ctx context.Context) error {
	upto, err := x.node.records.position()
	if err != nil {
		return err
	}
	ids := idCheck{records: x.node.records}
	r, err := x.node.stream.Verify(ctx, func(some []string, at streams.Position) error {
		x.node.touch()
		if at > upto {
			return nil // records are not there yet
		}
		return ids.add(some)
	})
	if err == nil {
		err = ids.ask()
	}
	if err != nil {
		return err
	}
	for _, g := range r.Gaps {
		x.find("log.gap", api.Broken, "stop the worker and start it: the start mends the files and names what is lost", "%s", g.String())
	}
	for _, p := range r.Broken {
		x.find("log.chain", api.Broken, "keep the folder as it is and compare with a backup: somebody changed the log", "position %d is not what the chain was made of", p)
	}
	if ids.missing > 0 {
		x.find("records.ids", api.Broken, "cmem rebuild --only records", "%d events of the log are not in the id table", ids.missing).Evidence = ids.examples
	}
	return nil
}

// idCheck counts what the id table has not.
type idCheck struct {
	records  *track[projections.Entry, *records.Store]
	waiting  []string
	missing  int
	examples []string
}

// idsAtOnce are asked for together: so many lie near each other in the table.
const idsAtOnce = 64 << 10

func (c *idCheck) add(ids []string) error {
	if c.waiting = append(c.waiting, ids...); len(c.waiting) < idsAtOnce {
		return nil
	}
	return c.ask()
}

func (c *idCheck) ask() error {
	var missing []string
	err := c.records.read(func(s *records.Store) (err error) {
		missing, err = s.Missing(c.waiting)
		return err
	})
	c.waiting = c.waiting[:0]
	c.missing += len(missing)
	c.examples = append(c.examples, missing...)
	c.examples = c.examples[:min(len(c.examples), 20)]
	return err
}

// index compares the documents of the index with those of records.
func (x *examination) index(ctx context.Context) error {
	want := map[records.Doc]bool{}
	if err := x.documents(ctx, want); err != nil {
		return err
	}
	orphans, examples := 0, []string(nil)
	note := func(d records.Doc) {
		if examples = append(examples, fmt.Sprintf("%s %d", d.Kind, d.ID)); len(examples) > 20 {
			examples = examples[:20]
		}
	}
	err := x.node.search.read(func(s *search.Index) error {
		for d, err := range s.IDs() {
			if err != nil {
				return err
			}
			if !want[d] {
				orphans++
				note(d)
			}
			delete(want, d)
		}
		return nil
	})
	if err == nil {
		err = x.lacking(want)
	}
	for d := range want {
		note(d)
	}
	if len(want)+orphans > 0 {
		x.find("search.documents", api.Broken, "cmem rebuild --only search", "the index lacks %d documents that records have, and has %d that they have not", len(want), orphans).Evidence = examples
	}
	return err
}

// lacking leaves in want what has something to be found by: a turn without tool
// uses has not.
func (x *examination) lacking(want map[records.Doc]bool) error {
	for d := range want {
		_, ok, err := source{x.node.records}.Document(d)
		if err != nil {
			return err
		}
		if !ok {
			delete(want, d)
		}
	}
	return nil
}

// documents are those that the index has to have at its position.
func (x *examination) documents(ctx context.Context, all map[records.Doc]bool) error {
	upto, err := x.node.search.position()
	if err != nil {
		return err
	}
	return x.node.records.read(func(s *records.Store) error {
		var at streams.Checkpoint
		for {
			batch, next, err := s.Changes().Next(ctx, at, 2000)
			if err != nil {
				return err
			}
			for _, c := range batch {
				if c.Position > upto {
					continue
				}
				if c.Deleted {
					delete(all, c.Doc)
				} else {
					all[c.Doc] = true
				}
			}
			if len(batch) == 0 && next == at {
				return nil
			}
			at = next
		}
	})
}
