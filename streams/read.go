package streams

import (
	"context"
	"errors"
	"fmt"
	"iter"
)

// Read gives every value after a position, up to the head as it is now, in
// order. What is missing or damaged is skipped and named by Gaps. An error ends
// it; then reading again after the last record goes on. Bodies belong to the
// caller.
func (l *Log) Read(ctx context.Context, after Position) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		j := l.joiner(after)
		for e, err := range l.entries(ctx, j, l.Head().Position) {
			if err != nil {
				yield(Record{}, fmt.Errorf("read log: %w", err))
				return
			}
			if !yield(e.Record, nil) {
				return
			}
		}
	}
}

// Get gives the value at a position. ErrNotFound: none is there, or it is a part.
func (l *Log) Get(ctx context.Context, at Position) (Record, error) {
	e, err := l.entry(ctx, at)
	return e.Record, err
}

func (l *Log) entry(ctx context.Context, at Position) (e entry, err error) {
	if at == 0 || at > l.Head().Position {
		return e, fmt.Errorf("position %d: %w", at, ErrNotFound)
	}
	s, err := l.current(ctx)
	if err != nil {
		return e, err
	}
	m, err := s.get(ctx, uint64(at))
	if err != nil {
		return e, err
	}
	n, of, err := part(m.header)
	if err != nil || n != of {
		return e, fmt.Errorf("position %d: %w", at, ErrNotFound)
	}
	j := l.joiner(at - Position(of))
	for e, err := range l.entries(ctx, j, at) {
		return e, err
	}
	return e, fmt.Errorf("position %d is damaged: %w", at, ErrNotFound)
}

// joiner starts reading after a position.
func (l *Log) joiner(after Position) *joiner {
	return &joiner{codec: l.codec, gap: l.gaps.found, next: uint64(after) + 1, anchored: after == 0, within: after > 0}
}

// entries reads from where j is up to last. It survives a restart of the server,
// and reads on behind a message that the server cannot read.
func (l *Log) entries(ctx context.Context, j *joiner, last Position) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		r := reader{log: l, j: j, last: uint64(last), yield: yield}
		if err := r.run(ctx); err != nil && !errors.Is(err, errStopped) {
			yield(entry{}, err)
		}
	}
}

// reader is one run of entries.
type reader struct {
	log   *Log
	j     *joiner
	last  uint64
	yield func(entry, error) bool
}

// errStopped: the caller wants no more.
var errStopped = errors.New("stopped")

func (r *reader) run(ctx context.Context) error {
	careful := false // the server was stuck: go over the place with direct gets
	for r.j.next <= r.last {
		s, err := r.log.current(ctx)
		if err != nil {
			return err
		}
		if careful || r.last-r.j.next < smallRead {
			err = r.direct(ctx, s)
			careful = false
		} else {
			err = r.consume(ctx, s)
			careful = errors.Is(err, errStuck)
		}
		switch {
		case err == nil, careful:
		case errors.Is(err, errStopped), ctx.Err() != nil:
			return err
		case r.log.session.Load() != s:
			// The server was started again under us: ask the new one.
		default:
			return err
		}
	}
	return nil
}

// direct reads one answer's worth.
func (r *reader) direct(ctx context.Context, s *session) error {
	messages, err := r.ask(ctx, s)
	for _, m := range messages {
		if m.sequence > r.last {
			break
		}
		if err := r.take(m); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	if len(messages) == 0 {
		// Nothing can be read from here in one go: this one is damaged or gone.
		r.j.skipTo(r.j.next+1, "no readable message")
	} else if messages[len(messages)-1].sequence > r.last {
		r.j.skipTo(r.last+1, "no message")
	}
	return nil
}

// ask gets what one answer holds. For a single message, the usual case of whoever
// follows the head, the plain question is the cheapest.
func (r *reader) ask(ctx context.Context, s *session) ([]stored, error) {
	left := min(r.last-r.j.next+1, fetchCount)
	if left > 1 {
		return s.direct(ctx, r.j.next, int(left))
	}
	m, err := s.get(ctx, r.last)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	return []stored{m}, err
}

func (r *reader) consume(ctx context.Context, s *session) error {
	c, err := s.consume(ctx, r.j.next, r.last)
	if err != nil {
		return err
	}
	defer c.close()
	for r.j.next <= r.last {
		m, err := c.read(ctx)
		if err != nil {
			return err
		}
		if m.sequence > r.last {
			r.j.skipTo(r.last+1, "no message")
			return nil
		}
		if err := r.take(m); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) take(m stored) error {
	if e, ok := r.j.add(m); ok && !r.yield(e, nil) {
		return errStopped
	}
	return nil
}
