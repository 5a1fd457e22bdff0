package worker

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"cmem/cmd/internal/api"
	"cmem/cmd/internal/config"
	"cmem/ingest"
	"cmem/ingest/home"
	"cmem/observer/rules"
	"cmem/projections"
	"cmem/projections/records"
	"cmem/projections/search"
	"cmem/replay"
	"cmem/streams"
)

// Node is the composed rooms over one data folder. It implements what package
// api asks for.
type Node struct {
	dir      home.Dir
	cfg      config.Config
	log      *slog.Logger
	now      func() time.Time
	zone     *time.Location
	instance string
	started  time.Time
	phases   *phases
	used     atomic.Int64 // when a request or an event came last, Unix ns
	stop     func()       // asks a worker to stop; nil in process

	streams    context.Context // of requests without an end of their own
	endStreams func()

	// What follows is set by open, once, before opened is closed.
	opened   chan struct{}
	stream   *streams.Log
	unclean  *unclean // a stop that somebody is to be told of
	records  *track[projections.Entry, *records.Store]
	search   *track[records.Change, *search.Index]
	contexts *track[records.Change, *contextModel]
	repair   repairs
	untold   atomic.Bool   // the log lost something and has not said so
	marked   chan struct{} // a context may have changed

	// And by prepare, before prepared is closed.
	prepared chan struct{}
	ingester *ingest.Ingester
	drainer  *ingest.Drainer
	idle     *idle

	addresses sync.Mutex // guards the two
	socket    string
	port      int

	delivered delivered
	cleaner   cleaner
	saving    sync.Mutex // one save at a time, so that equal ones meet
	disk      diskWatch
}

// newNode opens nothing yet.
func newNode(dir home.Dir, cfg config.Config, log *slog.Logger, now func() time.Time) *Node {
	var id [8]byte
	rand.Read(id[:])
	n := &Node{
		dir: dir, cfg: cfg, log: log, now: now, zone: cfg.Location(), instance: hex.EncodeToString(id[:]), started: now(),
		phases: newPhases(), opened: make(chan struct{}), prepared: make(chan struct{}), marked: make(chan struct{}, 1),
	}
	n.streams, n.endStreams = context.WithCancel(context.Background())
	n.touch()
	return n
}

// Open composes the rooms and brings everything to the head: what lies in the
// spool is drained, the read models have caught up. It fails at once where
// another process holds the log (streams.ErrLocked names it), where the folder
// is not ours (home.ErrForeign, streams.ErrForeign) or a newer version's
// (streams.ErrNewer); then nothing was touched.
func Open(ctx context.Context, dir home.Dir, cfg config.Config, log *slog.Logger) (*Node, error) {
	n := newNode(dir, cfg, log, time.Now)
	if err := n.bringUp(ctx); err != nil {
		return nil, err
	}
	return n, nil
}

// bringUp is what Open does with a node; on an error nothing is open any more.
func (n *Node) bringUp(ctx context.Context) error {
	if err := n.open(ctx); err != nil {
		return err
	}
	err := n.prepare(ctx)
	if err == nil && n.stream.Halted() == nil {
		err = n.catchUp(ctx)
	}
	if err != nil {
		return errors.Join(err, n.Close())
	}
	n.reach(api.PhaseReady)
	return nil
}

// open opens the log and what read models can be used as they are.
func (n *Node) open(ctx context.Context) (err error) {
	if err := RequireOwnDisk(n.dir, n.cfg); err != nil {
		return err
	}
	if err := n.dir.Make(); err != nil {
		return err
	}
	keyMissing, err := n.checkKey()
	if err != nil {
		return err
	}
	if n.stream, err = streams.Open(ctx, n.logConfig()); err != nil {
		if errors.Is(err, streams.ErrMissing) || errors.Is(err, streams.ErrDamaged) {
			n.trouble(err)
		}
		return err
	}
	n.trouble(n.halt())
	n.meetStop()
	for _, found := range n.stream.Opening().Found {
		n.log.Warn("log", "found", found)
	}
	if err := n.knowKey(keyMissing); err != nil {
		return errors.Join(err, n.stream.Close())
	}
	n.reach(api.PhaseLogReady)
	n.makeTracks()
	for _, load := range []func() error{n.records.load, n.search.load, n.contexts.load} {
		if err := load(); err != nil {
			return errors.Join(err, n.closeModels(), n.stream.Close())
		}
	}
	if n.stream.Halted() != nil {
		close(n.opened)
		return nil
	}
	if err := n.tellDamage(ctx); err != nil {
		n.untold.Store(true)
		n.log.Warn("what is damaged in the log was not told in it", "err", err)
	}
	close(n.opened)
	return nil
}

