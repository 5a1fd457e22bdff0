package records

import (
	"encoding/json"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"cmem/projections"
	"cmem/streams"
)

// The buckets; doc.go says what they hold.
var (
	bMeta         = []byte("meta")
	bSessions     = []byte("sessions")
	bProjects     = []byte("projects")
	bAgents       = []byte("agents")
	bTurns        = []byte("turns")
	bPrompts      = []byte("prompts")
	bTexts        = []byte("texts")
	bTools        = []byte("tools")
	bObservations = []byte("observations")
	bSummaries    = []byte("summaries")
	bLists        = []byte("lists")
	bChanges      = []byte("changes")
	bGone         = []byte("gone")
	bCaptures     = []byte("captures")
)

// The bucket pairs of hashes.go.
const (
	pIDs         = "ids"
	pNames       = "names"
	pOccurrences = "occurrences"
)

// The keys of meta.
var (
	kSchema     = []byte("schema")
	kVersions   = []byte("versions")
	kBuild      = []byte("build")
	kCheckpoint = []byte("checkpoint")
	kStats      = []byte("stats")
)

// documents are the buckets whose values begin with a listing.
func documents() [][]byte {
	return [][]byte{bSessions, bTurns, bPrompts, bTexts, bTools, bObservations, bSummaries}
}

func pairs() []string { return []string{pIDs, pNames, pOccurrences} }

// plainBuckets are all that are neither documents nor pairs.
func plainBuckets() [][]byte {
	return [][]byte{bMeta, bProjects, bAgents, bLists, bChanges, bGone, bCaptures}
}

func buckets() [][]byte {
	all := append(documents(), plainBuckets()...)
	for _, p := range pairs() {
		all = append(all, []byte(p), freshOf(p))
	}
	return all
}

func readCheckpoint(tx *bolt.Tx) (at streams.Checkpoint, err error) {
	raw := tx.Bucket(bMeta).Get(kCheckpoint)
	if raw == nil {
		return at, nil
	}
	c := coder{src: string(raw), reading: true}
	codeCheckpoint(&c, &at)
	if c.err != nil {
		return at, fmt.Errorf("%w: checkpoint: %w", ErrDamaged, c.err)
	}
	return at, nil
}

func writeCheckpoint(tx *bolt.Tx, at streams.Checkpoint) error {
	var c coder
	codeCheckpoint(&c, &at)
	return tx.Bucket(bMeta).Put(kCheckpoint, c.buf)
}

func codeCheckpoint(c *coder, at *streams.Checkpoint) {
	position := uint64(at.Position)
	chain := string(at.Chain[:])
	c.str(&at.Log)
	c.u64(&position)
	c.str(&chain)
	at.Position = streams.Position(position)
	copy(at.Chain[:], chain)
}

// sameLog: an empty identity is any log's.
func sameLog(have, want string) error {
	if have == "" || want == "" || have == want {
		return nil
	}
	return fmt.Errorf("%w: records are of %q, this is %q", projections.ErrOtherLog, have, want)
}

// totals are what Stats counts that no document holds.
type totals struct {
	Sessions, Projects              uint64 // numbers given
	Envelopes, Repeated, Unreadable int
	Conflicts, Dropped              int
	First, Last                     int64
	Skipped, Counted, Kinds, Types  map[string]int
}

func readTotals(tx *bolt.Tx) (*totals, error) {
	t := &totals{Skipped: map[string]int{}, Counted: map[string]int{}, Kinds: map[string]int{}, Types: map[string]int{}}
	raw := tx.Bucket(bMeta).Get(kStats)
	if raw == nil {
		return t, nil
	}
	if err := json.Unmarshal(raw, t); err != nil {
		return nil, fmt.Errorf("%w: totals: %w", ErrDamaged, err)
	}
	return t, nil
}

func writeTotals(tx *bolt.Tx, t *totals) error {
	raw, err := json.Marshal(t)
	if err != nil {
		return err
	}
	return tx.Bucket(bMeta).Put(kStats, raw)
}
