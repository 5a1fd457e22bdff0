package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cmem/cmd/internal/api"
	"cmem/cmd/internal/client"
)

func (a *app) newStatus() *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Tell whether a worker runs and whether everything is well",
		RunE: func(c *cobra.Command, _ []string) error {
			return a.with(c.Context(), func(peer *client.Client) error {
				var s api.Stats
				if err := peer.Get(c.Context(), "/api/stats", nil, &s); err != nil {
					return err
				}
				if a.json {
					return a.print(s)
				}
				a.showStatus(s)
				return nil
			})
		},
	}
}

func (a *app) showStatus(s api.Stats) {
	dir, _ := a.home()
	a.say("data      %s", dir)
	if s.Worker.Running {
		a.say("worker    running, process %d, version %s, up %s, %s", s.Worker.PID, s.Worker.Version,
			(time.Duration(s.Worker.Uptime) * time.Second).String(), s.Phase.Phase)
		where := []string{}
		if s.Worker.Socket != "" {
			where = append(where, s.Worker.Socket)
		}
		if s.Worker.Port != 0 {
			where = append(where, fmt.Sprintf("127.0.0.1:%d", s.Worker.Port))
		}
		a.say("listens   %s", strings.Join(where, ", "))
	} else {
		a.say("worker    not running; start it with: cmem start")
	}
	a.say("log       %d events, %s", s.Log.Head, size(s.Log.Bytes))
	d := s.Database
	a.say("records   %d sessions, %d prompts, %d tool uses, %d observations, %d summaries, %s", d.Sessions, d.Prompts, d.ToolUses, d.Observations, d.Summaries, size(d.Size))
	for _, m := range s.Models {
		line := m.State
		if m.State == "rebuilding" {
			line += fmt.Sprintf(", %d %%", m.Percent)
		} else if m.Behind > 0 {
			line += fmt.Sprintf(", %d behind", m.Behind)
		}
		a.say("%-9s %s", m.Name, line)
	}
	a.say("spool     %d waiting, %d held, %d corrupt", s.Spool.Waiting, s.Spool.Held, s.Spool.Corrupt)
	for _, n := range s.Notes {
		a.say("note      %s", n)
	}
}

// size writes bytes for people.
func size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}

// errDiffers: something was verified and is not as it ought to be.
var errDiffers = errors.New("verification failed")
