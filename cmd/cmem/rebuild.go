package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"cmem/cmd/internal/api"
	"cmem/cmd/internal/client"
	"cmem/cmd/internal/worker"
)

func (a *app) newRebuild() *cobra.Command {
	var r api.RebuildRequest
	c := &cobra.Command{
		Use: "rebuild", Short: "Build the read models again from the log, and with --verify compare them with the old ones",
		RunE: func(c *cobra.Command, _ []string) error {
			return a.with(c.Context(), func(peer *client.Client) error {
				bar := a.newBar()
				var out worker.RebuildResult
				err := peer.Run(c.Context(), "/api/rebuild", r, &out, bar.show)
				bar.end()
				if err != nil {
					return err
				}
				return a.showRebuild(r, out)
			})
		},
	}
	c.Flags().BoolVar(&r.Verify, "verify", false, "compare digests of the old and the new ones")
	c.Flags().StringVar(&r.Only, "only", "", "records, search or context (default: all)")
	return c
}

func (a *app) showRebuild(r api.RebuildRequest, out worker.RebuildResult) error {
	if a.json {
		if err := a.print(out); err != nil {
			return err
		}
	} else {
		for _, m := range out.Models {
			switch {
			case m.Unreadable != "":
				a.say("%s: the old one could not be read (%s); built again", m.Name, m.Unreadable)
			case !r.Verify:
				a.say("%-8s built again from %d events", m.Name, m.Upto)
			case m.Equal:
				a.say("%-8s equal  %s", m.Name, m.After)
			default:
				a.say("%-8s DIFFERS  before %s  after %s", m.Name, m.Before, m.After)
			}
		}
	}
	if r.Verify && !out.Equal {
		return fmt.Errorf("%w: what was built again is not what was there", errDiffers)
	}
	return nil
}
