package ingest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"syscall"
	"time"

	"cmem/ingest/spool/drain"
	"cmem/streams"
	"cmem/streams/durable"
	"cmem/streams/envelope"
)

// DrainConfig of a Drainer. Ingester, Dir, Now and Logger are required.
type DrainConfig struct {
	Ingester *Ingester
	Dir      string // the spool folder
	Now      func() time.Time
	Logger   *slog.Logger
	Ticker   drain.Ticker // nil: the clock's
	Hold     time.Duration
}

// Counts are a Drainer's totals since it was made. Corrupt, HeldOver and Failed
// are about files, the others about envelopes.
type Counts struct {
	Added, Held, Duplicates, Conflicts int // as Result says

	Corrupt  int // moved to spool/corrupt
	HeldOver int // moved to spool/held
	Failed   int // refused, will be tried again
	Foreign  int // files in the spool that are not its own
	Stuck    int // in the log, but the file could not be removed
}

// Drainer moves what hooks have spooled into the log: append, then remove.
type Drainer struct {
	cfg   DrainConfig
	spool *drain.Spool
	nudge chan struct{}

	running sync.Mutex // one pass at a time
	mu      sync.Mutex // guards counts
	counts  Counts
	files   drain.Report
	failure error // of the last pass; nil: it went well
}

// NewDrainer prepares a Drainer; it starts nothing.
func NewDrainer(cfg DrainConfig) *Drainer {
	if cfg.Ticker == nil {
		cfg.Ticker = drain.NewTicker
	}
	return &Drainer{
		cfg:   cfg,
		spool: drain.New(drain.Config{Dir: cfg.Dir, Now: cfg.Now, Logger: cfg.Logger, Hold: cfg.Hold}),
		nudge: make(chan struct{}, 1),
	}
}

// RunOnce takes in every entry that is there now.
func (d *Drainer) RunOnce(ctx context.Context) error {
	_, err := d.once(ctx)
	return err
}

// RunToEnd takes in entries until a pass finds none that could be taken in.
func (d *Drainer) RunToEnd(ctx context.Context) error {
	for {
		taken, err := d.once(ctx)
		if taken == 0 || err != nil {
			return err
		}
	}
}

// Run takes in entries as they come until ctx is done; then it returns nil. A
// log that takes nothing is tried again at the next sign, at the latest after
// 30 s. One Run at a time.
func (d *Drainer) Run(ctx context.Context) error {
	// The first pass makes the folder, so that it can be watched; what comes
	// between the two is seen by the pass after.
	_ = d.RunOnce(ctx) // told by tell
	watch := drain.NewWatch(d.cfg.Dir, d.cfg.Logger, d.cfg.Ticker)
	defer watch.Close()
	for ctx.Err() == nil {
		_ = d.RunToEnd(ctx)
		if watch.Wait(ctx, d.nudge) != nil {
			break
		}
	}
	return nil
}

// Nudge makes Run look at once. It never blocks.
func (d *Drainer) Nudge() {
	select {
	case d.nudge <- struct{}{}:
	default: // one is waiting already
	}
}

// Counts gives the totals so far.
func (d *Drainer) Counts() Counts {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.counts
	c.Corrupt, c.HeldOver = d.files.Corrupt, d.files.Held
	c.Failed, c.Foreign, c.Stuck = d.files.Failed, d.files.Foreign, d.files.Stuck
	return c
}

func (d *Drainer) once(ctx context.Context) (taken int, err error) {
	d.running.Lock()
	defer d.running.Unlock()
	report, err := d.spool.Once(ctx, d.take)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.files.Add(report)
	if ctx.Err() == nil {
		d.tell(err)
	}
	return report.Taken, err
}

// tell remembers how a pass ended; a failure is logged when it comes or changes,
// not at each pass that meets it again. The caller holds mu.
func (d *Drainer) tell(err error) {
	switch {
	case err == nil && d.failure != nil:
		durable.Reached("drain.resumed")
		d.cfg.Logger.Info("the spool is emptied again")
	case err != nil && (d.failure == nil || !sameFailure(err, d.failure)):
		durable.Reached("drain.failed")
		d.cfg.Logger.Warn("spool pass failed, entries stay", "err", err)
	}
	d.failure = err
}

// sameFailure: figures in the text (free space) are no change.
func sameFailure(a, b error) bool {
	for _, kind := range []error{streams.ErrDiskFull, streams.ErrUnknown, streams.ErrStorage, fs.ErrPermission, syscall.EROFS, syscall.EIO} {
		if errors.Is(a, kind) != errors.Is(b, kind) {
			return false
		}
	}
	return errors.Is(a, drain.ErrUnavailable) || a.Error() == b.Error()
}

// Failure is why the last pass did not take in all there was; nil if it did.
func (d *Drainer) Failure() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failure
}

// take is the spool's way into the log.
func (d *Drainer) take(ctx context.Context, envs []envelope.Envelope) error {
	results, err := d.cfg.Ingester.Add(ctx, envs...)
	d.count(results)
	if errors.Is(err, streams.ErrUnknown) || errors.Is(err, streams.ErrStorage) || errors.Is(err, streams.ErrDiskFull) ||
		errors.Is(err, streams.ErrClosed) || errors.Is(err, streams.ErrExchanged) {
		return fmt.Errorf("%w: %w", drain.ErrUnavailable, err)
	}
	return err
}

func (d *Drainer) count(results []Result) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range results {
		switch r.Status {
		case Added:
			d.counts.Added++
		case Held:
			d.counts.Held++
		case Duplicate:
			d.counts.Duplicates++
		case Conflict:
			d.counts.Conflicts++
		}
	}
}
