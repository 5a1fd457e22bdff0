package streams

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"cmem/streams/durable"
)

// Config says where a log lives and how it behaves. The zero value of every
// field but Dir means its default.
type Config struct {
	Dir        string        // the log's own folder, made if absent
	Logger     *slog.Logger  // nil: silent
	Reserve    int64         // bytes of disk that stay free; 0: 1 GB, negative: the least, 24 MB
	AckTimeout time.Duration // how long the server may take to save; 0: 10 s
	// HeadFile, outside of Dir, remembers how far the log came, so that a shorter
	// log, or another one, is noticed; "": nothing does.
	HeadFile string
	// Seen is what others remember, read models for example.
	Seen []Seen
	// Accept takes the log as it is, whatever is remembered of it: what is missing
	// at its end is told as lost, and its positions are not given again.
	Accept bool
	// Scan looks at every block also after a clean stop.
	Scan bool
	// AllowNetwork opens a log on a network file system too. Nothing keeps two
	// machines apart there but the sign of life in the lock file (Beat).
	AllowNetwork bool
}

// Opening says what Open found.
type Opening struct {
	Created bool // the log is new
	// Clean: it was closed in order the last time, or is new. Otherwise it was
	// killed; what was acknowledged is there all the same.
	Clean bool
	// Found are sentences about what is not as it ought to be, for a person.
	Found []string
}

// Log is an open log. Its methods may be called concurrently.
type Log struct {
	config    Config
	log       *slog.Logger
	layout    layout
	server    string // its version: what layout its files have
	identity  identity
	opening   Opening
	lock      *durable.Lock
	codec     *codec
	head      head
	gaps      gaps
	headFile  *headFile
	seen      []Seen               // what is remembered of the log
	halt      atomic.Pointer[Halt] // why nothing is appended; nil: it is
	doubtful  atomic.Bool          // a block is damaged: the next start has to look at all
	pause     pause
	complaint complaint

	session    atomic.Pointer[session] // nil while no server runs
	restarting sync.RWMutex            // held while the server is started again

	committer   *committer
	batchPrefix string
	batches     uint64 // only the holder of the committer's turn

	closing   chan struct{} // closed first by Close
	closeOnce sync.Once
	closed    error // set by the first Close

	fault func(step string) error // in tests: what happens at a step, see step
}

