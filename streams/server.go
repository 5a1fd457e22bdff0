package streams

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	startTimeout = 60 * time.Second // of the server: a full scan of a big log after a kill
	callTimeout  = 10 * time.Second // of a question to it
	maxPayload   = 1 << 20
	maxStore     = 1 << 42 // fixed: the default is a share of what is free today
	maxMemory    = 64 << 20
)

// session is one life of the embedded server and the connection to it.
type session struct {
	srv    *server.Server
	nc     *nats.Conn
	js     jetstream.JetStream
	stream jetstream.Stream
}

// startServer runs a server on the log's folder.
func (l *Log) startServer() (*session, error) {
	return startServer(l.layout, serverLog{l.log, l.complaint.hear}, l.log)
}

// startServer runs a server on the layout's folder that listens nowhere, catches
// no signal, and syncs each append before it acknowledges it.
func startServer(l layout, said serverLog, log *slog.Logger) (*session, error) {
	srv, err := server.NewServer(&server.Options{
		ServerName:             "cmem",
		DontListen:             true,
		NoSigs:                 true,
		JetStream:              true,
		StoreDir:               l.dir,
		SyncAlways:             true,
		JetStreamMaxStore:      maxStore,
		JetStreamMaxMemory:     maxMemory,
		MaxPayload:             maxPayload,
		PingInterval:           10 * time.Minute, // the only client is in this process
		DisableJetStreamBanner: true,
	})
	if err != nil {
		return nil, fmt.Errorf("start log server: %w", err)
	}
	srv.SetLoggerV2(said, false, false, false)
	s := &session{srv: srv}
	srv.Start()
	if !srv.ReadyForConnections(startTimeout) {
		s.stop()
		return nil, errors.New("start log server: not ready in time")
	}
	if err := s.connect(log); err != nil {
		s.stop()
		return nil, fmt.Errorf("start log server: %w", err)
	}
	return s, nil
}

func (s *session) connect(log *slog.Logger) (err error) {
	s.nc, err = nats.Connect("", nats.InProcessServer(s.srv), nats.NoReconnect(), nats.MaxPingsOutstanding(3),
		nats.PingInterval(10*time.Minute), nats.Timeout(callTimeout),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			log.Warn("log connection", "error", err)
		}))
	if err != nil {
		return err
	}
	s.js, err = jetstream.New(s.nc, jetstream.WithDefaultTimeout(callTimeout))
	return err
}

// stop returns when the server is gone. Safe on a half-started session.
func (s *session) stop() {
	if s.nc != nil {
		s.nc.Close()
	}
	s.srv.Shutdown()
	s.srv.WaitForShutdown()
}

// open finds the stream. jetstream.ErrStreamNotFound is returned as it is.
func (s *session) open(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	stream, err := s.js.Stream(ctx, streamName)
	if err != nil {
		return err
	}
	if err := checkStream(stream.CachedInfo().Config); err != nil {
		return err
	}
	s.stream = stream
	return nil
}

// create makes the stream of a new log.
func (s *session) create(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	stream, err := s.js.CreateStream(ctx, streamConfig())
	if err != nil {
		return fmt.Errorf("create stream: %w", err)
	}
	s.stream = stream
	return nil
}

// streamConfig: nothing is ever thrown away by the server, and nothing is
// compressed by it, for one flipped byte would cost a whole chunk.
func streamConfig() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:               streamName,
		Subjects:           []string{"cmem.>"},
		Storage:            jetstream.FileStorage,
		Retention:          jetstream.LimitsPolicy,
		Discard:            jetstream.DiscardNew,
		Compression:        jetstream.NoCompression,
		MaxMsgs:            -1,
		MaxBytes:           -1, // no reservation: the reserve of the disk is checked before each append
		MaxMsgsPerSubject:  -1,
		MaxMsgSize:         maxPayload,
		Replicas:           1,
		Duplicates:         100 * time.Millisecond, // the shortest: nothing uses it, and each start reads what is in it
		AllowDirect:        true,
		AllowAtomicPublish: true,
	}
}

// checkStream refuses a stream that would not keep our promises.
func checkStream(c jetstream.StreamConfig) error {
	switch {
	case c.Storage != jetstream.FileStorage, c.Compression != jetstream.NoCompression,
		c.Discard != jetstream.DiscardNew, c.MaxAge != 0, c.MaxMsgs > 0, c.MaxMsgsPerSubject > 0,
		!c.AllowDirect, !c.AllowAtomicPublish:
		return fmt.Errorf("stream %q was set up otherwise: %w", c.Name, ErrForeign)
	}
	return nil
}

// state asks where the stream ends.
func (s *session) state(ctx context.Context) (jetstream.StreamState, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	info, err := s.stream.Info(ctx)
	if err != nil {
		return jetstream.StreamState{}, fmt.Errorf("state of the stream: %w", err)
	}
	return info.State, nil
}

// serverLog gives the server's words to our logger, and its errors to who asks for
// the reason of a missing answer.
type serverLog struct {
	*slog.Logger
	hear func(text string)
}

func (l serverLog) say(level slog.Level, format string, v []any) {
	if level >= slog.LevelWarn && l.hear != nil {
		l.hear(fmt.Sprintf(format, v...))
	}
	if l.Enabled(context.Background(), level) {
		l.Log(context.Background(), level, "log server", "text", strings.TrimSpace(fmt.Sprintf(format, v...)))
	}
}

func (l serverLog) Noticef(format string, v ...any) { l.say(slog.LevelDebug, format, v) }
func (l serverLog) Warnf(format string, v ...any)   { l.say(slog.LevelWarn, format, v) }
func (l serverLog) Fatalf(format string, v ...any)  { l.say(slog.LevelError, format, v) }
func (l serverLog) Errorf(format string, v ...any)  { l.say(slog.LevelError, format, v) }
func (l serverLog) Debugf(format string, v ...any)  { l.say(slog.LevelDebug, format, v) }
func (l serverLog) Tracef(format string, v ...any)  { l.say(slog.LevelDebug, format, v) }
