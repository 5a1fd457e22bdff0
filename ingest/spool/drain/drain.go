// Package drain empties the spool (package spool) into the log.
//
// Promise: an entry is removed only after the function it was handed to has
// returned nil for it. Nothing else is ever deleted but temporary files that
// nobody can be writing any more. What is no event goes to corrupt/; an entry
// that is refused again and again for 7 days, counted from its first refusal,
// goes to held/. Age alone expires nothing, and while the log takes nothing at
// all (ErrUnavailable) no entry is counted as refused. Files that are not the
// spool's are left alone and counted.
//
// Handing over twice is possible (killed between append and removal); the
// receiver knows ids it has seen.
package drain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cmem/ingest/spool"
	"cmem/streams/durable"
	"cmem/streams/envelope"
)

// ErrUnavailable in the chain of a Take's error says that the log takes nothing
// at the moment: the pass ends and no entry is counted as refused.
var ErrUnavailable = errors.New("the log is not available")

// Take receives envelopes in order of capture. nil: all are durable and their
// files may go.
type Take func(ctx context.Context, envs []envelope.Envelope) error

// Config of a Spool. Zero values are the defaults given.
type Config struct {
	Dir    string           // the spool folder; made where it is missing
	Now    func() time.Time // required
	Logger *slog.Logger     // required
	Batch  int              // envelopes handed over at once: 1,000
	Bytes  int64            // and about as many bytes at once: 8 MiB
	Hold   time.Duration    // how long a refused entry is tried: 7 days
	Stale  time.Duration    // how old a temporary file must be to go: 1 hour
	Max    int64            // a larger entry is no event: 256 MiB
}

// Spool is the worker's side of a spool folder. One goroutine at a time.
type Spool struct {
	cfg      Config
	refusals refusals
	done     map[string]bool // handed over, but the file could not be removed
}

// New prepares a Spool. It touches nothing yet.
func New(cfg Config) *Spool {
	cfg.Batch = cmp.Or(cfg.Batch, 1000)
	cfg.Bytes = cmp.Or(cfg.Bytes, 8<<20)
	cfg.Hold = cmp.Or(cfg.Hold, 7*24*time.Hour)
	cfg.Stale = cmp.Or(cfg.Stale, time.Hour)
	cfg.Max = cmp.Or(cfg.Max, 256<<20)
	return &Spool{cfg: cfg, done: map[string]bool{}}
}

// Report counts what one pass did.
type Report struct {
	Taken   int // handed over and removed
	Corrupt int // moved to corrupt/
	Held    int // moved to held/
	Failed  int // refused or unreadable, still there
	Foreign int // not the spool's, left alone
	Swept   int // temporary files removed
	Stuck   int // handed over, the file could not be removed
}

// Add sums counts over passes. Failed, Foreign and Stuck are states, not
// events: the later pass's count stands.
func (r *Report) Add(o Report) {
	r.Taken += o.Taken
	r.Corrupt += o.Corrupt
	r.Held += o.Held
	r.Swept += o.Swept
	r.Failed, r.Foreign, r.Stuck = o.Failed, o.Foreign, o.Stuck
}

// Once hands over every entry that is there now, oldest capture first. The
// error is the folder's, the context's or one with ErrUnavailable; what single
// entries suffer is in the report and the log.
func (s *Spool) Once(ctx context.Context, take Take) (Report, error) {
	p := pass{Spool: s, take: take}
	if err := spool.Make(s.cfg.Dir); err != nil {
		return p.report, fmt.Errorf("drain: %w", err)
	}
	s.refusals.load(s.cfg.Dir)
	names, err := p.list()
	if err != nil {
		return p.report, fmt.Errorf("drain: %w", err)
	}
	err = p.run(ctx, names)
	p.report.Swept = s.sweep()
	p.report.Stuck = len(s.done)
	return p.report, errors.Join(err, s.refusals.save(s.cfg.Dir))
}

// pass is one Once.
type pass struct {
	*Spool
	take   Take
	report Report
	names  []string // of batch
	batch  []envelope.Envelope
	bytes  int64
	failed int // refusals in a row
}

// list gives the names of the entries, sorted by capture. Directories, links
// and names that Put never gives are not entries; a link could lead anywhere.
func (p *pass) list() ([]string, error) {
	entries, err := os.ReadDir(p.cfg.Dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		switch {
		case isEntry(e):
			names = append(names, e.Name())
		case foreign(e):
			p.report.Foreign++
		}
	}
	p.forget(names)
	return names, nil // ReadDir sorts, and names sort by capture time
}

// Entries names the events in a folder of the spool, oldest capture first. A folder
// that is not there holds none. What only has an entry's name, like a link, is
// none: Once leaves it alone too.
func Entries(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if isEntry(e) {
			names = append(names, e.Name())
		}
	}
	return names, err
}

func isEntry(e fs.DirEntry) bool {
	_, named := spool.ParseName(e.Name())
	return named && e.Type().IsRegular()
}

// Foreign names what lies in a spool folder and is not the spool's, sorted. It is
// left alone for ever. A folder that cannot be read holds none.
func Foreign(dir string) (names []string) {
	entries, _ := os.ReadDir(dir) // gone or unreadable: Once says so
	for _, e := range entries {
		if foreign(e) {
			names = append(names, e.Name())
		}
	}
	return names
}

func foreign(e fs.DirEntry) bool {
	return !isEntry(e) && !ownName(e.Name())
}

