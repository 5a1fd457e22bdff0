package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
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
	if c.Progress == nil {
		c.Progress = func(Progress) {}
	}
	r := &replaying{Config: c, result: &Result{DryRun: c.DryRun}}
	for _, path := range paths {
		r.readings = append(r.readings, &reading{Config: c, result: FileResult{File: path}, last: map[string]envelope.Envelope{}, forks: map[string]bool{}})
	}
	err := r.run(ctx)
	for _, f := range r.readings {
		r.result.Files = append(r.result.Files, f.result)
		r.result.Total.add(f.result.Counts)
	}
	return r.result, err
}

// replaying is all the files of one replay.
type replaying struct {
	Config
	result   *Result
	readings []*reading
}

// run reads all files. While one batch is on its way into the log the next one
// is read, by one goroutine that is gone when run returns.
func (r *replaying) run(ctx context.Context) (err error) {
	ahead, stop := context.WithCancel(ctx)
	defer stop()
	batches := make(chan *batch, 1)
	go r.read(ahead, batches)
	for b := range batches {
		if err == nil {
			err = r.bring(ctx, b)
		}
		if err != nil {
			stop() // and the rest of the channel is let go by
		}
	}
	if err == nil {
		err = ctx.Err()
	}
	return err
}

// batch is what one append takes: parts of one or more files, so that many small
// files cost no more than a large one.
type batch struct {
	parts []*part
	envs  int
	bytes int
}

func (b *batch) full() bool { return b.envs >= batchSize || b.bytes >= batchBytes }

// part is a stretch of one file.
type part struct {
	of     *reading
	envs   []envelope.Envelope
	counts Counts
	host   string // where the file was opened
	size   int64  // of the file, in bytes
	next   int64  // where it was read to
	err    error  // it cannot be read further
	end    bool   // it was read to its end
}

// read reads file after file into batches.
func (r *replaying) read(ctx context.Context, out chan<- *batch) {
	defer close(out)
	b := &batch{}
	for _, of := range r.readings {
		p := &part{of: of}
		b.parts = append(b.parts, p)
		for i, err := range of.items(ctx, p) {
			if err != nil {
				p.err = err
				break
			}
			b.take(p, i)
			if b.full() {
				out <- b
				p = &part{of: of, size: p.size, next: p.next}
				b = &batch{parts: []*part{p}}
			}
		}
		p.end = p.err == nil
		if ctx.Err() != nil {
			break
		}
	}
	out <- b
}

// reading is one file on its way; only run's goroutine touches the result.
type reading struct {
	Config
	result FileResult
	last   map[string]envelope.Envelope // by session, without bodies
	forks  map[string]bool              // session and owner that were told
}

// items opens the file and gives its values.
func (r *reading) items(ctx context.Context, p *part) iter.Seq2[item, error] {
	return func(yield func(item, error) bool) {
		f, err := r.Files.open(r.result.File, r.Host)
		if err != nil {
			yield(item{}, err)
			return
		}
		p.size, p.host = f.size, f.host.Name
		for i, err := range f.items(ctx) {
			if !yield(i, err) || err != nil {
				break
			}
		}
		// What was read is whole whatever closing says.
		_ = f.source.Close()
	}
}

// take counts an item and keeps what goes into the log.
func (b *batch) take(p *part, i item) {
	c := &p.counts
	p.next = i.next
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
	p.envs = append(p.envs, kept(i.Envelope))
	b.envs++
	b.bytes += len(i.Envelope.Body)
}

// bring takes a batch into the log, with the end of every session whose file
// ends in it.
func (r *replaying) bring(ctx context.Context, b *batch) error {
	var envs []envelope.Envelope
	for _, p := range b.parts {
		p.of.begin(p)
		envs = append(envs, p.envs...)
		if p.end && !r.DryRun {
			envs = append(envs, p.of.idled()...)
		}
	}
	results, err := r.add(ctx, envs)
	if err != nil {
		return fmt.Errorf("replay %s: %w", b.parts[0].of.result.File, err)
	}
	var forks []envelope.Envelope
	n := 0
	for _, p := range b.parts {
		for _, e := range p.envs {
			p.of.count(e, results[n])
			if f, ok := p.of.fork(e, results[n].Owner); ok {
				forks = append(forks, f)
			}
			n++
		}
		if p.end && !r.DryRun {
			n += len(p.of.result.Sessions)
		}
		r.Progress(Progress{p.of.result.File, p.next, max(p.size, p.next)})
	}
	if len(forks) == 0 || r.DryRun {
		return nil
	}
	_, err = r.Ingester.Add(ctx, forks...)
	return err
}

// begin adds a part's counts and sessions to the file's.
func (r *reading) begin(p *part) {
	r.result.add(p.counts)
	r.result.Bytes = p.next
	if p.host != "" {
		r.result.Host = p.host
	}
	if p.err != nil {
		r.result.Error = p.err.Error()
	}
	for _, e := range p.envs {
		r.session(e)
	}
}

// idled says of each session that it said nothing after its last record.
func (r *reading) idled() (envs []envelope.Envelope) {
	for _, s := range r.result.Sessions {
		envs = append(envs, Idled(r.last[s]))
	}
	return envs
}

// add brings the batch in, or asks what would become of it.
func (r *replaying) add(ctx context.Context, envs []envelope.Envelope) ([]ingest.Result, error) {
	if len(envs) == 0 {
		return nil, ctx.Err()
	}
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
