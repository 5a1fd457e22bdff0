package streams

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"cmem/streams/block"
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

// Verify reads the files of the whole log up to its head and checks every record,
// every join and every link. each, which may be nil, gets the ids of values in order,
// many at once, with the position of the last. Damage is in the report; the error
// says only that reading itself failed, or is that of each.
//
// It reads the files and not through the server, which reads a third as fast and
// passes over what it cannot read. Of damage in the files it does what CheckBlocks
// does. A value that its link proves is not decoded.
func (l *Log) Verify(ctx context.Context, each func(ids []string, upto Position) error) (Report, error) {
	v := verifier{log: l, each: each, head: uint64(l.Head().Position)}
	v.j = l.joiner(0)
	v.j.gap = v.gap
	if err := v.run(ctx); err != nil {
		return v.report, fmt.Errorf("verify log: %w", err)
	}
	return v.report, nil
}

// verifier is one run of Verify.
type verifier struct {
	log     *Log
	each    func(ids []string, upto Position) error
	head    uint64
	j       *joiner
	report  Report
	files   survey
	pending []pending // of the block that is being read
	provers []*prover
	proven  int // values that were not decoded
}

// pending is a value to be checked: by its claim, or all of it.
type pending struct {
	claim claim
	whole *assembled
}

func (v *verifier) run(ctx context.Context) error {
	names, err := v.log.layout.blocks()
	if err != nil {
		return err
	}
	for range runtime.GOMAXPROCS(0) {
		v.provers = append(v.provers, newProver(v.log.codec))
	}
	if err := v.blocks(ctx, names); err != nil {
		return err
	}
	v.j.skipTo(v.head+1, "no message")
	v.files.plan()
	for _, b := range v.files.damaged() {
		v.log.suspect(&b)
	}
	r := &v.report
	r.Messages, r.Bytes, r.Abandoned = v.j.messages, v.j.bytes, v.j.abandoned
	slices.SortFunc(r.Gaps, func(a, b Gap) int { return int(a.First) - int(b.First) })
	return nil
}

// blocks goes through all of them; what reads ahead is gone when it returns.
func (v *verifier) blocks(ctx context.Context, names []string) error {
	ctx, cancel := context.WithCancel(ctx)
	blocks, done := v.log.layout.scanAhead(ctx, &v.files, names)
	defer func() {
		cancel()
		for range blocks {
		}
	}()
	for b := range blocks {
		if b.err != nil {
			return b.err
		}
		for i := range b.records {
			v.take(b.records[i])
		}
		if err := v.settle(); err != nil {
			return err
		}
		done <- b
	}
	return ctx.Err()
}

// take gives the messages of a block, in order, to the joiner, those that need no
// joining only in name.
func (v *verifier) take(r block.Record) {
	if r.Kind != block.Message || r.Sequence > v.head {
		return
	}
	if c, ok := claimOf(r); ok && v.j.pass(&c) {
		v.pending = append(v.pending, pending{claim: c})
		return
	}
	m := stored{r.Sequence, block.Fields(r.Header), r.Data}
	if first(m.header, headerPart) != "" {
		m.data = bytes.Clone(m.data) // the joiner keeps it longer than the block is there
	}
	if a, ok := v.j.take(m); ok {
		a.run = slices.Clone(a.run)
		v.pending = append(v.pending, pending{whole: &a})
	}
}

// checked is what came of one value.
type checked struct {
	id             string
	proven, broken bool
	err            error
}

// settle checks what the block completed, on all processors.
func (v *verifier) settle() error {
	results := make([]checked, len(v.pending))
	n := max(1, min(len(v.provers), len(v.pending)/64))
	var wg sync.WaitGroup
	for k := range n {
		wg.Go(func() {
			for i := k * len(results) / n; i < (k+1)*len(results)/n; i++ {
				results[i] = v.pending[i].check(v.provers[k])
			}
		})
	}
	wg.Wait()
	return v.count(results)
}

func (p *pending) check(by *prover) checked {
	a := p.whole
	if a == nil {
		if id, ok := by.prove(&p.claim); ok {
			return checked{id: id, proven: true}
		}
		a = &assembled{last: p.claim.stored(), start: p.claim.sequence, previous: p.claim.previous, anchored: true}
	}
	e, err := a.decode(by.codec)
	return checked{id: e.Envelope.ID, err: err, broken: err == nil && e.broken()}
}

// span are the sequences that the value takes.
func (p *pending) span() (from, upto Position) {
	if p.whole == nil {
		return Position(p.claim.sequence), Position(p.claim.sequence)
	}
	return Position(p.whole.start), Position(p.whole.last.sequence)
}

func (v *verifier) count(results []checked) error {
	if len(results) == 0 {
		return nil
	}
	ids := make([]string, 0, len(results))
	var upto Position
	for i, c := range results {
		var from Position
		from, upto = v.pending[i].span()
		if c.err != nil {
			v.gap(Gap{First: from, Last: upto, Reason: c.err.Error()})
			continue
		}
		v.report.Values++
		ids = append(ids, c.id)
		if c.proven {
			v.proven++
		}
		if c.broken {
			v.report.Broken = append(v.report.Broken, upto)
			v.log.gaps.found(Gap{First: upto, Last: upto, Reason: "not what the chain was made of"})
		}
	}
	v.pending = v.pending[:0]
	if v.each == nil {
		return nil
	}
	return v.each(ids, upto)
}

func (v *verifier) gap(g Gap) {
	if v.log.gaps.explains(g) {
		v.report.Told = append(v.report.Told, g)
		return
	}
	v.report.Gaps = append(v.report.Gaps, g)
	v.log.gaps.found(g)
}
