package streams

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"cmem/streams/block"
	"cmem/streams/durable"
)

// blockVersions are the versions of the server whose blocks testdata/blocks has one
// of: what another version writes is not rewritten.
var blockVersions = []string{"2.15.3"}

// lookAtBlocks mends what an unclean stop may have left, and else looks at the
// newest block only, which the server goes on writing.
func (l *Log) lookAtBlocks(known uint64) error {
	if l.opening.Clean && !l.config.Scan {
		whole, last, err := l.layout.newest()
		if err != nil || whole && last >= known {
			return err
		}
		if !whole {
			durable.Reached("log.damage-after-clean")
			l.find("the newest block file was damaged after the log was closed in order")
		}
		return l.mendBlocks(known, "at a start after a clean stop")
	}
	if l.opening.Clean {
		return l.mendBlocks(known, "at a start that was to look at everything")
	}
	return l.mendBlocks(known, "at a start after an unclean stop")
}

// newest says whether the newest block is whole, and where it ends.
func (l layout) newest() (whole bool, last uint64, err error) {
	names, err := l.blocks()
	if err != nil || len(names) == 0 {
		return true, 0, err
	}
	var s survey
	if err := s.read(l.block(names[len(names)-1])); err != nil {
		return false, 0, err
	}
	return len(s.blocks[0].report.Damage) == 0, s.last, nil
}

// mendBlocks looks at every block before the server, which would cut a damaged one
// off and give its sequences again, may open it. Damaged blocks are copied into
// evidence first. What it returns was told to no one yet.
func (l *Log) mendBlocks(known uint64, when string) error {
	s, err := l.layout.survey(known)
	if err != nil {
		return err
	}
	if len(s.blocks) == 0 && known > 0 {
		return fmt.Errorf("%s has no block file, %d messages were acknowledged: %w", l.layout.stream(), known, ErrMissing)
	}
	if s.endsEarly() && !l.config.Accept {
		// Nothing is broken where the log ends, and it ended later.
		l.stop(HaltShorter, l.known(), Position(s.last))
		s.known = 0
		s.plan()
	}
	damaged := s.damaged()
	if len(damaged) == 0 {
		return nil
	}
	durable.Reached("log.mended")
	f, err := l.keepEvidence(damaged, when)
	if err != nil {
		return fmt.Errorf("damaged blocks are not opened before a copy of them is kept: %w", err)
	}
	if !slices.Contains(blockVersions, l.server) {
		return fmt.Errorf("blocks %v are damaged and written by a server of version %s, which this version does not mend; a copy is in %s: %w",
			f.Blocks, l.server, f.Evidence, ErrDamaged)
	}
	if err := l.step("mend.kept"); err != nil {
		return err
	}
	return l.mend(s, damaged, f)
}

// evidenceTime makes names of time.
const evidenceTime = "20060102T150405.000000000Z"

// keepEvidence copies blocks into a new folder of evidence, durably.
func (l *Log) keepEvidence(blocks []surveyed, reason string) (*Finding, error) {
	now := time.Now().UTC()
	f := &Finding{Found: now, Reason: reason, Server: l.server, Lost: []Lost{}, Evidence: filepath.Join(l.layout.evidence(), now.Format(evidenceTime))}
	for _, b := range blocks {
		f.Blocks = append(f.Blocks, b.name)
	}
	if dir, err := l.layout.sameEvidence(blocks); err != nil || dir != "" {
		f.Evidence = dir
		return f, err
	}
	if err := os.MkdirAll(f.Evidence, 0o700); err != nil {
		return nil, err
	}
	for _, b := range blocks {
		if err := copyFile(filepath.Join(f.Evidence, b.name), l.layout.block(b.name), true); err != nil {
			return nil, err
		}
	}
	return f, errors.Join(durable.SyncDir(f.Evidence), durable.SyncDir(l.layout.evidence()), durable.SyncDir(l.layout.dir))
}

func (l layout) block(name string) string { return filepath.Join(l.stream(), "msgs", name) }

// mend rewrites damaged blocks. The finding is on the disk before the first of
// them is: after a crash the rest is found damaged again, and nothing that was
// lost is forgotten.
func (l *Log) mend(s *survey, damaged []surveyed, f *Finding) error {
	earlier, err := l.layout.findings()
	if err != nil {
		return err
	}
	known := explain(earlier)
	mended := make([][]byte, len(damaged))
	for i := range damaged {
		b := &damaged[i]
		data, err := os.ReadFile(l.layout.block(b.name))
		if err != nil {
			return err
		}
		var erased []block.Span
		if mended[i], erased, err = block.Mend(data, streamName, b.number, b.from, b.upto); err != nil {
			return err
		}
		lost := s.lostOf(b, erased, known)
		f.Lost = append(f.Lost, lost...)
		if len(lost) == 0 {
			f.Cut += int64(len(data) - len(mended[i]))
		}
	}
	if f.Count() > 0 {
		f.Spoiled = s.split.spoiled()
	}
	f.Mended = true
	if err := f.write(); err != nil {
		return err
	}
	for i, b := range damaged {
		durable.Reached("log.block-mended")
		if err := l.step("mend.block"); err != nil {
			return err
		}
		if err := durable.WriteFileVia(f.Evidence, l.layout.block(b.name), mended[i], 0o600); err != nil {
			return err
		}
	}
	if err := l.layout.thinEvidence(); err != nil {
		l.log.Warn("old copies of damaged files were not removed", "err", err)
	}
	return l.dropIndex()
}

// dropIndex makes the server count its blocks instead of trusting what it noted
// of them.
func (l *Log) dropIndex() error {
	err := durable.Remove(filepath.Join(l.layout.stream(), "msgs", "index.db"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
