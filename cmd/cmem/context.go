package main

import (
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cmem/cmd/internal/api"
	"cmem/cmd/internal/client"
	"cmem/ingest/project"
)

func (a *app) newContext() *cobra.Command {
	var name, host string
	var full bool
	c := &cobra.Command{
		Use: "context", Short: "Print what the next session in this folder would be told",
		RunE: func(c *cobra.Command, _ []string) error {
			if name == "" {
				here, err := projectHere()
				if err != nil {
					return err
				}
				name = here
			}
			q := url.Values{"project": {name}, "zone": {a.zoneName(time.Now())}}
			if host != "" {
				q.Set("platformSource", host)
			}
			if full {
				q.Set("full", "true")
			}
			if terminal(a.out) && a.getenv("NO_COLOR") == "" {
				q.Set("colors", "true")
			}
			return a.with(c.Context(), func(peer *client.Client) error {
				text, err := peer.Text(c.Context(), "/api/context/inject", q)
				if err != nil {
					return err
				}
				if a.json {
					return a.print(map[string]string{"project": name, "context": text})
				}
				if strings.TrimSpace(text) == "" {
					fmt.Fprintf(a.err, "cmem: nothing is known of the project %s yet\n", name)
					return nil
				}
				a.say("%s", strings.TrimRight(text, "\n"))
				return nil
			})
		},
	}
	c.Flags().StringVar(&name, "project", "", "project, by name or key (default: this folder's)")
	c.Flags().StringVar(&host, "host", "", "as claude-code or codex would get it")
	c.Flags().BoolVar(&full, "full", false, "everything in full")
	return c
}

// projectHere is the key of the working folder's project.
func projectHere() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", api.Errorf(api.NotFound, "the working folder is not there (%v): name a project with --project", err)
	}
	return project.Find(dir).Key(), nil
}
