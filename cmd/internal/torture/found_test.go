//go:build failpoint && linux

package torture

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"cmem/cmd/internal/config"
	"cmem/cmd/internal/worker"
	"cmem/ingest/home"
	"cmem/projections/records"
	"cmem/streams"
	"cmem/streams/envelope"
)

// expectation is what has to be found in a data folder.
type expectation struct {
	sent    []string // tool ids that are in the log once
	maybe   []string // that may be, once
	lost    int      // how many of sent may be missing, each of them named as lost
	rebuilt bool     // read models may tell more than the log until they are built again
	found   bool     // something else than a kill was done to the files: findings are no mistake
}

// check opens a data folder with nothing else running and says what is wrong.
func check(dir string, want expectation) error {
	ctx := context.Background()
	tools, err := openAndRebuild(ctx, home.Dir(dir), want)
	if err != nil {
		return err
	}
	have, err := readLog(ctx, home.Dir(dir), want)
	if err != nil {
		return err
	}
	if err := compare(have, want); err != nil {
		return err
	}
	if tools != len(have) {
		return fmt.Errorf("records know %d tool uses, the log has %d", tools, len(have))
	}
	if left := waiting(home.Dir(dir)); len(left) > 0 {
		return fmt.Errorf("left in the spool: %v", left)
	}
	return nil
}

// newerEntry ends the name of an entry that waits for a later version of the worker.
const newerEntry = "-1-00000000000000ab.json"

// waiting are the entries of the spool that this version can take in.
func waiting(dir home.Dir) []string {
	all, _ := filepath.Glob(filepath.Join(dir.Spool(), "*-*.json"))
	return slices.DeleteFunc(all, func(path string) bool { return strings.HasSuffix(path, newerEntry) })
}

// openAndRebuild drains, builds every read model again and compares; it gives the
// number of tool uses that records know.
func openAndRebuild(ctx context.Context, dir home.Dir, want expectation) (tools int, err error) {
	cfg := config.Default()
	cfg.ReserveMB, cfg.Zone = -1, "UTC"
	var warned findings
	n, err := worker.Open(ctx, dir, cfg, slog.New(&warned))
	if err != nil {
		return 0, fmt.Errorf("it does not open: %w", err)
	}
	defer func() { err = errors.Join(err, n.Close()) }()
	if all := warned.list(); len(all) > 0 && !want.found {
		return 0, fmt.Errorf("opened after nothing but a crash: %q", all)
	}
	if want.lost > 0 || want.rebuilt {
		// Read models go on telling what the log has lost until they are built again.
		if _, err := rebuilt(ctx, n); err != nil {
			return 0, err
		}
	}
	if err := verifyModels(ctx, n); err != nil {
		return 0, err
	}
	err = n.Records(func(s *records.Store) error {
		all, err := s.Sessions(records.Filter{Limit: 1000})
		for _, x := range all {
			tools += x.Counts.ToolUses + x.Counts.Orphans
		}
		return err
	})
	return tools, err
}

// findings is a logger that keeps what the log found not to be as it ought to be.
type findings struct {
	mu  sync.Mutex
	all []string
}

func (f *findings) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }
func (f *findings) WithAttrs([]slog.Attr) slog.Handler           { return f }
func (f *findings) WithGroup(string) slog.Handler                { return f }

func (f *findings) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "found" {
			f.mu.Lock()
			f.all = append(f.all, a.Value.String())
			f.mu.Unlock()
		}
		return true
	})
	return nil
}

func (f *findings) list() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.all
}

// readLog gives how often each tool id is in the log, after verifying its chain.
func readLog(ctx context.Context, dir home.Dir, want expectation) (map[string]int, error) {
	l, err := streams.Open(ctx, streams.Config{Dir: dir.Log(), Reserve: -1, HeadFile: dir.Head()})
	if err != nil {
		return nil, fmt.Errorf("the log does not open again: %w", err)
	}
	defer l.Close()
	have := map[string]int{}
	for r, err := range l.Read(ctx, 0) {
		if err != nil {
			return nil, fmt.Errorf("read the log: %w", err)
		}
		if i := strings.LastIndex(r.Envelope.ID, "/toolu_"); i >= 0 && r.Envelope.Type == envelope.HookReceived {
			have[r.Envelope.ID[i+1:]]++
		}
	}
	report, err := l.Verify(ctx, nil)
	if err != nil {
		return nil, err
	}
	if !report.OK() {
		return nil, fmt.Errorf("verify: %+v", report)
	}
	if found := l.Opening().Found; len(found) > 0 && !want.found {
		return nil, fmt.Errorf("opened again after a clean stop: %q", found)
	}
	findings, err := l.Findings()
	if err != nil {
		return nil, err
	}
	if !want.found {
		for _, f := range findings {
			if f.Count() > 0 {
				return nil, fmt.Errorf("damage was found where none was done: %+v", f)
			}
		}
	}
	return have, nil
}

// compare says what is missing, twice there, or there and never sent.
func compare(have map[string]int, want expectation) error {
	var errs []error
	missing := 0
	for _, id := range want.sent {
		switch n := have[id]; {
		case n == 0:
			if missing++; missing > want.lost {
				errs = append(errs, fmt.Errorf("%s was handed off and is not in the log", id))
			}
		case n > 1:
			errs = append(errs, fmt.Errorf("%s is in the log %d times", id, n))
		}
	}
	known := append(slices.Clone(want.sent), want.maybe...)
	for _, id := range slices.Sorted(maps.Keys(have)) {
		if !slices.Contains(known, id) {
			errs = append(errs, fmt.Errorf("%s is in the log and was never sent", id))
		} else if have[id] > 1 && !slices.Contains(want.sent, id) {
			errs = append(errs, fmt.Errorf("%s is in the log %d times", id, have[id]))
		}
	}
	return errors.Join(errs...)
}
