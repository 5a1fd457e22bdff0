package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"cmem/cmd/internal/api"
	"cmem/ingest/host"
	"cmem/observer/rules"
	"cmem/projections"
	"cmem/projections/contextcache"
	"cmem/projections/records"
	"cmem/streams"
	"cmem/streams/durable"
)

// contextModel is the context cache with the folder its texts are in. A new
// build writes into a folder of its own, so that what is compared was written by
// it; the texts move over when it is put in place.
type contextModel struct {
	*contextcache.Cache
	texts    string
	building bool
}

// complete marks a folder of texts whose build came to its end, and lists them.
const complete = ".complete"

// openContexts opens the cache at path; the texts of a build are beside.
func (n *Node) openContexts(path, final, log string) (*contextModel, error) {
	m := &contextModel{texts: n.dir.Context(), building: path != final}
	beside := n.dir.Context() + ".new"
	if m.building {
		m.texts = beside
		if err := errors.Join(os.RemoveAll(beside), os.MkdirAll(beside, 0o700)); err != nil {
			return nil, err
		}
	} else if err := adopt(beside, m.texts); err != nil {
		return nil, err
	}
	c := contextcache.Config{
		Reader: reader{n.records}, Zone: n.zone, Version: versions() + ", rules " + rules.Version + ", zone " + n.zone.String(), Log: log,
		Now: n.now, Logger: n.log,
		Path: func(project, host string) string {
			return filepath.Join(m.texts, filepath.Base(n.dir.ContextFile(project, host)))
		},
	}
	for _, name := range host.Names() {
		if h, ok := host.Hook(name); ok {
			c.Hosts = append(c.Hosts, contextcache.Host{Name: name, MaxBytes: h.ContextBytes})
		}
	}
	var err error
	if m.Cache, err = contextcache.Open(path, c); err == nil && m.building {
		err = m.Apply(nil, streams.Checkpoint{}) // an empty log leaves a state too
	}
	return m, err
}

// adopt moves the texts of a whole build into their place and drops what is not
// of it. A build that did not end is thrown away. Killed in between, it is done
// again: each text that moved is one that belongs there.
func adopt(from, to string) error {
	if _, err := os.Stat(filepath.Join(from, complete)); err != nil {
		return os.RemoveAll(from)
	}
	keep, err := builtTexts(from)
	if err != nil {
		return err
	}
	old, err := os.ReadDir(to)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	if err := durable.Failpoint("context.adopt"); err != nil {
		return err
	}
	for name := range keep {
		err := os.Rename(filepath.Join(from, name), filepath.Join(to, name))
		if errors.Is(err, fs.ErrNotExist) {
			durable.Reached("context.moved-before")
			continue
		}
		if err != nil {
			return err
		}
	}
	for _, f := range old {
		if !keep[f.Name()] && strings.HasSuffix(f.Name(), ".md") {
			if err := os.Remove(filepath.Join(to, f.Name())); err != nil {
				return err
			}
		}
	}
	if err := errors.Join(durable.SyncDir(to), durable.Failpoint("context.adopted")); err != nil {
		return err
	}
	return os.RemoveAll(from)
}

// builtTexts are the names of the texts that a whole build has, wherever they are
// by now: its mark lists them.
func builtTexts(dir string) (map[string]bool, error) {
	list, err := os.ReadFile(filepath.Join(dir, complete))
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for name := range strings.Lines(string(list)) {
		names[filepath.Base(strings.TrimSpace(name))] = true
	}
	return names, nil
}

// Digest is a hash over the texts as they are on the disk, in the order of names.
func (m *contextModel) Digest() (string, error) {
	if err := m.Flush(); err != nil {
		return "", err
	}
	files, err := os.ReadDir(m.texts)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	h := sha256.New()
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".md") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(m.texts, f.Name()))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %d\n%s", f.Name(), len(text), text)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Close writes what is marked; a build then says that it is whole.
func (m *contextModel) Close() error {
	if err := m.Flush(); err != nil {
		return errors.Join(err, m.Cache.Close())
	}
	if err := m.Cache.Close(); err != nil || !m.building {
		return err
	}
	texts, err := os.ReadDir(m.texts)
	if err != nil {
		return err
	}
	var list strings.Builder
	for _, f := range texts {
		fmt.Fprintln(&list, f.Name())
	}
	return durable.WriteFile(filepath.Join(m.texts, complete), []byte(list.String()), 0o600)
}

