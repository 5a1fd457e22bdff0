package ingest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"cmem/ingest/host/adapter"
	"cmem/ingest/identity"
	"cmem/ingest/transcript"
	"cmem/streams/envelope"
	"cmem/streams/event"
)

// Limits of what a Follower holds before it adds it.
const (
	followBatch = 1000
	followBytes = 16 << 20
	headBytes   = 64 << 10 // what hosts are shown of a file
)

// FollowerConfig of all files that are followed; all are required.
type FollowerConfig struct {
	Book   *transcript.Book
	Detect func(path string, head []byte) (adapter.Transcript, bool)
	// Add brings envelopes into the log: Ingester.Add.
	Add func(ctx context.Context, envs ...envelope.Envelope) ([]Result, error)
	// Transcriber is what holds for every file: its Host, Path and State are
	// filled in.
	Transcriber TranscriberConfig
	Logger      *slog.Logger
}

// Follower brings what is new in growing transcripts into the log. Read is safe
// for concurrent use with different paths.
type Follower struct{ cfg FollowerConfig }

// Followed counts what one Read met.
type Followed struct {
	Values     int // objects and broken runs
	Added      int // new in the log
	Held       int // known to the log, by whichever way they came
	Skipped    int // kept out by a rule, copied history included
	Unreadable int // named in the log or, if too large, only in the logger
	Offset     int64
}

// NewFollower returns a Follower.
func NewFollower(cfg FollowerConfig) *Follower { return &Follower{cfg} }

// Read brings what path holds after its mark into the log. The mark moves only
// after the log has everything before it, so a crash costs a second reading and
// ids make that harmless. A file of no known host is no error and gives zero.
func (f *Follower) Read(ctx context.Context, path string) (Followed, error) {
	file, err := f.cfg.Book.Open(path)
	if err != nil {
		return Followed{}, err
	}
	r := &following{Follower: f, file: file, forks: map[string]bool{}}
	err = r.run(ctx)
	return r.Followed, errors.Join(err, file.Close())
}

// following is one file on its way.
type following struct {
	*Follower
	Followed
	file   *transcript.File
	scribe *Transcriber
	batch  []envelope.Envelope
	bytes  int
	forks  map[string]bool
}

func (r *following) run(ctx context.Context) error {
	head, err := r.file.Head(headBytes)
	if err != nil {
		return err
	}
	cfg := r.cfg.Transcriber
	host, ok := r.cfg.Detect(r.file.Path, head)
	if !ok {
		return nil
	}
	cfg.Host, cfg.Path, cfg.State = host, r.file.Path, r.file.Start().State
	r.scribe = NewTranscriber(cfg)
	r.Offset = r.file.Start().Offset
	for v, err := range r.file.Values() {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		r.take(v)
		if len(r.batch) >= followBatch || r.bytes >= followBytes {
			if err := r.flush(ctx); err != nil {
				return err
			}
		}
	}
	if r.Offset == r.file.Start().Offset {
		return nil // nothing new: the mark stands
	}
	return r.flush(ctx)
}

// take transcribes a value. One that is not whole yet is left for later.
func (r *following) take(v transcript.Value) {
	if v.Bad == transcript.Unfinished {
		return
	}
	r.Offset = v.Next
	said := r.scribe.Value(v)
	switch {
	case v.Bad == transcript.Noise:
		return
	case v.Bad != transcript.OK:
		r.Unreadable++
		r.cfg.Logger.Warn("unreadable in a transcript", "file", r.file.Path, "offset", v.Offset, "bytes", v.Size, "reason", v.Bad)
	case said.Rule != "":
		r.Skipped++
	}
	r.Values++
	if said.Envelope.ID != "" {
		e := said.Envelope
		e.Body = bytes.Clone(e.Body)
		r.batch, r.bytes = append(r.batch, e), r.bytes+len(e.Body)
	}
}

// flush adds the batch, then moves the mark.
func (r *following) flush(ctx context.Context) error {
	results, err := r.cfg.Add(ctx, r.batch...)
	if err != nil {
		return fmt.Errorf("follow %s: %w", r.file.Path, err)
	}
	var forks []envelope.Envelope
	for n, res := range results {
		r.count(r.batch[n], res)
		if fork, ok := Forked(r.batch[n], res.Owner); ok && !r.forks[fork.ID] {
			r.forks[fork.ID] = true
			forks = append(forks, fork)
		}
	}
	clear(r.batch)
	r.batch, r.bytes = r.batch[:0], 0
	if len(forks) > 0 {
		if _, err := r.cfg.Add(ctx, forks...); err != nil {
			return fmt.Errorf("follow %s: %w", r.file.Path, err)
		}
	}
	// A crash here: the values come again, under the same ids.
	return r.cfg.Book.Save(r.file, r.Offset, r.scribe.State())
}

func (r *following) count(e envelope.Envelope, res Result) {
	switch {
	case e.Type != envelope.TranscriptValue || e.File != "":
	case res.Status == Added || res.Status == Conflict:
		r.Added++
	default:
		r.Held++
	}
}

// Forked is the envelope that says that a session repeats e, which owner showed
// first; false if owner is "" or the session has no name. It has one id for one
// pair of sessions.
func Forked(e envelope.Envelope, owner string) (envelope.Envelope, bool) {
	if owner == "" || e.Subject == "" || owner == e.Subject {
		return envelope.Envelope{}, false
	}
	body, err := json.Marshal(event.SessionForked{From: owner, FirstShared: e.ID})
	if err != nil {
		return envelope.Envelope{}, false // two texts: cannot happen
	}
	return envelope.Envelope{
		ID:   identity.TranscriptID(e.Source, envelope.SessionForked, e.Subject+" "+owner),
		Type: envelope.SessionForked, Source: e.Source, Subject: e.Subject, Time: e.Time, Body: body,
	}, true
}
