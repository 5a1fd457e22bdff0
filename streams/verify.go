package streams

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
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
// passes over what it cannot read.
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
	pending []assembled // of the block that is being read
}

func (v *verifier) run(ctx context.Context) error {
	names, err := v.log.layout.blocks()
	if err != nil {
		return err
	}
	for _, name := range names {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := v.block(v.log.layout.block(name)); err != nil {
			return err
		}
	}
	v.j.skipTo(v.head+1, "no message")
	r := &v.report
	r.Messages, r.Bytes, r.Abandoned = v.j.messages, v.j.bytes, v.j.abandoned
	slices.SortFunc(r.Gaps, func(a, b Gap) int { return int(a.First) - int(b.First) })
	return nil
}

func (v *verifier) block(path string) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // what it had is missed by its sequences
	}
	if err != nil {
		return err
	}
	if _, err = scanBlock(path, data, v.take); err != nil {
		return err
	}
	return v.settle()
}

// take gives the messages of a block to the joiner, in order.
func (v *verifier) take(r block.Record) {
	if r.Kind != block.Message || r.Sequence > v.head {
		return
	}
	if a, ok := v.j.take(stored{r.Sequence, block.Fields(r.Header), r.Data}); ok {
		a.run = slices.Clone(a.run)
		v.pending = append(v.pending, a)
	}
}

// checked is what came of one value.
type checked struct {
	id     string
	broken bool
	err    error
}

// settle decodes what the block completed, on all processors.
func (v *verifier) settle() error {
	results := make([]checked, len(v.pending))
	n := max(1, min(runtime.GOMAXPROCS(0), len(v.pending)/64))
	var wg sync.WaitGroup
	for k := range n {
		wg.Go(func() {
			for i := k * len(results) / n; i < (k+1)*len(results)/n; i++ {
				e, err := v.pending[i].decode(v.log.codec)
				results[i] = checked{id: e.Envelope.ID, err: err, broken: err == nil && e.broken()}
			}
		})
	}
	wg.Wait()
	return v.count(results)
}

func (v *verifier) count(results []checked) error {
	ids := make([]string, 0, len(results))
	for i, c := range results {
		a := &v.pending[i]
		at := Position(a.last.sequence)
		if c.err != nil {
			v.gap(Gap{First: Position(a.start), Last: at, Reason: c.err.Error()})
			continue
		}
		v.report.Values++
		ids = append(ids, c.id)
		if c.broken {
			v.report.Broken = append(v.report.Broken, at)
			v.log.gaps.found(Gap{First: at, Last: at, Reason: "not what the chain was made of"})
		}
	}
	if len(results) == 0 {
		return nil
	}
	upto := Position(v.pending[len(results)-1].last.sequence)
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
