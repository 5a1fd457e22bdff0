package search

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"cmem/streams"
	"cmem/streams/durable"

	"github.com/blevesearch/bleve/v2/index/scorch"
	index "github.com/blevesearch/bleve_index_api"
)

// Keys beside the documents.
const (
	checkpointKey = "checkpoint"
	madeKey       = "made" // in every store from its first batch on
)

// store is scorch with an analysis queue of its own, so that closing it leaves
// no goroutine. scorch is used without bleve's index on top: fields are built
// and queries are searched here, and a mapping would only stand between.
type store struct {
	path    string
	idx     *scorch.Scorch
	queue   *index.AnalysisQueue
	workers *sync.WaitGroup // nil: not open
	health
}

// newStore makes an empty store in the empty folder path.
func newStore(path string) (*store, error) {
	s, err := startStore(path)
	if err != nil {
		return nil, err
	}
	close(s.verified)
	if err := s.idx.SetInternal([]byte(madeKey), []byte{Format}); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// openStore opens what newStore made. Whatever keeps it from being used is
// ErrDamaged.
func openStore(path string) (s *store, err error) {
	if err := checkRoot(filepath.Join(path, "root.bolt")); err != nil {
		return nil, unopened(err)
	}
	defer func() {
		if err != nil {
			s = nil
		}
	}()
	defer guard(&err)()
	if s, err = startStore(path); err != nil {
		return nil, unopened(err)
	}
	// scorch passes over a snapshot whose segments it cannot read and goes on with
	// an older one, which is behind and catches up, or with none.
	if b, err := s.internal(madeKey); err != nil || len(b) == 0 {
		return nil, errors.Join(fmt.Errorf("%w: %s: no snapshot can be read", ErrDamaged, path), err, s.close())
	}
	// Damage is looked for here and nowhere else: scorch reads segments in
	// goroutines of its own, and what panics there ends the process.
	if err := s.verify(); err != nil {
		return nil, errors.Join(err, s.close())
	}
	close(s.verified)
	return s, nil
}

// unopened is ErrDamaged, but where the disk or the rights refused: then the files
// may be whole, and are opened again later.
func unopened(err error) error {
	if shortage(err.Error()) {
		durable.Reached("search.open.shortage")
		return err
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}

func startStore(path string) (*store, error) {
	s := &store{path: path, queue: index.NewAnalysisQueue(0), health: newHealth()}
	idx, err := scorch.NewScorch(scorch.Name, options(path), s.queue)
	if err != nil {
		return nil, err
	}
	s.idx = idx.(*scorch.Scorch)
	s.watch()
	defer func() {
		if s.workers == nil {
			s.unwatch() // it failed or panicked
		}
	}()
	if err := idx.Open(); err != nil {
		return nil, err
	}
	s.workers = new(sync.WaitGroup)
	for range min(runtime.GOMAXPROCS(0), runtime.NumCPU()) {
		s.workers.Go(func() { index.AnalysisWorker(*s.queue) })
	}
	return s, nil
}

func options(path string) map[string]any {
	return map[string]any{
		"path": path, "eventCallbackName": callbacks, "asyncErrorCallbackName": callbacks,
		// The lock beside the store keeps other processes of ours out; a foreign
		// one must not make us wait for ever.
		"bolt_timeout": "1s",
		// Twice as many segments as scorch's own choice: a sixth less CPU for a
		// whole build, and queries hardly notice.
		"scorchMergePlanOptions": map[string]any{
			"MaxSegmentsPerTier": 20, "SegmentsPerMergeTask": 10, "TierGrowth": 10, "FloorSegmentSize": 2000,
			"MaxSegmentSize": 5_000_000, "MaxSegmentFileSize": 4 << 30, "ReclaimDeletesWeight": 2,
		},
	}
}

func (s *store) close() error {
	defer s.unwatch()
	err := s.end()
	s.queue.Close()
	s.workers.Wait()
	return err
}

// reader is a snapshot; the caller closes it.
func (s *store) reader(ctx context.Context) (index.IndexReader, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.idx.Reader()
}

// internal gives the value of a key beside the documents, nil if there is none.
func (s *store) internal(key string) ([]byte, error) {
	r, err := s.idx.Reader()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.GetInternal([]byte(key))
}

func (s *store) checkpoint() (streams.Checkpoint, error) {
	var c streams.Checkpoint
	b, err := s.internal(checkpointKey)
	if err != nil || b == nil {
		return c, err
	}
	if err := json.Unmarshal(b, &c); err != nil {
		return c, fmt.Errorf("%w: checkpoint: %w", ErrDamaged, err)
	}
	return c, nil
}

// checkRoot refuses a root.bolt that is shorter than it says: reading the
// missing pages would end the process. The layout is bbolt's: two meta pages of
// {page header 16, magic 4, version 4, page size 4, flags 4, root 16,
// freelist 8, high water mark 8}.
func checkRoot(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	const magic, at = 0xED0CDAED, 16
	var meta [at + 48]byte
	for offset := int64(0); offset <= 64<<10; offset = max(offset*2, 1<<10) {
		if _, err := f.ReadAt(meta[:], offset); err != nil {
			continue
		}
		if binary.NativeEndian.Uint32(meta[at:]) != magic {
			continue
		}
		page := int64(binary.NativeEndian.Uint32(meta[at+8:]))
		if high := int64(binary.NativeEndian.Uint64(meta[at+40:])); page <= 0 || high < 2 || high > st.Size()/page {
			return fmt.Errorf("%s: %d bytes, should be %d pages of %d", path, st.Size(), high, page)
		}
		return nil
	}
	return errors.New(path + ": no header")
}
