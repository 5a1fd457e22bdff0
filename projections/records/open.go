package records

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"cmem/streams"
	"cmem/streams/event"
)

// schema is raised with every change of what the buckets hold or of how facts
// become records; files of another schema are built again.
const schema = 2

// What Open and readers can say; compare with errors.Is.
var (
	// ErrLocked: another process holds the file. Nothing was touched.
	ErrLocked = errors.New("records are held by another process")
	// ErrForeign: the file is not one of records. Nothing was touched; build a new
	// one beside it, which keeps this one.
	ErrForeign = errors.New("not a records file")
	// ErrDamaged: the file is empty, cut short or unreadable. Nothing was
	// touched; build a new one beside it.
	ErrDamaged = errors.New("the records file is damaged")
	// ErrVersion: an older schema, or other versions of decoders and rules, made
	// it. Build a new one.
	ErrVersion = errors.New("records were made by another version")
	// ErrNewer: a newer cmem made it; it is an ErrVersion too.
	ErrNewer = fmt.Errorf("%w, a newer one", ErrVersion)
	// ErrClosed: the model was closed.
	ErrClosed = errors.New("records are closed")
)

// Config says what a model is made from. Zero values mean defaults.
type Config struct {
	Rules    func(event.Turn) event.Memory // pure; nil: no rules
	Versions string                        // of decoders and rules together; another one is ErrVersion
	Log      string                        // identity of the log; "" accepts any, another one is projections.ErrOtherLog
	Bulk     bool                          // a build nobody was promised: synced once, by Close
	LockWait time.Duration                 // how long to wait for another process; 0 is one second
	Logger   *slog.Logger                  // nil discards
}

// Store is an open model. Reading is safe from many goroutines and does not wait
// for Apply; Apply and Reset are for one at a time (projections.Projector).
type Store struct {
	db    *bolt.DB
	path  string
	c     Config
	build uint64 // names this build for followers

	// broken: a write met damage inside the file and may have left bbolt's locks
	// held.
	broken atomic.Bool

	mu      sync.Mutex // guards applied
	applied chan struct{}
}

// Open opens the model at path or makes an empty one; the folder must exist. A
// file that cannot be used is left as it is and the error says why: ErrLocked,
// ErrForeign, ErrDamaged, ErrVersion, ErrNewer or projections.ErrOtherLog.
func Open(path string, c Config) (*Store, error) {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.LockWait <= 0 {
		c.LockWait = time.Second
	}
	s := &Store{path: path, c: c, applied: make(chan struct{})}
	if err := s.open(); err != nil {
		return nil, fmt.Errorf("records %s: %w", path, err)
	}
	return s, nil
}

func (s *Store) open() (err error) {
	defer func() {
		if err != nil && s.db != nil {
			err = errors.Join(err, s.db.Close())
		}
	}()
	// A mapped file that is shorter than its pages say faults on reading.
	defer guard(&err)()
	size, err := check(s.path)
	if err != nil {
		return err
	}
	s.db, err = bolt.Open(s.path, 0o600, &bolt.Options{
		Timeout:      s.c.LockWait,
		FreelistType: bolt.FreelistMapType,
		NoSync:       s.c.Bulk,
		NoStatistics: true,
	})
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return fmt.Errorf("%w (waited %v)", ErrLocked, s.c.LockWait)
	case errors.Is(err, bolterrors.ErrInvalid), errors.Is(err, bolterrors.ErrChecksum), errors.Is(err, bolterrors.ErrVersionMismatch):
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	case err != nil && size < 0:
		return errors.Join(err, removeHalf(s.path))
	case err != nil:
		return err
	}
	if size < 0 {
		if err := s.db.Update(s.create); err != nil {
			// Half a file would be taken for a damaged one.
			err = errors.Join(err, s.db.Close(), removeHalf(s.path))
			s.db = nil
			return err
		}
		return nil
	}
	return s.db.View(s.accept)
}

