package records

import (
	"fmt"

	bolt "go.etcd.io/bbolt"
)

// byIDs gives the documents that exist, in the order of ids.
func byIDs[V, T any](s *Store, src source[V, T], ids []int64) (out []T, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		r := newReader(tx)
		for _, id := range ids {
			v, err := src.read(tx, uint64(id))
			if err != nil {
				return fmt.Errorf("%d: %w", id, err)
			}
			if v == nil || src.about(v).listing.project == 0 {
				continue
			}
			doc, err := src.show(r, v)
			if err != nil {
				return err
			}
			out = append(out, doc)
		}
		return nil
	})
	return out, err
}

// PromptsByID gives those that exist, in the order of ids.
func (s *Store) PromptsByID(ids ...int64) ([]Prompt, error) { return byIDs(s, promptSource(), ids) }

// TextsByID gives those that exist, in the order of ids.
func (s *Store) TextsByID(ids ...int64) ([]Text, error) { return byIDs(s, textSource(), ids) }

// ToolUsesByID gives those that exist, in the order of ids.
func (s *Store) ToolUsesByID(ids ...int64) ([]ToolUse, error) { return byIDs(s, toolSource(), ids) }

// TurnsByID gives those that exist, in the order of ids.
func (s *Store) TurnsByID(ids ...int64) ([]Turn, error) { return byIDs(s, turnSource(), ids) }

// ObservationsByID gives those that exist, in the order of ids.
func (s *Store) ObservationsByID(ids ...int64) ([]Observation, error) {
	return byIDs(s, observationSource(), ids)
}

// SummariesByID gives those that exist, in the order of ids.
func (s *Store) SummariesByID(ids ...int64) ([]Summary, error) { return byIDs(s, summarySource(), ids) }

// SessionsByID gives those that exist, in the order of ids.
func (s *Store) SessionsByID(ids ...int64) (out []Session, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		r := newReader(tx)
		for _, id := range ids {
			no, err := r.named(sessionID(uint64(id)))
			if err != nil {
				return err
			}
			if no == 0 {
				continue
			}
			found, err := r.session(no)
			if err != nil {
				return err
			}
			shown, err := r.showSession(found)
			if err != nil {
				return err
			}
			out = append(out, shown)
		}
		return nil
	})
	return out, err
}