// ownName: a folder or file of the spool that is no entry.
func ownName(name string) bool {
	return strings.HasPrefix(name, durable.TempPattern) ||
		slices.Contains([]string{spool.TempDir, spool.CorruptDir, spool.HeldDir, refusalsFile}, name)
}

// forget drops what is remembered of files that are gone.
func (p *pass) forget(names []string) {
	for name := range p.done {
		if _, there := slices.BinarySearch(names, name); !there {
			delete(p.done, name)
		}
	}
	p.refusals.keep(names)
}

func (p *pass) run(ctx context.Context, names []string) error {
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		if p.done[name] {
			p.remove(name)
			continue
		}
		if err := p.add(ctx, name); err != nil {
			return err
		}
	}
	return p.flush(ctx)
}

// add reads one entry into the batch and hands the batch over when it is full.
func (p *pass) add(ctx context.Context, name string) error {
	e, size, err := p.read(name)
	switch {
	case errors.Is(err, fs.ErrNotExist): // somebody else took it
		return nil
	case errors.Is(err, errCorrupt):
		p.corrupt(name, err)
		return nil
	case err != nil:
		p.refuse(name, err)
		return nil
	}
	p.names, p.batch, p.bytes = append(p.names, name), append(p.batch, e), p.bytes+size
	if len(p.batch) >= p.cfg.Batch || p.bytes >= p.cfg.Bytes {
		return p.flush(ctx)
	}
	return nil
}

var errCorrupt = errors.New("no event")

// read gives the entry's envelope and size.
func (p *pass) read(name string) (envelope.Envelope, int64, error) {
	path := filepath.Join(p.cfg.Dir, name)
	info, err := os.Lstat(path)
	if err != nil {
		return envelope.Envelope{}, 0, err
	}
	if info.Size() == 0 || info.Size() > p.cfg.Max {
		return envelope.Envelope{}, 0, fmt.Errorf("%w: %d bytes", errCorrupt, info.Size())
	}
	line, err := os.ReadFile(path)
	if err != nil {
		return envelope.Envelope{}, 0, err
	}
	e, err := envelope.Parse(line)
	if errors.Is(err, envelope.ErrMalformed) {
		return e, 0, fmt.Errorf("%w: %w", errCorrupt, err)
	}
	return e, info.Size(), err // a newer version's entry waits for its worker
}

// flush hands the batch over. If it is refused, its entries are offered one by
// one, so that one bad entry cannot keep the others out.
func (p *pass) flush(ctx context.Context) error {
	names, batch := p.names, p.batch
	p.names, p.batch, p.bytes = nil, nil, 0
	if len(batch) == 0 {
		return nil
	}
	err := p.take(ctx, batch)
	if err == nil {
		return p.taken(names)
	}
	if stop(ctx, err) {
		return err
	}
	for i, name := range names {
		if err := p.single(ctx, name, batch[i]); err != nil {
			return err
		}
	}
	return nil
}

func stop(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, ErrUnavailable)
}

// tries is how many entries in a row may be refused before the log itself is
// taken for the cause and is left in peace until the next pass.
const tries = 16

func (p *pass) single(ctx context.Context, name string, e envelope.Envelope) error {
	err := p.take(ctx, []envelope.Envelope{e})
	if err == nil {
		p.failed = 0
		return p.taken([]string{name})
	}
	if stop(ctx, err) {
		return err
	}
	p.refuse(name, err)
	if p.failed++; p.failed >= tries {
		return fmt.Errorf("drain: %d entries in a row refused: %w", p.failed, err)
	}
	return nil
}

// taken removes files whose events are in the log.
func (p *pass) taken(names []string) error {
	if err := durable.Failpoint("drain.appended"); err != nil {
		return err
	}
	// Killed from here on: the files that are left are handed over again.
	for _, name := range names {
		p.report.Taken++
		p.refusals.clear(name)
		p.remove(name)
	}
	return durable.Failpoint("drain.removed")
}

// remove keeps in mind what it could not remove, so that a read-only folder
// does not make the same events go round for ever.
func (p *pass) remove(name string) {
	err := os.Remove(filepath.Join(p.cfg.Dir, name))
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		delete(p.done, name)
		return
	}
	if !p.done[name] {
		p.cfg.Logger.Warn("spool entry is in the log but cannot be removed", "name", name, "err", err)
	}
	p.done[name] = true
}

// corrupt puts an entry aside for a person to look at.
func (p *pass) corrupt(name string, why error) {
	if err := aside(p.cfg.Dir, spool.CorruptDir, name); err != nil {
		p.report.Failed++
		p.cfg.Logger.Error("spool entry is no event and cannot be moved", "name", name, "why", why, "err", err)
		return
	}
	p.report.Corrupt++
	p.refusals.clear(name)
	p.cfg.Logger.Warn("spool entry is no event, moved to corrupt", "name", name, "why", why)
}

// refuse leaves an entry for the next pass, or holds it when it has been
// refused for long enough.
func (p *pass) refuse(name string, why error) {
	first := p.refusals.note(name, p.cfg.Now())
	if p.cfg.Now().Sub(first) < p.cfg.Hold {
		p.report.Failed++
		p.cfg.Logger.Warn("spool entry refused", "name", name, "since", first, "err", why)
		return
	}
	if err := aside(p.cfg.Dir, spool.HeldDir, name); err != nil {
		p.report.Failed++
		p.cfg.Logger.Error("spool entry cannot be moved to held", "name", name, "why", why, "err", err)
		return
	}
	p.report.Held++
	p.refusals.clear(name)
	p.cfg.Logger.Error("spool entry refused for too long, moved to held", "name", name, "since", first, "err", why)
}