// logConfig says what the log is and what is remembered of it.
func (n *Node) logConfig() streams.Config {
	reserve := int64(n.cfg.ReserveMB) << 20
	if n.cfg.ReserveMB == 0 {
		reserve = -1
	}
	c := streams.Config{
		Dir: n.dir.Log(), Logger: n.log, Reserve: reserve, HeadFile: n.dir.Head(),
		Accept: n.repair.accept, Scan: n.repair.scan, AllowNetwork: n.cfg.AllowNetworkFS,
	}
	if at := records.Remembered(filepath.Join(n.dir.Read(), recordsName)); at.Position > 0 {
		c.Seen = []streams.Seen{{Who: "the read model of records", At: at}}
	}
	return c
}

// prepare brings records to the head, so that the Ingester knows all ids, and
// takes in what waits in the spool.
func (n *Node) prepare(ctx context.Context) (err error) {
	if n.stream.Halted() != nil {
		return nil // nothing can be taken in, and read models are not to follow
	}
	if err := n.catchUpRecords(ctx); err != nil {
		return err
	}
	if n.ingester, err = ingest.New(ctx, ingest.Config{Log: n.stream, Table: told{table{n.records}, n}, Logger: n.log}); err != nil {
		return err
	}
	n.drainer = ingest.NewDrainer(ingest.DrainConfig{Ingester: n.ingester, Dir: n.dir.Spool(), Now: n.now, Logger: n.log})
	if err := n.drainer.RunOnce(ctx); err != nil {
		n.log.Warn("spool was not drained", "err", err)
	}
	if err := n.catchUpRecords(ctx); err != nil {
		return err
	}
	close(n.prepared)
	n.reach(api.PhaseProjectionsReady)
	return nil
}

const recordsName = "records.db"

// reach says that a phase is reached.
func (n *Node) reach(p api.Phase) {
	n.phases.set(api.Progress{Phase: p})
	n.log.Debug("phase", "phase", string(p), "after", n.now().Sub(n.started).Round(100*time.Microsecond).String())
}

// versions name everything that decides what records hold beside their schema.
func versions() string { return "decode " + ingest.DecodeVersion + ", rules " + rules.Version }

func (n *Node) head() streams.Position { return n.stream.Head().Position }

// makeTracks says of each read model where it lies and how it is opened.
func (n *Node) makeTracks() {
	log := n.stream.Identity()
	n.idle = newIdle(n.now, n.cfg.SessionIdle)
	feed := &tap{feed: projections.NewLogFeed(n.stream, ingest.Decode), seen: n.idle.observe}
	place := func(name string) string { return filepath.Join(n.dir.Read(), name) }
	halted := n.stream.Halted() != nil
	rule := rules.Turn
	if !n.cfg.Observe {
		rule = nil
	}
	n.records = &track[projections.Entry, *records.Store]{
		name: "records", path: place(recordsName), halted: halted, head: n.head, identity: log, log: n.log,
		open: func(path string) (*records.Store, error) {
			return records.Open(path, records.Config{
				Rules: rule, Versions: versions() + observing(n.cfg.Observe), Log: log, Logger: n.log,
				Bulk: path != place(recordsName),
			})
		},
		feed:   func() projections.Feed[projections.Entry] { return feed },
		locked: records.ErrLocked, damaged: []error{records.ErrDamaged},
		dated: []error{records.ErrVersion, projections.ErrOtherLog},
	}
	n.search = &track[records.Change, *search.Index]{
		name: "search", path: place("search"), halted: halted, head: n.head, identity: log, log: n.log,
		open: func(path string) (*search.Index, error) {
			return search.Open(path, search.Config{Source: source{n.records}, Version: versions(), Log: log, Logger: n.log})
		},
		feed:   n.changes,
		locked: search.ErrLocked, damaged: []error{search.ErrDamaged},
		dated: []error{search.ErrVersion, search.ErrOtherLog, projections.ErrOtherLog},
	}
	n.contexts = n.contextTrack(place("context"), log)
}

// observing is part of the version: with other settings records hold other things.
func observing(on bool) string {
	if on {
		return ""
	}
	return ", off"
}

// changes is records as a feed, of the build that is in use now.
func (n *Node) changes() projections.Feed[records.Change] { return follow{n.records} }

// follow is the feed of whatever build of records is in use.
type follow struct {
	records *track[projections.Entry, *records.Store]
}

// Next reads from the build in use.
func (f follow) Next(ctx context.Context, c streams.Checkpoint, limit int) (batch []records.Change, upto streams.Checkpoint, err error) {
	err = f.records.read(func(s *records.Store) error {
		batch, upto, err = s.Changes().Next(ctx, c, limit)
		return err
	})
	return batch, upto, err
}

