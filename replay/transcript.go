package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"cmem/ingest"
	"cmem/ingest/identity"
	"cmem/streams"
	"cmem/streams/envelope"
	"cmem/streams/event"
)

// ErrUnknownHost: no host's transcripts look like the file, or no host has the
// name that was given.
var ErrUnknownHost = errors.New("not a transcript of a known host")

// batchSize is how many envelopes are added at once: the log's own limit.
const batchSize = 1000

// batchBytes bounds what a batch holds in memory.
const batchBytes = 16 << 20

// Ingester is the way into the log.
type Ingester interface {
	Add(ctx context.Context, envs ...envelope.Envelope) ([]ingest.Result, error)
}

// Table tells a dry run what the log holds. It must be at the head.
type Table interface {
	Lookup(ids []string) ([]streams.Held, streams.Checkpoint, error)
}

// Config of a replay; Files, Ingester and Table are required.
type Config struct {
	Files    Files
	Ingester Ingester
	Table    Table
	Host     string // whose transcripts they are; "" looks at the files
	DryRun   bool   // count what would be new and add nothing
	Progress func(Progress)
}

// Progress says how far a replay is.
type Progress struct {
	File        string
	Done, Total int64 // bytes of this file
}

// Transcript brings the transcripts at paths into the log, one after the other,
// and says what became of every value. A file that cannot be read is named in
// its result and does not stop the others; the error is the log's or ctx's.
//
// At the end of a file each of its sessions gets a session.idled, named by the
// session's last record, so that its last turn closes. A session that repeats
// records of another gets one session.forked.
func Transcript(ctx context.Context, c Config, paths ...string) (*Result, error) {
	r := &Result{DryRun: c.DryRun}
	if c.Progress == nil {
		c.Progress = func(Progress) {}
	}
	for _, path := range paths {
		one := &reading{Config: c, result: FileResult{File: path}, last: map[string]envelope.Envelope{}, forks: map[string]bool{}}
		err := one.run(ctx)
		r.Files = append(r.Files, one.result)
		r.Total.add(one.result.Counts)
		if err != nil {
			return r, fmt.Errorf("replay %s: %w", path, err)
		}
	}
	return r, nil
}

// reading is one file on its way.
type reading struct {
	Config
	result FileResult
	last   map[string]envelope.Envelope // by session, without bodies
	forks  map[string]bool              // session and owner that were told
}

// batch is what one append takes, with what became of all values up to there.
type batch struct {
	envs   []envelope.Envelope
	bytes  int
	counts Counts
	next   int64 // where the file was read to
	err    error // the file cannot be read further
	end    bool
}

func (b *batch) full() bool { return len(b.envs) >= batchSize || b.bytes >= batchBytes }

// run reads the file to its end. What is wrong with the file is in the result.
// While one batch is on its way into the log the next one is read, by one
// goroutine that is gone when run returns.
func (r *reading) run(ctx context.Context) error {
	f, err := r.Files.open(r.result.File, r.Host)
	if err != nil {
		r.result.Error = err.Error()
		return ctx.Err()
	}
	r.result.Host = f.host.Name
	r.Progress(Progress{r.result.File, 0, f.size})
	reading, stop := context.WithCancel(ctx)
	batches := make(chan *batch, 1)
	go f.batches(reading, batches)
	for b := range batches {
		if err == nil {
			err = r.bring(ctx, b)
			r.Progress(Progress{r.result.File, b.next, max(f.size, b.next)})
		}
		if err != nil {
			stop() // and the rest of the channel is let go by
		}
	}
	stop()
	if closed := f.source.Close(); closed != nil && r.result.Error == "" {
		r.result.Error = closed.Error()
	}
	return err
}

// batches reads the file and gives it in batches; the last one has end.
func (f *file) batches(ctx context.Context, out chan<- *batch) {
	defer close(out)
	b := &batch{}
	for i, err := range f.items(ctx) {
		if err != nil {
			b.err = err
			break
		}
		b.take(i)
		if b.full() {
			out <- b
			b = &batch{next: b.next}
		}
	}
	b.end = true
	out <- b
}

// take counts an item and keeps what goes into the log.
func (b *batch) take(i item) {
	c := &b.counts
	b.next = i.next
	if i.Redacted {
		c.Redacted++
	}
	switch {
	case i.bad != nil:
		c.Unreadable++
		c.Bad = append(c.Bad, *i.bad)
	case i.Copied:
		c.Values, c.Copied = c.Values+1, c.Copied+1
	case i.Rule != "":
		c.Values, c.Skipped = c.Values+1, c.Skipped+1
		c.rule(i.Rule, 1)
	default:
		c.Values++
	}
	if i.Envelope.ID == "" {
		return
	}
	b.envs = append(b.envs, kept(i.Envelope))
	b.bytes += len(i.Envelope.Body)
}