func (n *Node) contextTrack(path, log string) *track[records.Change, *contextModel] {
	return &track[records.Change, *contextModel]{
		name: "context", path: path, halted: n.stream.Halted() != nil, head: n.head, identity: log, log: n.log,
		open:    func(at string) (*contextModel, error) { return n.openContexts(at, path, log) },
		feed:    n.changes,
		damaged: []error{contextcache.ErrDamaged},
		dated:   []error{contextcache.ErrVersion, contextcache.ErrOtherLog, projections.ErrOtherLog},
		applied: func() { signal(n.marked) },
	}
}

// signal says something to whoever listens, once.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // it is said already
	}
}

// renewEvery is how often the texts of quiet projects are looked at.
const renewEvery = 3 * time.Hour

// followContexts keeps the texts up to date: marks as changes come, texts when
// they have come to rest.
func (n *Node) followContexts(ctx context.Context) {
	n.flushContexts((*contextcache.Cache).Renew)
	renew := time.NewTicker(renewEvery)
	defer renew.Stop()
	calm(ctx, n.marked, renew.C, n.cfg.ContextDebounce, func(again bool) {
		if again {
			n.flushContexts((*contextcache.Cache).Renew)
		}
		n.flushContexts((*contextcache.Cache).Flush)
	})
}

func (n *Node) flushContexts(write func(*contextcache.Cache) error) {
	if err := n.contexts.read(func(m *contextModel) error { return write(m.Cache) }); err != nil {
		n.log.Warn("context was not written", "err", err)
	}
}

// calm calls f once nothing was said on changed for wait, at the latest after
// ten times that, and with true when again ticks, until ctx is done.
func calm(ctx context.Context, changed <-chan struct{}, again <-chan time.Time, wait time.Duration, f func(again bool)) {
	quiet := time.NewTimer(wait)
	defer quiet.Stop()
	quiet.Stop()
	var since time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-again:
			f(true)
		case <-changed:
			if since.IsZero() {
				since = time.Now()
			}
			if time.Since(since) < 10*wait {
				quiet.Reset(wait)
			}
		case <-quiet.C:
			since = time.Time{}
			f(false)
		}
	}
}

// reader gives the contexts whatever build of records is in use.
type reader struct {
	records *track[projections.Entry, *records.Store]
}

// Projects: see contextcache.Reader.
func (r reader) Projects() (all []records.Project, err error) {
	err = r.records.read(func(s *records.Store) error { all, err = s.Projects(); return err })
	return all, err
}

// Observations: see contextcache.Reader.
func (r reader) Observations(f records.Filter) (all []records.Observation, err error) {
	err = r.records.read(func(s *records.Store) error { all, err = s.Observations(f); return err })
	return all, err
}

// Summaries: see contextcache.Reader.
func (r reader) Summaries(f records.Filter) (all []records.Summary, err error) {
	err = r.records.read(func(s *records.Store) error { all, err = s.Summaries(f); return err })
	return all, err
}

// Context renders what the next session of the projects is told. A project
// nobody knows has nothing to tell.
func (n *Node) Context(_ context.Context, r api.ContextRequest) (text string, err error) {
	err = n.Records(func(s *records.Store) error {
		var keys []string
		for _, name := range r.Projects {
			p, err := s.Project(name)
			switch {
			case err == nil:
				keys = append(keys, p.Key)
			case errors.Is(err, records.ErrNoProject):
			default:
				return api.ProjectError(name, err)
			}
		}
		if len(keys) == 0 {
			return nil
		}
		v, err := contextcache.Collect(s, keys, contextcache.Limits{})
		if err != nil {
			return err
		}
		o := contextcache.Options{Host: r.Host, Zone: r.Zone, Person: r.Colours}
		if r.Full {
			o.MaxBytes, o.Full = -1, 1<<20
		}
		text = contextcache.Render(v, o)
		return nil
	})
	return text, err
}
