package main

import (
	"context"
	"errors"
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
			shown := name
			if name == "" {
				here, err := projectOrigin()
				if err != nil {
					return err
				}
				name, shown = here.Key(), here.Display()
			}
			if err := knownHost(host); err != nil {
				return err
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
				var note string
				if strings.TrimSpace(text) == "" {
					if note, err = whyEmpty(c.Context(), peer, name, shown); err != nil {
						return err
					}
				}
				if a.json {
					out := map[string]string{"project": name, "name": shown, "context": text}
					if note != "" {
						out["note"] = note
					}
					return a.print(out)
				}
				if note != "" {
					fmt.Fprintln(a.err, "cmem: "+note)
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

// whyEmpty says why there is nothing to tell of a project.
func whyEmpty(ctx context.Context, peer *client.Client, key, name string) (string, error) {
	var page api.Page[api.PromptRow]
	err := peer.Get(ctx, "/api/prompts", url.Values{"project": {key}, "limit": {"1"}}, &page)
	var e *api.Error
	switch {
	case errors.As(err, &e) && e.Code == api.NotFound:
		return fmt.Sprintf("no project %s is known; name another with --project, cmem project list shows them", name), nil
	case err != nil:
		return "", err
	case len(page.Items) == 0:
		return fmt.Sprintf("the project %s is known, but no prompt and no observation of it are kept yet", name), nil
	}
	return fmt.Sprintf("what happened in the project %s is kept, but no turn of it has made an observation or a summary yet; turns make them when they end (cmem search --project finds what is there)", name), nil
}

// projectOrigin is the working folder's project.
func projectOrigin() (project.Origin, error) {
	dir, err := os.Getwd()
	if err != nil {
		return project.Origin{}, api.Errorf(api.NotFound, "the working folder is not there (%v): name a project with --project", err)
	}
	return project.Find(dir), nil
}
