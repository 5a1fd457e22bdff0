package torture

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"cmem/cmd/internal/api"
	"cmem/cmd/internal/worker"
	"cmem/projections/projectiontest"
	"cmem/projections/records"
	"cmem/replay"
)

func verifyModels(ctx context.Context, n *worker.Node) error {
	before := dump(n)
	r, err := rebuilt(ctx, n)
	if err == nil && unreadable(r) {
		// A model that a crash left unfinished was built anew: there was nothing to
		// compare with, and the answer says so. Now there is.
		r, err = rebuilt(ctx, n)
	}
	if err == nil && (!r.Equal || len(r.Models) < 2) {
		err = fmt.Errorf("rebuild --verify: %+v\n%s", r, projectiontest.Difference(before, dump(n)))
	}
	return err
}

func rebuilt(ctx context.Context, n *worker.Node) (worker.RebuildResult, error) {
	got, err := n.Rebuild(ctx, api.RebuildRequest{Verify: true}, func(api.Line) {})
	if err != nil {
		return worker.RebuildResult{}, fmt.Errorf("rebuild --verify: %w", err)
	}
	r, ok := got.(worker.RebuildResult)
	if !ok {
		return r, fmt.Errorf("rebuild --verify answered %T", got)
	}
	return r, nil
}

func unreadable(r worker.RebuildResult) bool {
	return slices.ContainsFunc(r.Models, func(m replay.Build) bool { return m.Unreadable != "" })
}

// copyTree copies a folder with what is in it now.
func copyTree(to, from string) error { return os.CopyFS(to, os.DirFS(from)) }

// dump is everything that records say, for a person.
func dump(n *worker.Node) (text string) {
	var b strings.Builder
	if err := n.Records(func(s *records.Store) error { return s.Dump(&b, records.DumpOptions{Positions: true}) }); err != nil {
		return err.Error()
	}
	return b.String()
}
