package streams

import (
	"context"
	"errors"

	"cmem/streams/durable"
)

// findEnd finds the newest whole value and sets the head, the committer's count
// and its chain by it.
func (l *Log) findEnd(ctx context.Context, s *session) error {
	state, err := s.state(ctx)
	if err != nil {
		return err
	}
	l.committer.last = state.LastSeq
	at := Checkpoint{Log: l.identity.Log}
	if state.NumDeleted > 0 {
		l.find("%d positions of the log hold no message", state.NumDeleted)
	}
	if state.FirstSeq > 1 && state.LastSeq > 0 {
		l.find("the log begins at position %d", state.FirstSeq)
	}
	for sequence := state.LastSeq; sequence >= max(state.FirstSeq, 1); sequence-- {
		chain, ok, err := endsValue(ctx, s, sequence)
		if err != nil {
			return err
		}
		if ok {
			at.Position, at.Chain = Position(sequence), chain
			break
		}
	}
	if n := state.LastSeq - uint64(at.Position); n > 0 {
		// Parts whose end was never sent; or, if damaged, named when they are read.
		durable.Reached("log.ends-in-parts")
		l.log.Info("the log ends in messages of no value", "after", at.Position, "messages", n)
	}
	l.committer.chain = at.Chain
	l.head.set(at)
	return nil
}

// endsValue reports whether a message is the last of a value, and its link.
func endsValue(ctx context.Context, s *session, sequence uint64) (chain Digest, ok bool, err error) {
	m, err := s.get(ctx, sequence)
	if errors.Is(err, ErrNotFound) {
		return chain, false, nil
	}
	if err != nil {
		return chain, false, err
	}
	n, of, err := part(m.header)
	if err != nil || n != of {
		return chain, false, nil
	}
	chain, err = parseDigest(first(m.header, headerChain))
	return chain, err == nil, nil
}

// compareMark says where the log differs from what the last Close left.
func (l *Log) compareMark(mark cleanMark, clean bool) {
	at := l.Head()
	switch {
	case !clean:
	case l.committer.last < mark.Sequence: // compareSeen says it
	case l.committer.last > mark.Sequence:
		l.find("the log ends at %d, it was closed at %d: it was written to by something else", l.committer.last, mark.Sequence)
	case at.Position != mark.Position || at.Chain.String() != mark.Chain:
		l.find("the last value is not the one the log was closed with (position %d)", mark.Position)
	}
}