// Open opens the log in a folder, or makes one in a folder that is absent or
// empty. It takes the log's lock before anything else and never waits for it.
// On an error nothing was moved or deleted, and the lock is free again.
func Open(ctx context.Context, c Config) (*Log, error) {
	l, err := newLog(c)
	if err == nil {
		err = l.open(ctx)
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}

// open leaves nothing behind on an error.
func (l *Log) open(ctx context.Context) (err error) {
	if !l.config.AllowNetwork {
		if err := durable.RequireOwn(l.config.Dir); err != nil {
			return fmt.Errorf("open log: %w", err)
		}
	}
	if err := l.layout.check(); err != nil {
		return err
	}
	if err := os.MkdirAll(l.config.Dir, 0o700); err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	if l.lock, err = durable.Acquire(l.layout.lock()); err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	if err := l.start(ctx); err != nil {
		if !errors.Is(err, ErrForeign) && !errors.Is(err, ErrNewer) {
			err = l.explain(err)
		}
		if s := l.session.Load(); s != nil {
			s.stop()
		}
		return errors.Join(err, l.headFile.close(), l.lock.Release())
	}
	return nil
}

func newLog(c Config) (*Log, error) {
	if c.Dir == "" {
		return nil, errors.New("open log: no folder given")
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Reserve == 0 {
		c.Reserve = 1 << 30
	}
	if c.AckTimeout == 0 {
		c.AckTimeout = 10 * time.Second
	}
	codec, err := newCodec()
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	l := &Log{config: c, log: c.Logger, layout: layout{c.Dir}, server: server.VERSION, codec: codec, closing: make(chan struct{}),
		gaps: gaps{log: c.Logger}, batchPrefix: batchPrefix(time.Now())}
	l.committer = &committer{log: l, requests: make(chan *request), turn: make(chan struct{}, 1)}
	return l, nil
}

// start does what is done under the lock. The order matters: the mark of a clean
// stop is gone, durably, before the server may write; and the net is spread
// before it may repair.
func (l *Log) start(ctx context.Context) (err error) {
	if err := l.identify(); err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	_, err = os.Stat(l.layout.stream())
	existed := err == nil
	mark, clean, err := l.layout.takeClean(l.identity)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	if existed && !clean {
		durable.Reached("log.mark-missing")
	}
	// A crash from here on makes the next start unclean, which costs it time only.
	l.opening.Clean = clean || !l.identity.Stream && !existed
	if err := l.step("open.unmarked"); err != nil {
		return err
	}
	net, err := l.layout.spread(!l.opening.Clean)
	if err != nil {
		l.find("no net could be spread before the start: %v", err)
	}
	if err := l.step("open.netted"); err != nil {
		return err
	}
	if clean {
		l.seen = append(l.seen, Seen{Who: "the mark of its last stop", At: Checkpoint{Log: mark.Log, Position: Position(mark.Sequence)}})
	}
	known := uint64(l.known().At.Position)
	if existed {
		if err := l.layout.mayUse(); err != nil {
			return fmt.Errorf("open log: %w", err)
		}
		if !l.opening.Clean {
			// A killed server may not have synced what it wrote last, nor been told
			// that it could not.
			if err := l.layout.resync(); err != nil {
				return fmt.Errorf("open log: %w", err)
			}
		}
		if err := l.mendMeta(ctx); err != nil {
			return fmt.Errorf("open log: %w", err)
		}
		if err := l.lookAtBlocks(known); err != nil {
			return fmt.Errorf("open log: %w", err)
		}
	}
	if err := l.recallFindings(); err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	s, err := l.startServer()
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	l.session.Store(s)
	if err := l.findStream(ctx, s, existed); err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	if err := l.findEnd(ctx, s); err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	l.compareMark(mark, clean)
	if err := l.compareSeen(ctx, s); err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	l.tidy(net)
	return l.noteEnd()
}

// identify reads the log's name, or gives it one if nobody remembers that it had.
func (l *Log) identify() (err error) {
	if err := l.recall(); err != nil {
		return err
	}
	if !l.layout.hasIdentity() {
		if err := l.remembered(); err != nil {
			return err
		}
	}
	l.identity, l.opening.Created, err = l.layout.makeIdentity(time.Now())
	return err
}

// noteEnd begins to remember the log's end outside of it.
func (l *Log) noteEnd() (err error) {
	if l.headFile, err = openHeadFile(l.config.HeadFile); err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	if l.Halted() != nil {
		return nil // what it remembers is the finding
	}
	return l.headFile.set(l.identity.Log, l.committer.last)
}

// findStream never makes a stream where one was.
func (l *Log) findStream(ctx context.Context, s *session, existed bool) error {
	err := s.open(ctx)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		// A folder without the mark and without a block is a first start that died
		// before anything could be appended.
		if l.identity.Stream || existed && l.layout.hasBlocks() {
			l.log.Error("the log's stream is missing", "dir", l.config.Dir)
			return fmt.Errorf("%s: %w", l.config.Dir, ErrMissing)
		}
		err = s.create(ctx)
	}
	if err != nil {
		return err
	}
	if l.identity.Stream {
		return nil
	}
	// A crash before this is written leaves an empty stream, which is found again.
	l.identity.Stream = true
	return l.layout.writeIdentity(l.identity)
}

// tidy removes older nets after a clean start that found nothing wrong.
func (l *Log) tidy(net int) {
	if !l.opening.Clean || len(l.opening.Found) > 0 {
		return
	}
	if err := l.layout.clearNets(net); err != nil {
		l.log.Warn("old nets stay", "error", err)
	}
}

// find notes what is not as it ought to be.
func (l *Log) find(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	l.opening.Found = append(l.opening.Found, text)
	l.log.Warn("opening the log", "found", text)
}

// step is a failpoint: between two promises, where tests stop or fail.
func (l *Log) step(name string) error {
	if l.fault != nil {
		return l.fault(name)
	}
	return durable.Failpoint(name)
}

// Dir is the log's folder.
func (l *Log) Dir() string { return l.config.Dir }

// Identity names the log: 32 hex digits, made once. Read models of another log
// are of no use.
func (l *Log) Identity() string { return l.identity.Log }

// Opening says what Open found.
func (l *Log) Opening() Opening { return l.opening }

// Head is the newest value's place. It costs next to nothing.
func (l *Log) Head() Checkpoint { return l.head.get() }

// Wait returns nil once the head is past after, ErrClosed when the log closes,
// or ctx's error.
func (l *Log) Wait(ctx context.Context, after Position) error {
	return l.head.wait(ctx, after, l.closing)
}

// Check says whether the log is still the one in its folder: ErrExchanged if that
// was deleted or exchanged.
func (l *Log) Check() error { return l.lock.Check() }

// Beat is to be called every half minute while the log is open: a machine that
// shares the folder over a network sees by it that the log is in use.
func (l *Log) Beat() error { return l.lock.Beat() }

// Gaps lists what reads since Open found missing or damaged, in order.
func (l *Log) Gaps() []Gap { return l.gaps.list() }

// Close ends the log: appends that wait are refused, the one under way is
// finished, the server stops, and the mark of a clean stop is written. When it
// returns, every goroutine is gone and the lock is free. A second call gives the
// first one's answer.
func (l *Log) Close() error {
	l.closeOnce.Do(func() { l.closed = l.close() })
	return l.closed
}

func (l *Log) close() error {
	close(l.closing)
	l.committer.stop()
	l.restarting.Lock()
	defer l.restarting.Unlock()
	s := l.session.Swap(nil)
	if s != nil {
		s.stop()
	}
	var err error
	if s != nil && len(l.committer.doubt) == 0 && !l.doubtful.Load() {
		// A crash before this makes the next start unclean, which costs it time only.
		err = l.mark()
	}
	if e := errors.Join(err, l.headFile.close(), l.lock.Release()); e != nil {
		return fmt.Errorf("close log: %w", e)
	}
	return nil
}

func (l *Log) mark() error {
	if err := l.step("close.mark"); err != nil {
		return err
	}
	at := l.Head()
	return writeJSON(l.layout.clean(), cleanMark{
		Log: at.Log, Sequence: l.committer.last, Position: at.Position, Chain: at.Chain.String(),
	})
}
