package streams

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"cmem/streams/block"
)

// survey is what the block files of a stopped server hold.
type survey struct {
	blocks []surveyed
	// known is the highest sequence that was acknowledged, as far as anything
	// outside of the blocks knows; 0: nothing does.
	known uint64
	last  uint64 // the highest sequence in the blocks
	split splitNames
}

// surveyed is one block.
type surveyed struct {
	number int
	name   string
	report block.Report
	// from and upto are the sequences it has to have. They are set by plan, as is
	// mend: the file is not as it ought to be.
	from, upto uint64
	mend       bool
}

// survey reads every block, oldest first. It changes nothing. An error says that
// one could not be read at all.
func (l layout) survey(known uint64) (*survey, error) {
	names, err := l.blocks()
	if err != nil {
		return nil, fmt.Errorf("survey of the log: %w", err)
	}
	s := &survey{known: known}
	files, done := l.readAhead(names)
	defer func() {
		close(done)
		for range files {
		}
	}()
	for i := range names {
		f := <-files
		if f.err == nil {
			f.err = s.scan(l.block(names[i]), f.data)
		}
		if f.err != nil {
			return nil, fmt.Errorf("survey of the log: %w", f.err)
		}
		done <- f.data
	}
	s.plan()
	return s, nil
}

func (s *survey) read(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return s.scan(path, data)
}

func (s *survey) scan(path string, data []byte) error {
	b, err := scanBlock(path, data, s.see)
	if err != nil {
		return err
	}
	s.blocks = append(s.blocks, b)
	return nil
}

func scanBlock(path string, data []byte, each func(block.Record)) (surveyed, error) {
	name := filepath.Base(path)
	number, err := strconv.Atoi(strings.TrimSuffix(name, ".blk"))
	if err != nil {
		return surveyed{}, fmt.Errorf("%s is not named like a block", path)
	}
	report, err := block.Scan(data, streamName, number, each)
	return surveyed{number: number, name: name, report: report}, err
}

// see follows the sequences over all blocks.
func (s *survey) see(r block.Record) {
	if r.Kind == block.Tombstone || r.Sequence == 0 {
		return
	}
	s.split.see(r, r.Sequence > s.last+1)
	s.last = max(s.last, r.Sequence)
}

// plan says of each block which sequences it has to have, and whether it is as it
// ought to be. A block takes over where the one before ends; the newest has to
// reach what is known to have been acknowledged.
func (s *survey) plan() {
	before := uint64(0)
	for i := range s.blocks {
		b := &s.blocks[i]
		b.from = before + 1
		b.upto = b.report.Last
		if i == len(s.blocks)-1 {
			b.upto = max(b.report.Last, s.known, before)
		} else if next := s.firstAfter(i); next > 0 && len(b.report.Damage) > 0 {
			b.upto = max(b.report.Last, next-1)
		}
		hole := b.report.First > b.from || b.upto > max(b.report.Last, before)
		b.mend = len(b.report.Damage) > 0 || hole
		before = max(before, b.upto)
	}
}

// endsEarly says that the newest block is whole and the log does not reach what is
// known of it.
func (s *survey) endsEarly() bool {
	n := len(s.blocks)
	return n > 0 && len(s.blocks[n-1].report.Damage) == 0 && s.last < s.known
}

// firstAfter is the first sequence of the blocks behind i, 0 if they have none.
func (s *survey) firstAfter(i int) uint64 {
	for _, b := range s.blocks[i+1:] {
		if b.report.First > 0 {
			return b.report.First
		}
	}
	return 0
}

// damaged are the blocks that are not as they ought to be.
func (s *survey) damaged() (all []surveyed) {
	for _, b := range s.blocks {
		if b.mend {
			all = append(all, b)
		}
	}
	return all
}

// splitNames finds the names of values that lost a part: the name is on the last
// one, which may be whole.
type splitNames struct {
	behind bool // a gap lies behind the run of parts that is being read
	names  []splitName
}

type splitName struct {
	sequence uint64 // of the value's last message
	headers  map[string][]string
}

func (s *splitNames) see(r block.Record, gap bool) {
	if !gap && !s.behind {
		return
	}
	h := block.Fields(r.Header)
	n, of, err := part(h)
	if gap {
		s.behind = err == nil && n > 1
	}
	if err != nil || r.Kind != block.Message || !s.behind || n < of {
		return
	}
	s.behind = false
	if of > 1 {
		s.names = append(s.names, splitName{r.Sequence, h})
	}
}

// spoiled are the values that lost a part of the spans.
func (s *splitNames) spoiled() (all []Lost) {
	for _, n := range s.names {
		_, of, _ := part(n.headers)
		l := Lost{First: Position(n.sequence - uint64(of) + 1), Last: Position(n.sequence)}
		l.Names = appendName(nil, l.Last, n.headers)
		all = append(all, l)
	}
	return all
}
