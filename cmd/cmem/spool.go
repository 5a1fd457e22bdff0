package main

import (
	"github.com/spf13/cobra"

	"cmem/cmd/internal/api"
	"cmem/cmd/internal/client"
)

func (a *app) newSpool() *cobra.Command {
	c := &cobra.Command{Use: "spool", Short: "Events on their way into the log"}
	c.AddCommand(&cobra.Command{
		Use: "retry", Short: "Bring back what could not enter the log and was held",
		RunE: func(c *cobra.Command, _ []string) error {
			return a.with(c.Context(), func(peer *client.Client) error {
				var out api.SpoolAnswer
				if err := peer.Post(c.Context(), "/api/spool/retry", nil, &out); err != nil {
					return err
				}
				if a.json {
					return a.print(out)
				}
				a.say("%s tried again", counted(out.Moved, "event"))
				return nil
			})
		},
	})
	return c
}
