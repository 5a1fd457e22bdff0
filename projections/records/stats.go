package records

import (
	"maps"

	bolt "go.etcd.io/bbolt"

	"cmem/streams"
)

func positionOf(t *turn) streams.Position { return streams.Position(t.position) }

// Stats gives the model's totals. It reads all sessions and projects: about 1 ms
// per thousand.
func (s *Store) Stats() (out Stats, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		t, err := readTotals(tx)
		if err != nil {
			return err
		}
		if out.Checkpoint, err = readCheckpoint(tx); err != nil {
			return err
		}
		out.Envelopes, out.Repeated, out.Unreadable, out.Conflicts = t.Envelopes, t.Repeated, t.Unreadable, t.Conflicts
		out.Sessions, out.First, out.Last = int(t.Sessions), fromNanos(t.First), fromNanos(t.Last)
		out.Skipped, out.Counted, out.Kinds, out.Types = t.Skipped, maps.Clone(t.Counted), t.Kinds, t.Types
		if t.Dropped > 0 {
			out.Counted["facts beyond the limit of an envelope"] = t.Dropped
		}
		return newReader(tx).total(&out)
	})
	return out, err
}

// total adds up sessions and counts keys.
func (r *reader) total(out *Stats) error {
	err := r.tx.Bucket(bSessions).ForEach(func(_, raw []byte) error {
		var s session
		if err := readValue(raw, &s); err != nil {
			return err
		}
		out.Prompts += s.n.prompts
		out.ToolUses += s.n.toolUses
		out.Nested += s.n.nested
		out.Containers += s.n.containers
		out.Texts += s.n.texts
		return nil
	})
	if err != nil {
		return err
	}
	all, err := loadProjects(r.tx)
	for _, p := range all {
		if p.to == 0 {
			out.Projects++
		}
	}
	out.Turns = r.tx.Bucket(bTurns).Stats().KeyN
	out.Observations = r.tx.Bucket(bObservations).Stats().KeyN
	out.Summaries = r.tx.Bucket(bSummaries).Stats().KeyN
	return err
}
