package main

import (
	"errors"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cmem/cmd/internal/api"
	"cmem/cmd/internal/client"
)

// filters are the flags that limit a search; each is one parameter of the API.
type filters struct {
	strings  map[string]*string // parameter → flag's value
	limit    int
	offset   int
	isFolder bool
}

func (f *filters) flag(c *cobra.Command, name, param, help string) {
	v := new(string)
	c.Flags().StringVar(v, name, "", help)
	if f.strings == nil {
		f.strings = map[string]*string{}
	}
	f.strings[param] = v
}

func (f *filters) values() url.Values {
	q := url.Values{}
	for param, v := range f.strings {
		if *v != "" {
			q.Set(param, *v)
		}
	}
	return q
}

func (a *app) newSearch() *cobra.Command {
	f := &filters{}
	c := &cobra.Command{
		Use: "search [WORD…]", Short: "Find memories by words, or the newest by filters",
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			q := f.values()
			if err := knownHost(q.Get("platformSource")); err != nil {
				return err
			}
			if len(args) > 0 {
				q.Set("query", strings.Join(args, " "))
			}
			if len(q) == 0 {
				return usageError{errors.New("give words to look for, or a filter")}
			}
			q.Set("limit", strconv.Itoa(f.limit))
			q.Set("offset", strconv.Itoa(f.offset))
			q.Set("zone", a.zoneName(time.Now()))
			if f.isFolder {
				q.Set("isFolder", "true")
			}
			return a.with(c.Context(), func(peer *client.Client) error {
				if a.json {
					q.Set("format", "json")
					return a.relay(c.Context(), peer, "/api/search", q)
				}
				return a.text(c.Context(), peer, "/api/search", q)
			})
		},
	}
	f.flag(c, "type", "type", "observations, summaries (also called sessions), prompts, texts or turns")
	f.flag(c, "obs-type", "obs_type", "types of observations, with commas: bugfix,feature,refactor,change,discovery,decision")
	f.flag(c, "concepts", "concepts", "concepts, with commas: any of them")
	f.flag(c, "files", "files", "files, with commas: any of them")
	f.flag(c, "project", "project", "one project, by name or key")
	f.flag(c, "host", "platformSource", "claude-code or codex")
	f.flag(c, "session", "session", "one session, by the host's id")
	f.flag(c, "from", "dateStart", "first day or moment, like 2026-01-24")
	f.flag(c, "to", "dateEnd", "last day or moment; a day is included")
	f.flag(c, "date", "date", "one day")
	f.flag(c, "order", "orderBy", "relevance, date_desc or date_asc")
	c.Flags().BoolVar(&f.isFolder, "folder", false, "--files names folders: what lies directly in them")
	c.Flags().IntVar(&f.limit, "limit", 20, "how many")
	c.Flags().IntVar(&f.offset, "offset", 0, "leave out this many")
	return c
}

func (a *app) newTimeline() *cobra.Command {
	f := &filters{}
	var before, after int
	c := &cobra.Command{
		Use: "timeline ANCHOR", Short: "Show what lies around an id, a time, or the best hit of --query",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			q := f.values()
			if err := knownHost(q.Get("platformSource")); err != nil {
				return err
			}
			if len(args) == 1 {
				q.Set("anchor", args[0])
			}
			if q.Has("anchor") == q.Has("query") {
				return usageError{errors.New("give an anchor (12, S12, P12 or a time) or --query")}
			}
			q.Set("depth_before", strconv.Itoa(before))
			q.Set("depth_after", strconv.Itoa(after))
			q.Set("zone", a.zoneName(time.Now()))
			return a.with(c.Context(), func(peer *client.Client) error {
				if a.json {
					q.Set("format", "json")
					return a.relay(c.Context(), peer, "/api/timeline", q)
				}
				return a.text(c.Context(), peer, "/api/timeline", q)
			})
		},
	}
	f.flag(c, "query", "query", "words; the best hit is the anchor")
	f.flag(c, "project", "project", "one project, by name or key")
	f.flag(c, "host", "platformSource", "claude-code or codex")
	f.flag(c, "session", "session", "one session, by the host's id")
	c.Flags().IntVar(&before, "before", 10, "how many before the anchor")
	c.Flags().IntVar(&after, "after", 10, "how many after it")
	return c
}

// routeOf is where the thing of an id is read.
var routeOf = map[string]string{"observation": "/api/observation/", "summary": "/api/session/", "prompt": "/api/prompt/", "text": "/api/text/", "turn": "/api/turn/"}

func (a *app) newShow() *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show one thing: 12 (observation), S12 (summary), P12, T12, W12, or a host's session id",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if strings.TrimSpace(args[0]) == "" {
				return usageError{errors.New("give the id of what to show: 12, S12, P12, T12, W12, or a session's id")}
			}
			return a.with(c.Context(), func(peer *client.Client) error {
				route := "/api/session/" + url.PathEscape(args[0])
				if doc, ok := api.ParseRef(args[0]); ok {
					route = routeOf[string(doc.Kind)] + strconv.FormatInt(doc.ID, 10)
				}
				var row map[string]any
				if err := peer.Get(c.Context(), route, nil, &row); err != nil {
					return err
				}
				if a.json {
					return a.print(row)
				}
				a.showRow(row)
				return nil
			})
		},
	}
}