// Wait does not hold the build: a swap must not wait for a change to come.
func (f follow) Wait(ctx context.Context, c streams.Checkpoint) error {
	var feed projections.Feed[records.Change]
	if err := f.records.read(func(s *records.Store) error { feed = s.Changes(); return nil }); err != nil {
		return err
	}
	err := feed.Wait(ctx, c)
	if errors.Is(err, records.ErrClosed) {
		return nil // another build is in use: look again
	}
	return err
}

// table is the id table of whatever build of records is in use.
type table struct {
	records *track[projections.Entry, *records.Store]
}

// Lookup: see ingest.Table.
func (t table) Lookup(ids []string) (held []streams.Held, at streams.Checkpoint, err error) {
	err = t.records.read(func(s *records.Store) error {
		held, at, err = s.Lookup(ids)
		return err
	})
	return held, at, err
}

// Captures: see ingest.Table.
func (t table) Captures(session string, from, to time.Time) (found []streams.Capture, err error) {
	err = t.records.read(func(s *records.Store) error {
		found, err = s.Captures(session, from, to)
		return err
	})
	return found, err
}

// source tells search what a document holds.
type source struct {
	records *track[projections.Entry, *records.Store]
}

// Document: see search.Source.
func (s source) Document(d records.Doc) (doc records.Document, ok bool, err error) {
	err = s.records.read(func(r *records.Store) error {
		doc, ok, err = r.Document(d)
		return err
	})
	return doc, ok, err
}

// Records gives the records in use to f.
func (n *Node) Records(f func(*records.Store) error) error {
	if err := n.isOpen(); err != nil {
		return err
	}
	return n.mended(func() error { return n.records.read(f) })
}

// Search gives the index in use to f.
func (n *Node) Search(f func(*search.Index) error) error {
	if err := n.isOpen(); err != nil {
		return err
	}
	return n.mended(func() error { return n.search.read(f) })
}

func (n *Node) isOpen() error { return n.when(n.opened) }

// isPrepared: envelopes can be taken in.
func (n *Node) isPrepared() error { return n.when(n.prepared) }

func (n *Node) when(ready <-chan struct{}) error {
	select {
	case <-ready:
		return nil
	default:
	}
	if err := n.haltedError(); err != nil {
		return err
	}
	p := n.phases.now()
	if p.Phase == api.PhaseFailed {
		return api.Errorf(api.Internal, "the worker could not start: %s", p.Message)
	}
	return api.Errorf(api.Starting, "the worker is starting (%s)", p.Phase)
}

// Identity says whose node this is.
func (n *Node) Identity() api.Identity {
	return api.Identity{Data: string(n.dir), Version: config.Version, Instance: n.instance, PID: os.Getpid()}
}

// Phase is the last phase reached.
func (n *Node) Phase() api.Progress {
	p := n.phases.now()
	if p.Phase != api.PhaseReady {
		return p
	}
	for _, m := range n.ModelStates() {
		if m.State != stateReady {
			p.Message = fmt.Sprintf("%s is %s, %d %%", m.Name, m.State, m.Percent)
		}
	}
	for _, f := range n.Storage() {
		if f.Severity == api.Broken {
			p.Message = f.What
			break
		}
	}
	return p
}

// Phases tells every phase; with the last one, what is not well although it is
// reached.
func (n *Node) Phases(ctx context.Context, tell func(api.Progress) error) error {
	return n.phases.watch(ctx, func(p api.Progress) error {
		if p.Phase == api.PhaseReady {
			p = n.Phase()
		}
		return tell(p)
	})
}

// Storage says what the disk, or the rights to it, keep the node from doing.
func (n *Node) Storage() []api.Finding {
	if n.isOpen() != nil {
		return nil
	}
	return n.troubles()
}

func (n *Node) touch() { n.used.Store(n.now().UnixNano()) }

// Close ends what Open began, outside-in: read models first, then the log. What
// was found damaged and has no loop to build it again is built here.
func (n *Node) Close() error {
	n.endStreams()
	var err error
	if n.stop == nil && n.isPrepared() == nil && n.anyDue() {
		err = n.catchUp(context.Background())
	}
	err = errors.Join(err, n.closeModels(), n.stream.Close())
	debug.FreeOSMemory()
	return err
}

func (n *Node) closeModels() error {
	var errs []error
	for _, c := range []io.Closer{closer(n.contexts.close), closer(n.search.close), closer(n.records.close)} {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

type closer func() error

func (c closer) Close() error { return c() }

var _ replay.Model[projections.Entry] = (*records.Store)(nil)
