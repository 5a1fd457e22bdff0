package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"cmem/cmd/internal/api"
	"cmem/cmd/internal/client"
	"cmem/streams"
	"cmem/streams/durable"
)

// errFindings: the doctor found something that is worse than a note.
var errFindings = errors.New("the doctor found something")

func (a *app) newDoctor() *cobra.Command {
	var r api.DoctorRequest
	c := &cobra.Command{
		Use: "doctor", Short: "Look for what is wrong, and say the next safe step; with --deep read everything",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			d, unopened, err := a.examine(c.Context(), r)
			switch {
			case err != nil:
				return err
			case unopened != nil:
				return a.showUnopened(d, unopened)
			}
			return a.showDiagnosis(d)
		},
	}
	c.Flags().BoolVar(&r.Deep, "deep", false, "read the whole log, and compare the read models with it")
	return c
}

// examine asks the doctor. What keeps the folder from being opened is a diagnosis
// too: then unopened is that error.
func (a *app) examine(ctx context.Context, r api.DoctorRequest) (d api.Diagnosis, unopened, err error) {
	err = a.with(ctx, func(peer *client.Client) error {
		bar := a.newBar()
		defer bar.end()
		return peer.Run(ctx, "/api/doctor", r, &d, bar.show)
	})
	if found, ok := diagnose(err); err != nil && ok {
		return found, err, nil
	}
	return d, nil, err
}

// unopened are findings that keep the data folder from being opened at all, by the
// exit code of the error.
var unopened = map[int]struct{ code, next string }{
	exitLocked:  {"folder.locked", "wait for the process that is named, or end it"},
	exitForeign: {"folder.foreign", "give another folder with --data or CMEM_DATA_DIR; nothing in this one was touched"},
	exitNewer:   {"folder.newer", "use the newer version of cmem; nothing was touched"},
	exitConfig:  {"config", "correct the setting"},
	exitNoSpace: {"disk.full", "free some space; hooks are kept in the spool as long as that can be written"},
	exitDamaged: {"log.missing", "keep the folder as it is; put log/ back from a backup, or see what can be done without one: cmem repair --plan"},
	exitNetwork: {"disk.network", "move the data folder to a disk of this machine, or set allow_network_fs where only one machine uses it"},
	exitStorage: {"disk.denied", "mend what is named; hooks are kept in the spool as long as that can be written"},
}

// diagnose makes a finding of an error that kept everything else from being looked
// at.
func diagnose(err error) (api.Diagnosis, bool) {
	u, ok := unopened[exitCode(err)]
	if errors.Is(err, streams.ErrDamaged) {
		u.code, u.next = "log.unmendable", "use the version of cmem that wrote the log; nothing was changed, and a copy of the damaged files is kept"
	}
	if !ok {
		return api.Diagnosis{}, false
	}
	if t := durable.TroubleOf(err); exitCode(err) == exitStorage && t != durable.NoTrouble {
		u.code = "disk." + string(t)
	}
	return api.Diagnosis{Findings: []api.Finding{{Code: u.code, Severity: api.Broken, What: err.Error(), Next: u.next}}}, true
}

// showUnopened leaves the sentence to the error, which has the exit code too.
func (a *app) showUnopened(d api.Diagnosis, err error) error {
	if a.json {
		return errors.Join(err, a.print(d))
	}
	a.say("next: %s", d.Findings[0].Next)
	return err
}

func (a *app) showDiagnosis(d api.Diagnosis) error {
	if a.json {
		if err := a.print(d); err != nil {
			return err
		}
	} else {
		a.sayDiagnosis(d)
	}
	if !d.Healthy {
		return fmt.Errorf("%w: the worst is %s", errFindings, d.Worst())
	}
	return nil
}

func (a *app) sayDiagnosis(d api.Diagnosis) {
	for _, f := range d.Findings {
		a.say("%-8s %-18s %s", f.Severity, f.Code, f.What)
		for _, e := range f.Evidence {
			a.say("%28s%s", "", e)
		}
		a.say("%28snext: %s", "", f.Next)
	}
	if len(d.Findings) == 0 {
		a.say("nothing is wrong")
	}
	a.say("disk: %s", used(d.Disk))
}
