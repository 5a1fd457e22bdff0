package streams

import (
	"context"
	"fmt"
	"time"

	"cmem/streams/block"
)

// CheckBlocks reads every block file of the open log and looks for damage that
// came after a clean stop, which the server passes over without a word. It reads
// one block at a time and calls pause after each with the time it took, to be
// waited for as long as the caller likes; an error of pause ends it.
//
// What it finds is in Gaps, and the log is not marked as closed in order, so that
// the next start mends it. It returns how many bytes it read.
func (l *Log) CheckBlocks(ctx context.Context, pause func(ctx context.Context, took time.Duration) error) (int64, error) {
	names, err := l.layout.blocks()
	if err != nil {
		return 0, fmt.Errorf("check blocks: %w", err)
	}
	s, total, b := &survey{}, int64(0), &scanned{}
	for i, name := range names {
		began := time.Now()
		if err := s.fill(b, l.layout.block(name), i == len(names)-1); err != nil {
			return total, fmt.Errorf("check blocks: %w", err)
		}
		total += int64(len(b.data))
		if err := pause(ctx, time.Since(began)); err != nil {
			return total, err
		}
	}
	s.plan()
	for _, b := range s.damaged() {
		l.suspect(&b)
	}
	return total, nil
}

// suspect names what is damaged in a block.
func (l *Log) suspect(b *surveyed) {
	l.doubtful.Store(true)
	reason := "block file " + b.name + " is damaged"
	if b.report.First > b.from {
		l.gaps.found(Gap{First: Position(b.from), Last: Position(b.report.First - 1), Reason: "no block file has it"})
	}
	for _, d := range b.report.Damage {
		span := block.Span{First: d.After + 1, Last: d.Before - 1}
		if d.Before == 0 {
			span.Last = max(b.upto, span.First)
		}
		if span.First <= span.Last {
			l.gaps.found(Gap{First: Position(span.First), Last: Position(span.Last), Reason: reason})
		}
	}
}
