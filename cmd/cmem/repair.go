package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"cmem/cmd/internal/api"
	"cmem/cmd/internal/worker"
	"cmem/ingest/home"
	"cmem/streams"
)

// repairFlags say how far a repair goes.
type repairFlags struct {
	plan, try, apply bool
	deep, begin      bool
}

func (a *app) newRepair() *cobra.Command {
	var f repairFlags
	c := &cobra.Command{
		Use:   "repair",
		Short: "Mend what the doctor found: say how (--plan), try it on a copy (--dry-run), or do it (--apply)",
		Long: `repair asks the doctor and does what is safe about each finding, and nothing else.
What it changes it keeps a copy of first; it says what it did, what is left to a
person, and what the doctor still finds afterwards. A worker that runs is stopped
for the time that takes and started again; hooks write into the spool meanwhile.

  --plan     say what would be done (this is what happens without a flag)
  --dry-run  do it on a copy of the data folder, say what came of it, throw the copy away
  --apply    do it`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if f.plan && (f.try || f.apply) || f.try && f.apply {
				return usageError{errors.New("give one of --plan, --dry-run and --apply")}
			}
			return a.repair(c.Context(), f)
		},
	}
	c.Flags().BoolVar(&f.plan, "plan", false, "only say what would be done")
	c.Flags().BoolVar(&f.try, "dry-run", false, "do it on a copy")
	c.Flags().BoolVar(&f.apply, "apply", false, "do it")
	c.Flags().BoolVar(&f.deep, "deep", false, "ask the doctor to read everything")
	c.Flags().BoolVar(&f.begin, "new-log", false, "where the log is gone and no copy of it is left: put the rest aside and begin a new one")
	return c
}

func (a *app) repair(ctx context.Context, f repairFlags) error {
	dir, err := a.home()
	if err != nil {
		return err
	}
	d, _, err := a.examine(ctx, api.DoctorRequest{Deep: f.deep})
	if err != nil {
		return err
	}
	net, err := newestNet(dir)
	if err != nil {
		return err
	}
	out := api.Repaired{Steps: worker.Plan(d.Findings, net, f.begin), Healthy: d.Healthy}
	if (f.apply || f.try) && acts(out.Steps) {
		if out, err = a.carryOut(ctx, dir, out.Steps, f); err != nil {
			return errors.Join(a.showRepair(out), err)
		}
	}
	if err := a.showRepair(out); err != nil {
		return err
	}
	if len(out.Steps) > 0 && !out.Healthy {
		return fmt.Errorf("%w to do", errFindings)
	}
	return nil
}

func newestNet(dir home.Dir) (*streams.Net, error) {
	nets, err := streams.Nets(dir.Log())
	if err != nil || len(nets) == 0 {
		return nil, err
	}
	return &nets[0], nil
}

// acts says whether anything of a plan is done by cmem.
func acts(steps []api.Step) bool {
	for _, s := range steps {
		if s.Action != "" {
			return true
		}
	}
	return false
}

// carryOut has the folder to itself: a worker is stopped, and started again
// whatever came of it.
func (a *app) carryOut(ctx context.Context, dir home.Dir, steps []api.Step, f repairFlags) (out api.Repaired, err error) {
	cfg, err := a.settings(dir)
	if err != nil {
		return out, err
	}
	stopped, err := stopWorker(ctx, dir)
	if err != nil {
		return out, err
	}
	do := worker.TryRepair
	if f.apply {
		do = worker.Repair
	}
	out, err = do(ctx, dir, cfg, a.logger(dir), steps, f.deep)
	if stopped {
		_, _, again := a.start(context.WithoutCancel(ctx), dir)
		err = errors.Join(err, again)
	}
	return out, err
}

func (a *app) showRepair(r api.Repaired) error {
	if a.json {
		return a.print(r)
	}
	if len(r.Steps) == 0 {
		a.say("nothing is to be repaired")
		return nil
	}
	for _, s := range r.Steps {
		a.say("%-18s %s", s.Code, s.What)
		a.say("%19s%s", "", sayStep(s, r))
	}
	switch {
	case r.Applied:
		a.say("what was there before is in %s", r.Copies)
	case r.Tried:
		a.say("this was done on a copy, which is gone again; to do it: cmem repair --apply")
	case acts(r.Steps):
		a.say("nothing was changed; to try it on a copy: cmem repair --dry-run; to do it: cmem repair --apply")
	}
	for _, f := range r.Left {
		a.say("left: %-12s %s; %s", f.Code, f.What, f.Next)
	}
	return nil
}

func sayStep(s api.Step, r api.Repaired) string {
	switch {
	case s.Action == "":
		return "left to you: " + s.Says
	case s.Failed != "":
		return "not done: " + s.Failed
	case s.Done != "":
		return "done: " + s.Done
	case r.Applied || r.Tried:
		return "done: " + strings.TrimSpace(s.Says)
	}
	return "would be done: " + s.Says
}
