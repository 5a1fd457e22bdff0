package home

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Counters are files run/counters/<name>.<day> of lines "<unix ns> <n>", each
// line one append that the file system keeps whole, so any number of processes
// count at once without a lock. A crash loses at most the counts of a second.
// FoldCounters moves finished days into <name>.total ("<n> <first ns> <last
// ns> <through day>"); days up to "through" are then no longer read, so a crash
// between writing the total and removing the days counts nothing twice.

// Counter is what was counted under one name.
type Counter struct {
	Name        string
	N           int64
	First, Last time.Time // of the counts, zero if none
}

// Count adds n to a counter. The name may be any text; it is escaped for the
// file system and cut to 100 bytes. The folder must be made.
func (d Dir) Count(name string, n int64) error {
	now := time.Now()
	path := filepath.Join(d.CounterDir(), counterFile(name)+"."+day(now))
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("count %s: %w", counterFile(name), err)
	}
	line := strconv.AppendInt(nil, now.UnixNano(), 10)
	line = append(strconv.AppendInt(append(line, ' '), n, 10), '\n')
	_, err = f.Write(line)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("count %s: %w", counterFile(name), err)
	}
	return nil
}

// Counters reads all counters, ordered by name. A folder that is not there yet
// has none.
func (d Dir) Counters() ([]Counter, error) {
	all, err := d.readCounters("9")
	if err != nil {
		return nil, err
	}
	out := make([]Counter, 0, len(all))
	for _, t := range all {
		if !t.First.IsZero() {
			out = append(out, t.Counter)
		}
	}
	slices.SortFunc(out, func(a, b Counter) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// FoldCounters sums up all days before yesterday, so that counters do not grow
// for ever. One process at a time may call it (the worker); others may count
// meanwhile: nobody appends to a day that is over.
func (d Dir) FoldCounters(now time.Time) error {
	through := day(now.AddDate(0, 0, -2))
	all, err := d.readCounters(through)
	if err != nil {
		return err
	}
	for file, t := range all {
		if len(t.days) == 0 {
			continue
		}
		if err := d.writeTotal(file, through, t); err != nil {
			return err
		}
		for _, path := range t.days {
			if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
				return fmt.Errorf("fold counters: %w", err)
			}
		}
	}
	return nil
}

type tally struct {
	Counter
	through string
	days    []string // files of single days, counted in or covered by the total
}

// readCounters sums the totals and the days up to through, by escaped name.
func (d Dir) readCounters(through string) (map[string]*tally, error) {
	entries, err := os.ReadDir(d.CounterDir())
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("counters: %w", err)
	}
	all := map[string]*tally{}
	// "total" sorts after every day; it must be known first.
	for _, e := range slices.Backward(entries) {
		file, part, ok := strings.Cut(e.Name(), ".")
		if !ok || part != "total" && part > through {
			continue
		}
		data, err := os.ReadFile(filepath.Join(d.CounterDir(), e.Name()))
		if os.IsNotExist(err) {
			continue // folded while we read
		}
		if err != nil {
			return nil, fmt.Errorf("counters: %w", err)
		}
		t := all[file]
		if t == nil {
			t = &tally{Counter: Counter{Name: unescape(file)}}
			all[file] = t
		}
		if part == "total" {
			t.addTotal(data)
			continue
		}
		t.days = append(t.days, filepath.Join(d.CounterDir(), e.Name()))
		if part > t.through {
			t.addDay(data)
		}
	}
	return all, nil
}

func (t *tally) addTotal(data []byte) {
	var first, last int64
	var n int64
	var through string
	if _, err := fmt.Sscan(string(data), &n, &first, &last, &through); err != nil {
		return
	}
	t.through = through
	t.add(n, time.Unix(0, first))
	t.add(0, time.Unix(0, last))
}

// addDay skips lines it cannot read: a torn line is one lost count.
func (t *tally) addDay(data []byte) {
	for line := range bytes.Lines(data) {
		at, n, ok := strings.Cut(strings.TrimSuffix(string(line), "\n"), " ")
		ns, err1 := strconv.ParseInt(at, 10, 64)
		v, err2 := strconv.ParseInt(n, 10, 64)
		if ok && err1 == nil && err2 == nil {
			t.add(v, time.Unix(0, ns))
		}
	}
}

func (t *tally) add(n int64, at time.Time) {
	t.N += n
	if t.First.IsZero() || at.Before(t.First) {
		t.First = at
	}
	if at.After(t.Last) {
		t.Last = at
	}
}

func (d Dir) writeTotal(file, through string, t *tally) error {
	path := filepath.Join(d.CounterDir(), file+".total")
	line := fmt.Sprintf("%d %d %d %s\n", t.N, t.First.UnixNano(), t.Last.UnixNano(), through)
	tmp := filepath.Join(d.CounterDir(), "."+file)
	if err := os.WriteFile(tmp, []byte(line), 0o600); err != nil {
		return fmt.Errorf("fold counters: %w", err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return fmt.Errorf("fold counters: %w", err)
	}
	return nil
}

func day(t time.Time) string { return t.UTC().Format("20060102") }

const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"

// counterFile escapes a name: %XX for everything outside plain, so that it is a
// file name everywhere and holds no dot.
func counterFile(name string) string {
	var b strings.Builder
	for i := 0; i < len(name) && b.Len() < 98; i++ {
		if strings.IndexByte(plain, name[i]) >= 0 {
			b.WriteByte(name[i])
		} else {
			fmt.Fprintf(&b, "%%%02X", name[i])
		}
	}
	if b.Len() == 0 {
		return "_"
	}
	return b.String()
}

func unescape(file string) string {
	var b []byte
	for i := 0; i < len(file); i++ {
		if file[i] == '%' && i+2 < len(file) {
			if c, err := strconv.ParseUint(file[i+1:i+3], 16, 8); err == nil {
				b = append(b, byte(c))
				i += 2
				continue
			}
		}
		b = append(b, file[i])
	}
	return string(b)
}
