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
	a.say("log       %s, %s on the disk", counted(int(s.Log.Head), "event"), size(s.Log.Bytes))
	d := s.Database
	a.say("memory    %s, %s, %s, %s, %s", counted(d.Sessions, "session"), counted(d.Prompts, "prompt"), counted(d.ToolUses, "tool use"), counted(d.Observations, "observation"), counted(d.Summaries, "summary"))
	a.say("models    %s; %s on the disk", models(s.Models), size(d.Size))
	a.say("spool     %s", waiting(s.Spool))
	a.showHooks(s.Hooks)
	for _, n := range s.Notes {
		a.say("note      %s", n)
	}
}

// models says of each read model how it is.
func models(all []api.Model) string {
	var parts []string
	for _, m := range all {
		part := m.Name + " " + m.State
		if m.State == "rebuilding" {
			part += fmt.Sprintf(" (%d %%)", m.Percent)
		} else if m.Behind > 0 {
			part += fmt.Sprintf(" (%d behind)", m.Behind)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

func waiting(s api.SpoolStats) string {
	out := fmt.Sprintf("%d waiting, %d held, %d corrupt", s.Waiting, s.Held, s.Corrupt)
	if s.Foreign > 0 {
		out += fmt.Sprintf(", %d not of the spool", s.Foreign)
	}
	return out
}

// showHooks says what hosts delivered last, and what hooks counted.
func (a *app) showHooks(h api.HookStats) {
	var last []string
	for _, s := range h.Last {
		last = append(last, fmt.Sprintf("%s %s at %s", s.Host, s.Event, a.localStamp(s.Time)))
	}
	if len(last) == 0 {
		last = []string{"nothing among the newest events"}
	}
	a.say("hooks     last delivered: %s", strings.Join(last, ", "))
	for _, c := range h.Counters {
		line := fmt.Sprintf("%s: %s", times(c.Count), c.Meaning)
		if c.Last != "" {
			line += ", last at " + a.localStamp(c.Last)
		}
		a.say("          %s", line)
	}
}

func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
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
