package search

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// health is what is known of the damage of a store.
type health struct {
	verified chan struct{} // closed: the segments are whole, they may be merged
	closing  chan struct{} // closed: the store is being closed
	broken   chan struct{} // closed: one of scorch's own goroutines met damage
	once     sync.Once
	why      error // written before broken is closed
}

func newHealth() health {
	return health{verified: make(chan struct{}), closing: make(chan struct{}), broken: make(chan struct{})}
}

// damaged is ErrDamaged once one of scorch's own goroutines met damage.
func (h *health) damaged() error {
	select {
	case <-h.broken:
		return fmt.Errorf("%w: %w", ErrDamaged, h.why)
	default:
		return nil
	}
}

func (h *health) spoil(err error) {
	h.once.Do(func() { h.why = err; close(h.broken) })
}

// callbacks is the name under which scorch finds ours.
const callbacks = "cmem"

// stores finds the store of a callback, by scorch and by path.
var stores sync.Map

func init() {
	scorch.RegistryEventCallbacks[callbacks] = onEvent
	scorch.RegistryAsyncErrorCallbacks[callbacks] = onAsyncError
}

func (s *store) watch() {
	stores.Store(s.idx, s)
	stores.Store(s.path, s)
}

func (s *store) unwatch() {
	stores.Delete(s.idx)
	stores.CompareAndDelete(s.path, s)
}

// onEvent is called by scorch in the goroutine that an event is of. That is the
// one way to make its merger and its persister survive a fault of mapped memory:
// as a panic it is caught there and told to onAsyncError. Segments are merged
// only after they were verified, and not in a store that is known to be damaged:
// scorch would try for ever.
func onEvent(e scorch.Event) bool {
	switch e.Kind {
	case scorch.EventKindPersisterProgress, scorch.EventKindPurgerCheck:
		debug.SetPanicOnFault(true)
	case scorch.EventKindPreMergeCheck:
		debug.SetPanicOnFault(true)
		if s, ok := stores.Load(e.Scorch); ok {
			return s.(*store).mayMerge()
		}
	}
	return true
}

func (h *health) mayMerge() bool {
	select {
	case <-h.verified:
	case <-h.closing:
		return false
	}
	if h.damaged() != nil {
		<-h.closing
		return false
	}
	return true
}

func onAsyncError(err error, path string) {
	s, ok := stores.Load(path)
	if !ok {
		return
	}
	var told *scorch.ScorchError
	if errors.Is(err, scorch.ErrAsyncPanic) || errors.As(err, &told) && told.Source == "merger" && !shortage(told.ErrMsg) {
		s.(*store).spoil(err)
	}
}

// shortage: the system had too little of something, or did not let us write; the
// files are well. scorch tells it as text only.
func shortage(message string) bool {
	for _, e := range []error{
		syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EACCES, syscall.EPERM, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM,
	} {
		if strings.Contains(message, e.Error()) {
			return true
		}
	}
	return false
}

// endDamaged is how long the goroutines of a damaged store have to end: one that
// panicked may be waited for by the others for good.
const endDamaged = 2 * time.Second

// end closes scorch. One that is damaged is let go of after a while.
func (s *store) end() error {
	close(s.closing)
	if s.damaged() == nil {
		return s.idx.Close()
	}
	ctx, stop := context.WithTimeout(context.Background(), endDamaged)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- s.idx.Close() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return nil
	}
}

// verify compares the checksum at the end of each segment in use with its bytes.
// That reads every file of the index once.
func (s *store) verify() error {
	r, err := s.idx.Reader()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	defer r.Close()
	for _, one := range r.(*scorch.IndexSnapshot).Segments() {
		on, ok := one.Segment().(segment.PersistedSegment)
		if !ok {
			continue // of memory
		}
		if err := checksum(on.Path()); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrDamaged, filepath.Base(on.Path()), err)
		}
	}
	return nil
}

// checksum: the last four bytes of a segment are the CRC-32 of all before.
func checksum(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	const last = 4
	if info.Size() < last {
		return fmt.Errorf("it has %d bytes", info.Size())
	}
	sum := crc32.NewIEEE()
	if _, err := io.CopyBuffer(onlyWriter{sum}, io.LimitReader(f, info.Size()-last), make([]byte, 256<<10)); err != nil {
		return err
	}
	var want [last]byte
	if _, err := io.ReadFull(f, want[:]); err != nil {
		return err
	}
	if binary.BigEndian.Uint32(want[:]) != sum.Sum32() {
		return errors.New("its checksum is not that of its bytes")
	}
	return nil
}

// onlyWriter keeps io.CopyBuffer to its buffer.
type onlyWriter struct{ io.Writer }

// guard makes a fault in mapped memory, and any other panic of reading a store,
// ErrDamaged. Use: defer guard(&err)().
func guard(err *error) func() {
	before := debug.SetPanicOnFault(true)
	return func() {
		debug.SetPanicOnFault(before)
		if r := recover(); r != nil {
			*err = fmt.Errorf("%w: %v", ErrDamaged, r)
		}
	}
}
