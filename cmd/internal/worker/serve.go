package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"

	"cmem/cmd/internal/api"
	"cmem/cmd/internal/config"
	"cmem/ingest/home"
	"cmem/streams"
	"cmem/streams/durable"
)

// LockPath is held while a worker runs.
func LockPath(dir home.Dir) string { return filepath.Join(dir.Run(), "worker.lock") }

// lockPatience is how long a starting worker waits for a command that has the
// log open in its own process: those are done in a moment, and a hook that
// starts a worker does not try again soon.
const lockPatience = 5 * time.Second

// Serve is the worker: it returns when ctx is done, when it was asked to stop,
// after the idle time, or when it cannot start. Then nothing of it is left.
// Another worker on the folder is durable.ErrLocked at once.
func Serve(ctx context.Context, dir home.Dir, cfg config.Config, log *slog.Logger) error {
	n := newNode(dir, cfg, log, time.Now)
	if err := RequireOwnDisk(dir, cfg); err != nil {
		return err
	}
	if err := dir.Make(); err != nil {
		return err
	}
	lock, err := durable.Acquire(LockPath(dir))
	if err != nil {
		return fmt.Errorf("a worker serves this folder already: %w", err)
	}
	defer lock.Release()
	limitMemory(cfg)

	ctx, stop := context.WithCancel(ctx)
	defer stop()
	n.stop = stop
	front, err := n.listen()
	if err != nil {
		return err
	}
	failed := n.start(ctx)
	loops := &loops{}
	if failed == nil {
		log.Info("ready", "data", string(dir), "socket", n.socket, "port", n.port, "in", n.now().Sub(n.started).Round(time.Millisecond).String())
		loops = n.run()
		<-ctx.Done()
	} else if ctx.Err() == nil {
		n.phases.set(api.Progress{Phase: api.PhaseFailed, Message: reason(failed), Code: failedCode(failed)})
	}
	log.Info("stopping", "data", string(dir))
	return errors.Join(wanted(ctx, failed), n.shutdown(front, loops))
}

