package streams

import (
	"context"
	"errors"
	"fmt"

	"cmem/streams/durable"
)

// Seen is what something outside of the log's folder remembers of a log.
type Seen struct {
	Who string     // as it is said in a sentence: "run/head"
	At  Checkpoint // Chain is zero where only the position is remembered
}

// HaltKind says in what a log is not what was seen of it.
type HaltKind string

// The kinds.
const (
	HaltShorter HaltKind = "shorter" // it ends before what was acknowledged
	HaltOther   HaltKind = "other"   // it is another log
	HaltDiffers HaltKind = "differs" // something else is where the log came by
)

// Halt says why a log takes nothing in: it is whole, and it is not what was seen of
// it before. An older copy was put in its place, or files were taken away. It can
// be read. It takes in again when what belongs there was put back, or when it is
// opened with Config.Accept.
type Halt struct {
	Kind HaltKind
	Seen Seen
	Log  string   // what it is now …
	Ends Position // … and where it ends
}

func (h *Halt) Error() string {
	switch h.Kind {
	case HaltOther:
		return fmt.Sprintf("%v: %s is of log %s with %d events, this is log %s with %d: the log's folder was exchanged", ErrHalted, h.Seen.Who, h.Seen.At.Log, h.Seen.At.Position, h.Log, h.Ends)
	case HaltDiffers:
		return fmt.Sprintf("%v: position %d is not what %s saw there: the log was exchanged for a copy that went another way", ErrHalted, h.Seen.At.Position, h.Seen.Who)
	}
	return fmt.Sprintf("%v: it ends at %d, and %s saw it at %d: it is an older copy, or files of it were taken away", ErrHalted, h.Ends, h.Seen.Who, h.Seen.At.Position)
}

func (h *Halt) Unwrap() error { return ErrHalted }

// Halted says why the log takes nothing in, nil if it does.
func (l *Log) Halted() *Halt { return l.halt.Load() }

// recall collects what is remembered of the log: by the head file and by those
// that the caller asked.
func (l *Log) recall() error {
	head, ok, err := readHeadFile(l.config.HeadFile)
	if err != nil {
		return err
	}
	if ok {
		at := Checkpoint{Log: head.log, Position: Position(head.sequence)}
		l.seen = append(l.seen, Seen{Who: l.config.HeadFile, At: at})
	}
	l.seen = append(l.seen, l.config.Seen...)
	return nil
}

// known is where anybody saw the end of this log furthest.
func (l *Log) known() (all Seen) {
	for _, s := range l.seen {
		if s.At.Log == l.identity.Log && s.At.Position > all.At.Position {
			all = s
		}
	}
	return all
}

// stop halts the log, at the first reason, unless it is to be taken as it is.
func (l *Log) stop(kind HaltKind, seen Seen, ends Position) {
	if l.Halted() != nil || l.config.Accept {
		return
	}
	durable.Reached("log.halted." + string(kind))
	halt := &Halt{Kind: kind, Seen: seen, Log: l.identity.Log, Ends: ends}
	l.halt.Store(halt)
	l.find("%v", halt)
}

// remembered: a log that was here is never begun anew. The identity is not made yet.
func (l *Log) remembered() error {
	if l.config.Accept {
		return nil
	}
	for _, s := range l.seen {
		if s.At.Position > 0 {
			return fmt.Errorf("%s has no log any more, and %s is of one with %d events: %w", l.config.Dir, s.Who, s.At.Position, ErrMissing)
		}
	}
	return nil
}

// compareSeen holds the open log against what is remembered of it.
func (l *Log) compareSeen(ctx context.Context, s *session) error {
	head := l.Head()
	for _, seen := range l.seen {
		switch {
		case seen.At.Position == 0:
		case seen.At.Log != l.identity.Log && l.vouched():
			// The head file knows this log: it is the other thing that is not of here.
		case seen.At.Log != l.identity.Log:
			l.stop(HaltOther, seen, head.Position)
		case uint64(seen.At.Position) > l.committer.last:
			l.stop(HaltShorter, seen, head.Position)
		case seen.At.Chain != Digest{}:
			same, err := passes(ctx, s, seen.At)
			if err != nil {
				return err
			}
			if !same {
				l.stop(HaltDiffers, seen, head.Position)
			}
		}
	}
	return nil
}

// vouched: the head file is of this log.
func (l *Log) vouched() bool {
	return len(l.seen) > 0 && l.seen[0].Who == l.config.HeadFile && l.seen[0].At.Log == l.identity.Log && l.seen[0].At.Position > 0
}

// passes says whether the log goes through a checkpoint. What damage took can tell
// nothing.
func passes(ctx context.Context, s *session, at Checkpoint) (bool, error) {
	m, err := s.get(ctx, uint64(at.Position))
	if errors.Is(err, ErrNotFound) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	chain, err := parseDigest(first(m.header, headerChain))
	return err != nil || chain == at.Chain, nil
}