// bring takes a batch into the log. The last one brings the end of each session
// along, so that a small file is one append.
func (r *reading) bring(ctx context.Context, b *batch) error {
	r.result.add(b.counts)
	r.result.Bytes = b.next
	if b.err != nil {
		if err := ctx.Err(); err != nil {
			return err
		}
		r.result.Error = b.err.Error()
	}
	for _, e := range b.envs {
		r.session(e)
	}
	values := len(b.envs)
	if b.end && b.err == nil && !r.DryRun {
		for _, s := range r.result.Sessions {
			b.envs = append(b.envs, Idled(r.last[s]))
		}
	}
	if len(b.envs) == 0 {
		return ctx.Err()
	}
	results, err := r.add(ctx, b.envs)
	if err != nil {
		return err
	}
	var forks []envelope.Envelope
	for n, e := range b.envs[:values] {
		r.count(e, results[n])
		if f, ok := r.fork(e, results[n].Owner); ok {
			forks = append(forks, f)
		}
	}
	if len(forks) == 0 || r.DryRun {
		return nil
	}
	_, err = r.Ingester.Add(ctx, forks...)
	return err
}

// add brings the batch in, or asks what would become of it.
func (r *reading) add(ctx context.Context, envs []envelope.Envelope) ([]ingest.Result, error) {
	if !r.DryRun {
		return r.Ingester.Add(ctx, envs...)
	}
	ids := make([]string, len(envs))
	for n := range envs {
		ids[n] = envs[n].ID
	}
	held, _, err := r.Table.Lookup(ids)
	if err != nil {
		return nil, err
	}
	results := make([]ingest.Result, len(ids))
	seen := map[string]bool{}
	for n, h := range held {
		if h.OK || seen[ids[n]] {
			results[n].Status = ingest.Held
		}
		if h.OK && h.Session != envs[n].Subject {
			results[n].Owner = h.Session
		}
		seen[ids[n]] = true
	}
	return results, ctx.Err()
}

// count: what a rule kept out and what is no value was counted as such; the log
// holds a note of it all the same.
func (r *reading) count(e envelope.Envelope, res ingest.Result) {
	if e.Type != envelope.TranscriptValue || e.File != "" {
		return
	}
	switch res.Status {
	case ingest.Added:
		r.result.New++
	case ingest.Conflict:
		r.result.Conflicts++
	default:
		r.result.Held++
	}
}

// session remembers the newest record of each session of the file.
func (r *reading) session(e envelope.Envelope) {
	if e.Subject == "" {
		return
	}
	if !slices.Contains(r.result.Sessions, e.Subject) {
		r.result.Sessions = append(r.result.Sessions, e.Subject)
	}
	e.Body = nil
	if old, ok := r.last[e.Subject]; ok && e.Time.IsZero() {
		e.Time = old.Time // a record without a time was written after the others
	}
	r.last[e.Subject] = e
}

// fork tells, once, that a session repeats records of another.
func (r *reading) fork(e envelope.Envelope, owner string) (envelope.Envelope, bool) {
	key := e.Subject + "\x00" + owner
	if owner == "" || e.Subject == "" || r.forks[key] {
		return envelope.Envelope{}, false
	}
	r.forks[key] = true
	r.result.Forked = append(r.result.Forked, owner)
	body, err := json.Marshal(event.SessionForked{From: owner, FirstShared: e.ID})
	if err != nil {
		return envelope.Envelope{}, false // two texts: cannot happen
	}
	return envelope.Envelope{
		ID:   identity.TranscriptID(e.Source, envelope.SessionForked, e.Subject+" "+owner),
		Type: envelope.SessionForked, Source: e.Source, Subject: e.Subject, Time: e.Time, Body: body,
	}, true
}

// Idled says that a session said nothing after last. Its id is made from last's,
// so that saying it again changes nothing.
func Idled(last envelope.Envelope) envelope.Envelope {
	return envelope.Envelope{
		ID:   identity.TranscriptID(last.Source, envelope.SessionIdled, last.ID),
		Type: envelope.SessionIdled, Source: last.Source, Subject: last.Subject, Time: last.Time, Body: []byte("{}"),
	}
}
