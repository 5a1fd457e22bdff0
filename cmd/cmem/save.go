package main

import (
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"cmem/cmd/internal/api"
	"cmem/cmd/internal/client"
)

func (a *app) newSave() *cobra.Command {
	var r api.SaveRequest
	c := &cobra.Command{
		Use: "save TEXT…", Short: "Keep a note; - reads it from standard input",
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if r.Text = strings.Join(args, " "); r.Text == "-" {
				b, err := io.ReadAll(io.LimitReader(a.in, 4<<20))
				if err != nil {
					return err
				}
				r.Text = string(b)
			}
			if strings.TrimSpace(r.Text) == "" {
				return usageError{errors.New("there is no text to save")}
			}
			if r.Project == "" {
				here, err := projectOrigin()
				if err != nil {
					return err
				}
				r.Project, r.Origin = here.Key(), here.String()
			}
			return a.with(c.Context(), func(peer *client.Client) error {
				var out api.SaveAnswer
				if err := peer.Post(c.Context(), "/api/memory/save", r, &out); err != nil {
					return err
				}
				if a.json {
					return a.print(out)
				}
				a.say("%s", out.Message)
				return nil
			})
		},
	}
	c.Flags().StringVar(&r.Title, "title", "", "its title (default: its beginning)")
	c.Flags().StringVar(&r.Project, "project", "", "project, by name or key (default: this folder's)")
	return c
}

func (a *app) newProject() *cobra.Command {
	c := &cobra.Command{Use: "project", Short: "Projects and what belongs to them"}
	c.AddCommand(a.newProjectList(), a.newProjectMove())
	return c
}

func (a *app) newProjectList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List all projects, the most recently used first",
		RunE: func(c *cobra.Command, _ []string) error {
			return a.with(c.Context(), func(peer *client.Client) error {
				var out api.ProjectsAnswer
				if err := peer.Get(c.Context(), "/api/projects", nil, &out); err != nil {
					return err
				}
				if a.json {
					return a.print(out)
				}
				for _, p := range out.Projects {
					a.say("%s", p)
				}
				return nil
			})
		},
	}
}

func (a *app) newProjectMove() *cobra.Command {
	var session string
	c := &cobra.Command{
		Use: "move [FROM] TO", Short: "Give all of project FROM, or one --session, to project TO",
		Args: cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			r := api.MoveRequest{To: args[len(args)-1], Session: session}
			if len(args) == 2 {
				r.From = args[0]
			}
			if (r.From == "") == (r.Session == "") {
				return usageError{errors.New("give a project to move, or --session, and where to")}
			}
			return a.with(c.Context(), func(peer *client.Client) error {
				var out api.MoveAnswer
				if err := peer.Post(c.Context(), "/api/project/move", r, &out); err != nil {
					return err
				}
				if a.json {
					return a.print(out)
				}
				if !out.Moved {
					a.say("it was there already")
					return nil
				}
				a.say("moved to %s", out.To)
				return nil
			})
		},
	}
	c.Flags().StringVar(&session, "session", "", "move only this session, by the host's id")
	return c
}
