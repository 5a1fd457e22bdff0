package worker

import (
	"context"
	"errors"
	"fmt"
	"os"

	"cmem/cmd/internal/api"
	"cmem/ingest/spool/drain"
	"cmem/projections"
	"cmem/projections/records"
	"cmem/replay"
	"cmem/streams"
	"cmem/streams/durable"
)

// Nudge has the spool looked at now.
func (n *Node) Nudge() {
	if n.isPrepared() == nil {
		n.drainer.Nudge()
	}
}

// RetrySpool brings what was held back into the spool.
func (n *Node) RetrySpool(ctx context.Context) (moved int, err error) {
	if err := n.isPrepared(); err != nil {
		return 0, err
	}
	if moved, err = drain.Retry(n.dir.Spool()); err != nil {
		return moved, err
	}
	if moved == 0 {
		return 0, nil
	}
	n.drainer.Nudge()
	return moved, n.drainer.RunOnce(ctx)
}

// Replay brings transcripts in; see package replay. When it returns, records
// have what they brought.
func (n *Node) Replay(ctx context.Context, r api.ReplayRequest, tell func(api.Line)) (any, error) {
	if err := n.isPrepared(); err != nil {
		return nil, err
	}
	defer widen()()
	switch r.Observe {
	case "", "none", "missing":
	default:
		return nil, api.Errorf(api.Invalid, "observe must be none or missing, not %q", r.Observe)
	}
	key, err := n.keyForReplay(r)
	if err != nil {
		return nil, err
	}
	result, err := replay.Transcript(ctx, replay.Config{
		Files: n.files(key), Ingester: n.ingester, Table: table{n.records}, Host: r.Host, DryRun: r.DryRun,
		Progress: func(p replay.Progress) {
			n.touch()
			tell(api.Line{Stage: p.File, Done: p.Done, Total: p.Total})
		},
	}, r.Paths...)
	if err != nil {
		return nil, apiError(err, "what was not taken in is still in the transcripts: replay them again then")
	}
	out := ReplayResult{Result: *result}
	if r.Observe == "missing" {
		out.Notes = append(out.Notes, "no model is configured, so none was asked; rules make observations of every turn by themselves")
	}
	if r.DryRun {
		return out, nil
	}
	if err := n.settle(ctx); err != nil {
		return nil, err
	}
	err = n.records.read(func(s *records.Store) error { return out.Count(s) })
	return out, err
}

// ReplayResult is the answer of /api/replay.
type ReplayResult struct {
	replay.Result
	Notes []string `json:"notes,omitempty"` // what a person should know
}

// settle brings all read models to the head, so that an answer can rely on them.
func (n *Node) settle(ctx context.Context) error {
	if n.stop != nil {
		return n.catchUpRecords(ctx) // the worker's loops bring the others along
	}
	return n.catchUp(ctx)
}

// RebuildResult is the answer of /api/rebuild.
type RebuildResult struct {
	Models []replay.Build `json:"models"`
	Equal  bool           `json:"equal"` // every model was compared and is equal
}

// Rebuild builds read models again, one after the other: records first, because
// the others follow it.
func (n *Node) Rebuild(ctx context.Context, r api.RebuildRequest, tell func(api.Line)) (any, error) {
	if err := n.isPrepared(); err != nil {
		return nil, err
	}
	defer widen()()
	// Deleted folders are built from nothing first: then there is something to
	// compare with.
	n.forgetUnread()
	if err := n.catchUp(ctx); err != nil {
		return nil, err
	}
	if r.Verify {
		// While records stand still, what follows them can be compared at one
		// position. Without a comparison nothing has to stand still.
		n.records.applying.Lock()
		defer n.records.applying.Unlock()
		if err := errors.Join(n.search.catchUp(ctx), n.contexts.catchUp(ctx)); err != nil && !isRebuilding(err) {
			return nil, err
		}
	}
	// A new build of records makes its followers begin again; that is done here,
	// once, and not by their loops too.
	n.search.applying.Lock()
	defer n.search.applying.Unlock()
	n.contexts.applying.Lock()
	defer n.contexts.applying.Unlock()
	steps := []step{{"records", n.records.rebuildAlone}, {"search", n.search.rebuild}, {"context", n.contexts.rebuild}}
	if r.Verify {
		steps[0].run = n.records.rebuild
	}
	out := RebuildResult{Equal: r.Verify}
	for _, step := range steps {
		if r.Only != "" && r.Only != step.name {
			continue
		}
		head := int64(n.head())
		tell(api.Line{Stage: step.name, Total: head})
		b, err := step.run(ctx, r.Verify, func(at streams.Position) {
			n.touch()
			tell(api.Line{Stage: step.name, Done: int64(at), Total: max(head, int64(at))})
		})
		if err != nil && !errors.Is(err, replay.ErrDiffers) {
			return nil, err
		}
		out.Models = append(out.Models, b)
		out.Equal = out.Equal && b.Equal
	}
	return out, nil
}

// forgetUnread: what a worker could not read and built again before is told by
// its status; a command that opened the models itself tells it now.
func (n *Node) forgetUnread() {
	if n.stop != nil {
		n.records.takeUnread()
		n.search.takeUnread()
		n.contexts.takeUnread()
	}
}

// step is the building of one model.
type step struct {
	name string
	run  func(ctx context.Context, verify bool, tell func(streams.Position)) (replay.Build, error)
}

// apiError names errors of the rooms for callers; the one place that does.
// refused is what it means that the log took nothing in.
func apiError(err error, refused string) error {
	var e *api.Error
	switch {
	case errors.As(err, &e):
		return err
	case errors.Is(err, streams.ErrHalted):
		return api.Errorf(api.Halted, "%v; see cmem doctor", err)
	case errors.Is(err, streams.ErrDiskFull):
		return api.Errorf(api.NoSpace, "the log takes nothing in while the disk has less free than the reserve (reserve_mb); free some space: %s", refused)
	case durable.IsFull(err):
		return api.Errorf(api.NoSpace, "the disk is full; free some space: %s", refused)
	case errors.Is(err, os.ErrNotExist), errors.Is(err, os.ErrPermission):
		return api.Errorf(api.NotFound, "%v", err)
	case errors.Is(err, replay.ErrUnknownHost):
		return api.Errorf(api.Invalid, "%v", err)
	case errors.Is(err, projections.ErrOtherLog):
		return fmt.Errorf("a read model is not of this log: %w", err)
	}
	return err
}
