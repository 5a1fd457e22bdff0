package streams

import (
	"context"
	"fmt"
)

// Report is what Verify read.
type Report struct {
	Values    int64 // read whole
	Messages  int64
	Bytes     int64 // of bodies as stored
	Abandoned int64 // messages of values that never got their end
	Gaps      []Gap
	Told      []Gap      // gaps that a finding tells of
	Broken    []Position // values that are not what the chain was made of
}

// OK reports whether nothing is missing, damaged or changed.
func (r *Report) OK() bool { return len(r.Gaps) == 0 && len(r.Broken) == 0 }

// Verify reads the whole log up to its head and checks every message, every join
// and every link. Damage is in the report; the error says only that reading
// itself failed.
func (l *Log) Verify(ctx context.Context) (Report, error) {
	var r Report
	j := l.joiner(0)
	j.gap = func(g Gap) {
		if l.gaps.explains(g) {
			r.Told = append(r.Told, g)
			return
		}
		r.Gaps = append(r.Gaps, g)
		l.gaps.found(g)
	}
	for e, err := range l.entries(ctx, j, l.Head().Position) {
		if err != nil {
			return r, fmt.Errorf("verify log: %w", err)
		}
		r.Values++
		if e.broken() {
			r.Broken = append(r.Broken, e.Position)
			l.gaps.found(Gap{First: e.Position, Last: e.Position, Reason: "not what the chain was made of"})
		}
	}
	r.Messages, r.Bytes, r.Abandoned = j.messages, j.bytes, j.abandoned
	return r, nil
}
