package drain

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"cmem/ingest/spool"
	"cmem/streams/durable"
)

// aside moves an entry into one of the spool's own folders. Nothing there is
// overwritten. It makes the move durable, since nobody will try it again.
func aside(dir, folder, name string) error {
	to := filepath.Join(dir, folder)
	durable.Reached("spool.to-" + folder)
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	target := filepath.Join(to, name)
	for n := 1; exists(target); n++ {
		target = filepath.Join(to, name+"."+strconv.Itoa(n))
	}
	if err := durable.Failpoint("spool.aside"); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(dir, name), target); err != nil {
		return err
	}
	return errors.Join(durable.SyncDir(to), durable.SyncDir(dir), durable.Failpoint("spool.moved"))
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Retry brings every held entry back into the spool, with a new 7 days, and
// says how many came back.
func Retry(dir string) (int, error) {
	held := filepath.Join(dir, spool.HeldDir)
	entries, err := os.ReadDir(held)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	n := 0
	for _, e := range entries {
		if !isEntry(e) || exists(filepath.Join(dir, e.Name())) {
			continue
		}
		if ferr := durable.Failpoint("retry.move"); ferr != nil {
			err = errors.Join(err, ferr)
			continue
		}
		if rerr := os.Rename(filepath.Join(held, e.Name()), filepath.Join(dir, e.Name())); rerr != nil {
			err = errors.Join(err, rerr)
			continue
		}
		n++
	}
	// The new names first: after a power cut between the two an entry has both.
	return n, errors.Join(err, durable.SyncDir(dir), durable.SyncDir(held), durable.Failpoint("retry.moved"))
}

// sweep removes temporary files that are too old to be still written. Their
// hook was killed, or had no room: it never said that it was done.
func (s *Spool) sweep() int {
	dir := filepath.Join(s.cfg.Dir, spool.TempDir)
	entries, err := os.ReadDir(dir)
	if err != nil {
		s.cfg.Logger.Warn("spool: temporary folder cannot be read", "err", err)
		return 0
	}
	n := 0
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || s.cfg.Now().Sub(info.ModTime()) < s.cfg.Stale {
			continue
		}
		if os.Remove(filepath.Join(dir, e.Name())) == nil {
			durable.Reached("spool.temporary-swept")
			n++
		}
	}
	return n
}

const refusalsFile = "failed.json"

// refusals remembers across restarts since when an entry is refused.
type refusals struct {
	since   map[string]time.Time
	changed bool
}

// load reads the file once in a Spool's life. A damaged file counts as none:
// the entries then get another 7 days.
func (r *refusals) load(dir string) {
	if r.since != nil {
		return
	}
	r.since = map[string]time.Time{}
	if data, err := os.ReadFile(filepath.Join(dir, refusalsFile)); err == nil {
		if json.Unmarshal(data, &r.since) != nil || r.since == nil {
			r.since = map[string]time.Time{}
		}
	}
}

// note gives the time of the first refusal, which is now if there was none. A
// time in the future is a clock that was wrong; it starts again.
func (r *refusals) note(name string, now time.Time) time.Time {
	if first, ok := r.since[name]; ok && !first.After(now) {
		return first
	}
	r.since[name], r.changed = now, true
	return now
}

func (r *refusals) clear(name string) {
	if _, ok := r.since[name]; ok {
		delete(r.since, name)
		r.changed = true
	}
}

// keep forgets all but these, which are sorted: somebody removed the others.
func (r *refusals) keep(names []string) {
	for name := range r.since {
		if _, there := slices.BinarySearch(names, name); !there {
			r.clear(name)
		}
	}
}

// save writes the file if something changed. The temporary file is made in the
// spool's own folder for them.
func (r *refusals) save(dir string) error {
	if !r.changed {
		return nil
	}
	data, err := json.Marshal(r.since)
	if err != nil {
		return err
	}
	if err := durable.WriteFileVia(filepath.Join(dir, spool.TempDir), filepath.Join(dir, refusalsFile), data, 0o600); err != nil {
		return err
	}
	r.changed = false
	return nil
}
