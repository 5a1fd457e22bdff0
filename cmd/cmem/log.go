package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"cmem/cmd/internal/api"
	"cmem/cmd/internal/client"
	"cmem/streams"
)

func (a *app) newLog() *cobra.Command {
	c := &cobra.Command{Use: "log", Short: "Read the log itself"}
	c.AddCommand(a.newLogTail(), a.newLogExport(), a.newLogVerify(), a.newLogDamage())
	return c
}

func (a *app) newLogTail() *cobra.Command {
	var n int
	var follow bool
	c := &cobra.Command{
		Use: "tail", Short: "Show the newest events",
		RunE: func(c *cobra.Command, _ []string) error {
			q := url.Values{"limit": {strconv.Itoa(n)}, "follow": {strconv.FormatBool(follow)}}
			return a.with(c.Context(), func(peer *client.Client) error {
				stream, err := peer.Stream(c.Context(), http.MethodGet, "/api/log/tail", q, nil)
				if err != nil {
					return err
				}
				defer stream.Close()
				return a.eachLine(stream, func(raw []byte) error {
					if a.json {
						_, err := a.out.Write(append(raw, '\n'))
						return err
					}
					var r api.LogRecord
					if err := json.Unmarshal(raw, &r); err != nil {
						return err
					}
					a.say("%8d  %-24s  %-16s %-12s %-20s %6d bytes  %s%s", r.Position, r.Time, r.Type, r.Source, r.Event, r.Bytes, r.ID, keptOut(r))
					return a.unwritten()
				})
			})
		},
	}
	c.Flags().IntVarP(&n, "lines", "n", 20, "how many")
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on as events come")
	return c
}

// keptOut names the rule that left an event out.
func keptOut(r api.LogRecord) string {
	switch {
	case r.Rule == "":
		return ""
	case r.Tool == "":
		return fmt.Sprintf("  (kept out by the rule %s)", r.Rule)
	}
	return fmt.Sprintf("  (%s kept out by the rule %s)", r.Tool, r.Rule)
}

// eachLine reads a stream of lines; a line that is an error ends it.
func (a *app) eachLine(r io.Reader, f func([]byte) error) error {
	in := bufio.NewReaderSize(r, 1<<16)
	for {
		raw, err := in.ReadBytes('\n')
		if n := len(raw); n > 0 && raw[n-1] == '\n' {
			raw = raw[:n-1]
		}
		if len(raw) > 0 {
			if e := lineError(raw); e != nil {
				return e
			}
			if err := f(raw); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// lineError: events have an id, the line that ends a failed stream has none.
func lineError(raw []byte) error {
	var l struct {
		ID    string     `json:"id"`
		Error *api.Error `json:"error"`
	}
	if json.Unmarshal(raw, &l) == nil && l.ID == "" && l.Error != nil {
		return l.Error
	}
	return nil
}

func (a *app) newLogExport() *cobra.Command {
	var after uint64
	c := &cobra.Command{
		Use: "export", Short: "Write the log as CloudEvents, one JSON object a line",
		RunE: func(c *cobra.Command, _ []string) error {
			q := url.Values{"after": {strconv.FormatUint(after, 10)}}
			return a.with(c.Context(), func(peer *client.Client) error {
				stream, err := peer.Stream(c.Context(), http.MethodGet, "/api/log/export", q, nil)
				if err != nil {
					return err
				}
				defer stream.Close()
				out := bufio.NewWriterSize(a.out, 1<<16)
				err = a.eachLine(stream, func(raw []byte) error {
					_, err := out.Write(append(raw, '\n'))
					return err
				})
				return errors.Join(err, out.Flush())
			})
		},
	}
	c.Flags().Uint64Var(&after, "after", 0, "only what comes after this position")
	return c
}

func (a *app) newLogVerify() *cobra.Command {
	return &cobra.Command{
		Use: "verify [EXPORT]", Short: "Follow the chain through the log, or through an exported file",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				return a.verifyExport(args[0])
			}
			return a.with(c.Context(), func(peer *client.Client) error {
				var r api.LogReport
				if err := peer.Run(c.Context(), "/api/log/verify", nil, &r, func(api.Line) {}); err != nil {
					return err
				}
				return a.showReport(r)
			})
		},
	}
}

func (a *app) showReport(r api.LogReport) error {
	if a.json {
		if err := a.print(r); err != nil {
			return err
		}
	} else {
		a.say("%s, %s of what was said, as stored: %s, %s", counted(int(r.Values), "event"), size(r.Bytes), counted(len(r.Gaps), "gap"), counted(len(r.Broken), "broken link"))
		for _, g := range r.Told {
			a.say("told   %d to %d: %s; see cmem log damage", g.First, g.Last, g.Reason)
		}
		for _, g := range r.Gaps {
			a.say("gap    %d to %d: %s", g.First, g.Last, g.Reason)
		}
		for _, p := range r.Broken {
			a.say("broken %d", p)
		}
	}
	if !r.OK {
		return fmt.Errorf("%w: the log is not whole", errDiffers)
	}
	return nil
}

func (a *app) verifyExport(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return api.Errorf(api.NotFound, "%v", err)
	}
	defer f.Close()
	n, err := streams.VerifyExport(bufio.NewReaderSize(f, 1<<20))
	if err != nil {
		return fmt.Errorf("%w: %s: %w", errDiffers, path, err)
	}
	if n == 0 {
		return fmt.Errorf("%w: %s has no line: nothing says that it is an export", errDiffers, path)
	}
	if a.json {
		return a.print(map[string]any{"lines": n, "ok": true})
	}
	a.say("%d lines, the chain holds", n)
	return nil
}

func (a *app) newLogDamage() *cobra.Command {
	return &cobra.Command{
		Use: "damage", Short: "List what was ever found damaged in the log's files, and what was lost by it",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.with(c.Context(), func(peer *client.Client) error {
				if a.json {
					return a.relay(c.Context(), peer, "/api/log/damage", nil)
				}
				var r struct{ Findings []api.LogDamage }
				if err := peer.Get(c.Context(), "/api/log/damage", nil, &r); err != nil {
					return err
				}
				a.showDamage(r.Findings)
				return nil
			})
		},
	}
}

func (a *app) showDamage(all []api.LogDamage) {
	if len(all) == 0 {
		a.say("nothing was ever found damaged in the log's files")
	}
	for _, d := range all {
		a.say("%s, %s: %s", a.local(d.Found), d.Reason, strings.Join(d.Files, ", "))
		if d.Unfinished > 0 {
			a.say("  %d bytes of an append that was never acknowledged were cut off; nothing is lost by that", d.Unfinished)
		}
		a.showLost("lost", d.Lost)
		a.showLost("incomplete", d.Incomplete)
		a.say("  copies of the files as they were: %s", d.Evidence)
	}
}

func (a *app) showLost(what string, all []api.LogLost) {
	for _, l := range all {
		a.say("  %s: positions %d to %d", what, l.First, l.Last)
		for _, n := range l.Names {
			a.say("    %s", strings.Join(nonEmpty(position(n.Position), n.ID, n.Type, n.Source, n.Session, a.local(n.Time)), "  "))
		}
	}
}

func position(at uint64) string {
	if at == 0 {
		return ""
	}
	return strconv.FormatUint(at, 10)
}

func nonEmpty(all ...string) []string {
	return slices.DeleteFunc(all, func(s string) bool { return s == "" })
}
