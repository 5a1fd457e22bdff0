// Package streamstest gives tests a real log.
package streamstest

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"cmem/streams"
	"cmem/streams/envelope"
)

// New opens a log in a folder of the test and closes it at the test's end.
func New(t testing.TB) *streams.Log {
	t.Helper()
	return Open(t, t.TempDir())
}

// Open opens the log in dir and closes it at the test's end, unless the test
// did.
func Open(t testing.TB, dir string) *streams.Log {
	t.Helper()
	l, err := streams.Open(t.Context(), streams.Config{Dir: dir, Logger: Logger(t), Reserve: -1})
	if err != nil {
		t.Fatalf("open log: %v", err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("close log: %v", err)
		}
	})
	return l
}

// Reopen closes l and opens the same folder again.
func Reopen(t testing.TB, l *streams.Log) *streams.Log {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Fatalf("close log: %v", err)
	}
	return Open(t, l.Dir())
}

// Append appends and fails the test if that fails.
func Append(t testing.TB, l *streams.Log, envs ...envelope.Envelope) []streams.Position {
	t.Helper()
	at, err := l.Append(t.Context(), envs...)
	if err != nil {
		t.Fatalf("append %d envelopes: %v", len(envs), err)
	}
	return at
}

// Records reads all that is after a position.
func Records(t testing.TB, l *streams.Log, after streams.Position) []streams.Record {
	t.Helper()
	var all []streams.Record
	for r, err := range l.Read(t.Context(), after) {
		if err != nil {
			t.Fatalf("read after %d: %v", after, err)
		}
		all = append(all, r)
	}
	return all
}

// Envelope makes the n-th of a row of plain hook envelopes of one session.
func Envelope(session string, n int) envelope.Envelope {
	return envelope.Envelope{
		ID:      fmt.Sprintf("test/%s/%d", session, n),
		Type:    envelope.HookReceived,
		Source:  "test",
		Subject: session,
		Time:    time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(time.Duration(n) * time.Second),
		Event:   "PostToolUse",
		Body:    fmt.Appendf(nil, `{"session_id":%q,"n":%d}`, session, n),
	}
}

// Envelopes makes the first n of them.
func Envelopes(session string, n int) []envelope.Envelope {
	envs := make([]envelope.Envelope, n)
	for i := range envs {
		envs[i] = Envelope(session, i)
	}
	return envs
}

// Logger writes to the test's log.
func Logger(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
}
