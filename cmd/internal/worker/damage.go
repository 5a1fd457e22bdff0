package worker

import (
	"context"
	"fmt"
	"time"

	"cmem/cmd/internal/api"
	"cmem/projections/records"
	"cmem/streams"
	"cmem/streams/durable"
)

// told is the id table once the log has said what it lost. Until it has, ids of
// events that are gone would count as held, and whoever brings them again would be
// sent away: so nothing is asked of the table before.
type told struct {
	table
	node *Node
}

// Lookup: see ingest.Table.
func (t told) Lookup(ids []string) ([]streams.Held, streams.Checkpoint, error) {
	if t.node.untold.Load() {
		if err := t.node.tellLate(); err != nil {
			return nil, streams.Checkpoint{}, fmt.Errorf("what the log lost is not told in it yet: %w", err)
		}
	}
	return t.table.Lookup(ids)
}

// tellLate does what could not be done when the log was opened, on a full disk.
func (n *Node) tellLate() error {
	durable.Reached("worker.damage.late")
	ctx := n.streams
	if err := n.tellDamage(ctx); err != nil {
		return err
	}
	if err := n.catchUpRecords(ctx); err != nil {
		return err
	}
	n.untold.Store(false)
	return nil
}

// tellDamage has the log say what was found damaged in its files when it was
// opened. Read models still know something of what is gone, so they are asked
// first, before anything changes them.
func (n *Node) tellDamage(ctx context.Context) error {
	findings, err := n.stream.Findings()
	if err != nil {
		return err
	}
	var names map[streams.Position]streams.Name
	return n.stream.TellDamage(ctx, func(at streams.Position) (streams.Name, bool) {
		if names == nil {
			names = n.namesOf(findings)
		}
		name, ok := names[at]
		return name, ok
	})
}

// namesOf never fails: what cannot be named is told by its position.
func (n *Node) namesOf(findings []streams.Finding) map[streams.Position]streams.Name {
	names := map[streams.Position]streams.Name{}
	first, last := streams.Position(0), streams.Position(0)
	for _, f := range findings {
		for _, l := range f.Lost {
			if first == 0 || l.First < first {
				first = l.First
			}
			last = max(last, l.Last)
		}
	}
	err := n.records.read(func(s *records.Store) (err error) {
		names, err = s.Names(first, last)
		return err
	})
	if err != nil {
		n.log.Warn("read models do not say what was lost", "err", err)
		return map[streams.Position]streams.Name{}
	}
	return names
}

// How the blocks of the log are checked: one after the other, so slowly that it
// takes a hundredth of a core, once a day.
const (
	checkAfter = time.Minute
	checkEvery = 24 * time.Hour
	checkShare = 99 // times what a block took is rested
)

// checkBlocks is a loop of its own: it ends with ctx.
func (n *Node) checkBlocks(ctx context.Context) {
	for rest(ctx, checkAfter) == nil {
		read, err := n.stream.CheckBlocks(ctx, checkPace)
		if err != nil && ctx.Err() == nil {
			n.log.Warn("the log's blocks were not checked", "err", err)
		}
		n.log.Debug("the log's blocks were checked", "bytes", read)
		if rest(ctx, checkEvery) != nil {
			return
		}
	}
}

// checkPace rests after a block that took so long.
func checkPace(ctx context.Context, took time.Duration) error { return rest(ctx, took*checkShare) }

func rest(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Damage lists what was ever found damaged in the log's files.
func (n *Node) Damage(context.Context) ([]api.LogDamage, error) {
	if err := n.isOpen(); err != nil {
		return nil, err
	}
	findings, err := n.stream.Findings()
	out := make([]api.LogDamage, 0, len(findings))
	for _, f := range findings {
		d := api.LogDamage{Found: f.Found, Reason: f.Reason, Files: f.Blocks, Position: uint64(f.Position), Evidence: f.Evidence, Unfinished: f.Cut}
		d.Lost, d.Incomplete = lost(f.Lost), lost(f.Spoiled)
		out = append(out, d)
	}
	return out, err
}

func lost(all []streams.Lost) []api.LogLost {
	out := make([]api.LogLost, 0, len(all))
	for _, l := range all {
		one := api.LogLost{First: uint64(l.First), Last: uint64(l.Last)}
		for _, n := range l.Names {
			one.Names = append(one.Names, api.LogName{Position: uint64(n.Position), ID: n.ID, Type: n.Type, Source: n.Source, Session: n.Session, Time: n.Time})
		}
		out = append(out, one)
	}
	return out
}