// wanted: a start that was ended on purpose has not failed.
func wanted(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// failedCode says to whoever waits for a start what kind of failure it was.
func failedCode(err error) api.Code {
	switch {
	case errors.Is(err, durable.ErrLocked):
		return api.Locked
	case errors.Is(err, home.ErrForeign), errors.Is(err, streams.ErrForeign):
		return api.Foreign
	case errors.Is(err, streams.ErrNewer):
		return api.Newer
	case errors.Is(err, streams.ErrDiskFull), durable.IsFull(err):
		return api.NoSpace
	case errors.Is(err, streams.ErrMissing), errors.Is(err, streams.ErrDamaged):
		return api.LogDamaged
	case errors.Is(err, durable.ErrNetwork):
		return api.Network
	case errors.Is(err, streams.ErrStorage), durable.TroubleOf(err) != durable.NoTrouble:
		return api.Storage
	}
	return api.Internal
}

func limitMemory(cfg config.Config) {
	debug.SetGCPercent(cfg.GCPercent)
	if cfg.MemoryLimitMB > 0 {
		debug.SetMemoryLimit(int64(cfg.MemoryLimitMB) << 20)
	}
}

// start goes through the phases. Search and contexts may still be on their way
// when it returns: what is read from records is whole.
func (n *Node) start(ctx context.Context) error {
	if err := n.openPatiently(ctx); err != nil {
		return err
	}
	if err := n.prepare(ctx); err != nil {
		return err
	}
	n.reach(api.PhaseServing)
	n.reach(api.PhaseReady)
	return nil
}

func (n *Node) openPatiently(ctx context.Context) error {
	deadline := n.now().Add(lockPatience)
	for {
		err := n.open(ctx)
		if !errors.Is(err, streams.ErrLocked) || n.now().After(deadline) {
			return err
		}
		n.phases.set(api.Progress{Phase: api.PhaseStarting, Message: reason(err)})
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// loops are the worker's own goroutines, in two groups: what feeds the log, and
// what follows it.
type loops struct {
	feeding, following       sync.WaitGroup
	endFeeding, endFollowing context.CancelFunc
}

// run starts what keeps everything at the head.
func (n *Node) run() *loops {
	l := &loops{}
	var feed, follow context.Context
	feed, l.endFeeding = context.WithCancel(context.Background())
	follow, l.endFollowing = context.WithCancel(context.Background())
	l.feeding.Go(func() { n.housekeeping(feed) })
	if n.stream.Halted() != nil {
		return l
	}
	l.feeding.Go(func() { _ = n.drainer.Run(feed) })
	l.following.Go(func() { _ = n.records.run(follow) })
	l.following.Go(func() { _ = n.search.run(follow) })
	l.following.Go(func() { _ = n.contexts.run(follow) })
	l.following.Go(func() { n.followContexts(follow) })
	l.following.Go(func() { n.checkBlocks(follow) })
	l.following.Go(func() { n.inspect(follow) })
	return l
}

// end returns when all are gone; those that feed go first.
func (l *loops) end() {
	if l.endFeeding == nil {
		return
	}
	l.endFeeding()
	l.feeding.Wait()
	l.endFollowing()
	l.following.Wait()
}

// housekeeping does what has to be done now and then.
func (n *Node) housekeeping(ctx context.Context) {
	if n.stream.Halted() != nil {
		n.log.Error("the log takes nothing in", "why", n.stream.Halted().Error())
	} else if err := n.idle.seed(ctx, n); err != nil && ctx.Err() == nil {
		n.log.Warn("sessions that were open before were not found", "err", err)
	}
	quiet := time.NewTicker(n.idle.every())
	defer quiet.Stop()
	daily := time.NewTicker(time.Hour)
	defer daily.Stop()
	beat := time.NewTicker(30 * time.Second)
	defer beat.Stop()
	there := time.NewTicker(5 * time.Second)
	defer there.Stop()
	disk := time.NewTicker(diskEvery)
	defer disk.Stop()
	lean := time.NewTimer(time.Second)
	defer lean.Stop()
	var at streams.Position
	for {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
			if err := n.stream.Beat(); err != nil {
				n.log.Warn("the log's lock gives no sign of life", "err", err)
			}
		case <-there.C:
			if err := n.stream.Check(); errors.Is(err, streams.ErrExchanged) {
				n.log.Error("stopping: another data folder, or none, is where this worker's was", "err", err)
				n.stop()
			}
		case <-disk.C:
			n.lookAtDisk(ctx)
		case <-quiet.C:
			if err := n.closeQuiet(ctx); err != nil && ctx.Err() == nil {
				n.log.Warn("quiet sessions were not closed", "err", err)
			}
			if n.idleFor() > n.cfg.IdleExit && n.cfg.IdleExit > 0 {
				n.log.Info("nothing to do", "for", n.cfg.IdleExit.String())
				n.stop()
			}
			if head := n.head(); head != at {
				at = head
				n.touch()
				lean.Reset(5 * time.Second)
			}
		case <-daily.C:
			if err := n.dir.FoldCounters(n.now()); err != nil {
				n.log.Warn("counters were not folded", "err", err)
			}
		case <-lean.C:
			debug.FreeOSMemory() // what catching up needed is not needed any more
		}
	}
}

func (n *Node) idleFor() time.Duration { return n.now().Sub(time.Unix(0, n.used.Load())) }

// front is what is listened on.
type front struct {
	servers []*http.Server
	serving sync.WaitGroup
}

// listen opens the addresses and publishes them. From here on the phases can be
// asked for; what needs the log is told to wait.
func (n *Node) listen() (*front, error) {
	token, err := makeToken(n.dir)
	if err != nil {
		return nil, err
	}
	h := n.Handler()
	f := &front{}
	socket, err := n.listenSocket(f, h)
	if err != nil {
		return nil, errors.Join(err, f.close(context.Background()))
	}
	port, err := n.listenPort(f, api.Access{Token: token}.Guard(h))
	if err != nil {
		if socket == "" {
			return nil, errors.Join(err, f.close(context.Background()))
		}
		n.log.Warn("no TCP address, the socket serves alone", "err", err)
	}
	n.addresses.Lock()
	n.socket, n.port = socket, port
	n.addresses.Unlock()
	id := n.Identity()
	s := State{Data: id.Data, Instance: id.Instance, Version: id.Version, PID: id.PID, Socket: socket, Port: port, Started: n.started.UTC()}
	if err := s.write(n.dir); err != nil {
		return nil, errors.Join(err, f.close(context.Background()))
	}
	return f, nil
}

func (n *Node) listenSocket(f *front, h http.Handler) (string, error) {
	path := n.dir.Socket()
	if !unixSockets || path == "" {
		return "", nil
	}
	l, err := listenUnix(path, n.log)
	if err != nil {
		return "", fmt.Errorf("listen on %s: %w", path, err)
	}
	f.serve(l, api.Access{}.Guard(h), n.log)
	return path, nil
}

func (n *Node) listenPort(f *front, h http.Handler) (int, error) {
	if !n.cfg.TCP && unixSockets {
		return 0, nil
	}
	first := n.cfg.Port
	if first == 0 {
		first = defaultPort()
	}
	l, err := listenTCP(first)
	if err != nil {
		return 0, err
	}
	f.serve(l, h, n.log)
	return l.Addr().(*net.TCPAddr).Port, nil
}

func (f *front) serve(l net.Listener, h http.Handler, log *slog.Logger) {
	s := &http.Server{
		Handler: h, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	f.servers = append(f.servers, s)
	f.serving.Go(func() { _ = s.Serve(l) })
}

// close lets requests under way end until ctx is done, then cuts them off.
func (f *front) close(ctx context.Context) error {
	var closing sync.WaitGroup
	for _, s := range f.servers {
		closing.Go(func() {
			if s.Shutdown(ctx) != nil {
				_ = s.Close()
			}
		})
	}
	closing.Wait()
	f.serving.Wait()
	return nil
}

// ErrHurried: the stop took longer than it may; what was left was dropped. The
// log loses nothing by it, the next start looks it over.
var ErrHurried = errors.New("the stop took too long and was cut short")

// shutdown ends things from the outside in: listeners, drains, projectors, read
// models, log, within the time a stop may take.
func (n *Node) shutdown(f *front, l *loops) error {
	ctx, cancel := context.WithTimeout(context.Background(), n.cfg.StopTimeout)
	defer cancel()
	n.endStreams()
	done := make(chan error, 1)
	go func() {
		requests, end := context.WithTimeout(ctx, n.cfg.StopTimeout/2)
		defer end()
		err := f.close(requests)
		l.end()
		if n.isOpen() == nil {
			err = errors.Join(err, n.Close())
		}
		done <- errors.Join(err, n.withdraw())
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ErrHurried
	}
}

// withdraw removes the address file, if it is still ours.
func (n *Node) withdraw() error {
	s, err := ReadState(n.dir)
	if err != nil || s.Instance != n.instance {
		return nil
	}
	if err := os.Remove(n.dir.State()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// Handler is the API over this node, for whoever may call it already.
func (n *Node) Handler() http.Handler {
	b := api.Backend{Models: n, Status: n, Writer: n, Jobs: n, Log: n, Contexts: n, Touch: n.touch, Closing: n.streams, Zone: n.zone, Now: n.now, Logger: n.log}
	if n.stop != nil {
		b.Shutdown = n.stop
	}
	return api.New(b)
}