// removeHalf removes a file that was to be made and could not be.
func removeHalf(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

const boltMagic = 0xED0CDAED

// check looks at the file before bbolt maps it: -1 if there is none, else its
// size, which is at least what its newest page says.
func check(path string) (int64, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return -1, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if info.Size() == 0 {
		return 0, fmt.Errorf("%w: it is empty", ErrDamaged)
	}
	return info.Size(), checkPages(f, info.Size())
}

// A meta page: 16 bytes of page header, then magic, version, page size, flags
// (4 bytes each), root (16), freelist (8), number of pages (8), transaction (8).
const (
	metaAt    = 16
	pagesAt   = metaAt + 40
	metaBytes = pagesAt + 16
)

func checkPages(f *os.File, size int64) error {
	head := make([]byte, metaBytes)
	if _, err := f.ReadAt(head, 0); err != nil {
		return fmt.Errorf("%w: %d bytes are less than its first page", ErrDamaged, size)
	}
	if binary.NativeEndian.Uint32(head[metaAt:]) != boltMagic {
		if string(head[:metaAt]) == string(make([]byte, metaAt)) {
			return fmt.Errorf("%w: its first page is blank", ErrDamaged)
		}
		return ErrForeign
	}
	page := int64(binary.NativeEndian.Uint32(head[metaAt+8:]))
	second := make([]byte, metaBytes)
	if _, err := f.ReadAt(second, page); err != nil {
		return fmt.Errorf("%w: %d bytes are less than two pages", ErrDamaged, size)
	}
	newest := head
	if binary.NativeEndian.Uint64(second[pagesAt+8:]) > binary.NativeEndian.Uint64(head[pagesAt+8:]) {
		newest = second
	}
	if pages := int64(binary.NativeEndian.Uint64(newest[pagesAt:])); size/page < pages {
		return fmt.Errorf("%w: it has %d of its %d pages", ErrDamaged, size/page, pages)
	}
	return nil
}

func (s *Store) create(tx *bolt.Tx) error {
	for _, name := range buckets() {
		if _, err := tx.CreateBucketIfNotExists(name); err != nil {
			return err
		}
	}
	info, err := os.Stat(s.path)
	if err != nil {
		return err
	}
	// Followers must tell this build from an earlier one of the same log: the
	// file's own birth does. No reader sees it.
	s.build = uint64(info.ModTime().UnixNano())
	meta := tx.Bucket(bMeta)
	return errors.Join(
		meta.Put(kSchema, []byte(strconv.Itoa(schema))),
		meta.Put(kVersions, []byte(s.c.Versions)),
		meta.Put(kBuild, key64(s.build)),
	)
}

// accept says whether the file was made by this version from this log.
func (s *Store) accept(tx *bolt.Tx) error {
	meta := tx.Bucket(bMeta)
	if meta == nil {
		if name, _ := tx.Cursor().First(); name == nil {
			return fmt.Errorf("%w: it was never finished", ErrDamaged)
		}
		return ErrForeign
	}
	if meta.Get(kSchema) == nil {
		return ErrForeign
	}
	made, err := strconv.Atoi(string(meta.Get(kSchema)))
	switch {
	case err != nil:
		return fmt.Errorf("%w: schema %q", ErrDamaged, meta.Get(kSchema))
	case made > schema:
		return fmt.Errorf("%w: schema %d, this is %d", ErrNewer, made, schema)
	case made < schema:
		return fmt.Errorf("%w: schema %d, this is %d", ErrVersion, made, schema)
	case string(meta.Get(kVersions)) != s.c.Versions:
		return fmt.Errorf("%w: %q, this is %q", ErrVersion, meta.Get(kVersions), s.c.Versions)
	}
	for _, name := range buckets() {
		if tx.Bucket(name) == nil {
			return fmt.Errorf("%w: bucket %q is missing", ErrDamaged, name)
		}
	}
	if raw := meta.Get(kBuild); len(raw) == 8 {
		s.build = binary.BigEndian.Uint64(raw)
	}
	at, err := readCheckpoint(tx)
	if err != nil {
		return err
	}
	return sameLog(at.Log, s.c.Log)
}

// guard makes a fault in mapped memory, and any other panic of reading, an
// error. Use: defer guard(&err)().
func guard(err *error) func() {
	before := debug.SetPanicOnFault(true)
	return func() {
		debug.SetPanicOnFault(before)
		if r := recover(); r != nil {
			*err = fmt.Errorf("%w: %v", ErrDamaged, r)
		}
	}
}

// view runs a read transaction.
func (s *Store) view(do func(tx *bolt.Tx) error) (err error) {
	defer guard(&err)()
	err = s.db.View(do)
	if errors.Is(err, bolterrors.ErrDatabaseNotOpen) {
		return ErrClosed
	}
	return err
}

// closeDamaged is how long Close waits for locks that a write into a damaged file
// may have left held for good.
const closeDamaged = time.Second

// Close waits for transactions and closes the file; who waits for changes gets
// ErrClosed. A second call does nothing. A file whose damage was met while it was
// written is let go of after a second: its locks may never come free, and nobody
// reads it any more.
func (s *Store) Close() error {
	defer s.announce()
	if s.broken.Load() {
		return s.abandon()
	}
	if s.c.Bulk {
		// What the build was made of is on disk before its name is.
		if err := s.db.Sync(); err != nil && !errors.Is(err, bolterrors.ErrDatabaseNotOpen) {
			return fmt.Errorf("records %s: %w", s.path, err)
		}
	}
	return s.db.Close()
}

func (s *Store) abandon() error {
	ctx, stop := context.WithTimeout(context.Background(), closeDamaged)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- s.db.Close() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		s.c.Logger.Warn("a damaged records file stays open until the process ends", "path", s.path)
		return nil
	}
}

// Name implements projections.Projection.
func (s *Store) Name() string { return "records" }

// Checkpoint is the last one applied; zero for an empty model.
func (s *Store) Checkpoint() (at streams.Checkpoint, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		at, err = readCheckpoint(tx)
		return err
	})
	return at, err
}

// Reset empties the model. Followers see another build.
func (s *Store) Reset() error {
	err := s.update(func(tx *bolt.Tx) error {
		for _, name := range buckets() {
			if err := tx.DeleteBucket(name); err != nil {
				return err
			}
		}
		build := s.build + 1
		if err := s.create(tx); err != nil {
			return err
		}
		s.build = max(build, s.build)
		return tx.Bucket(bMeta).Put(kBuild, key64(s.build))
	})
	if err != nil {
		return fmt.Errorf("records %s: reset: %w", s.path, err)
	}
	s.announce()
	return nil
}

// announce wakes who waits for changes.
func (s *Store) announce() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.applied)
	s.applied = make(chan struct{})
}

// next is closed at the next Apply.
func (s *Store) next() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.applied
}

// wait returns when the model is past after.
func (s *Store) wait(ctx context.Context, after streams.Position) error {
	for {
		news := s.next()
		at, err := s.Checkpoint()
		if err != nil || at.Position > after {
			return err
		}
		select {
		case <-news:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
