package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"cmem/cmd/internal/api"
	"cmem/cmd/internal/client"
	"cmem/cmd/internal/worker"
	"cmem/replay"
)

func (a *app) newReplay() *cobra.Command {
	var r api.ReplayRequest
	var transcripts []string
	c := &cobra.Command{
		Use: "replay --transcript FILE…", Short: "Bring in transcripts; what is known already is not taken twice",
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			asked := append(transcripts, args...)
			if slices.Contains(asked, "") {
				return usageError{errors.New("a path is empty: is a variable not set?")}
			}
			if len(asked) == 0 {
				return usageError{errors.New("give --transcript and at least one file or folder")}
			}
			if r.Observe != "none" && r.Observe != "missing" {
				return usageError{fmt.Errorf("--observe is none or missing, not %q", r.Observe)}
			}
			if err := knownHost(r.Host); err != nil {
				return err
			}
			var missing []error
			r.Paths, missing = transcriptPaths(asked)
			if len(r.Paths) == 0 {
				if len(missing) > 0 {
					return api.Errorf(api.NotFound, "%v", errors.Join(missing...))
				}
				return api.Errorf(api.NotFound, "no transcript (*.jsonl, *.jsonl.zst) in %s", strings.Join(asked, ", "))
			}
			for _, err := range missing {
				fmt.Fprintf(a.err, "cmem: %v\n", err)
			}
			err := a.with(c.Context(), func(peer *client.Client) error {
				bar := a.newBar()
				var out worker.ReplayResult
				err := peer.Run(c.Context(), "/api/replay", r, &out, bar.show)
				bar.end()
				if err != nil {
					return err
				}
				return a.showReplay(out)
			})
			if err == nil && len(missing) > 0 {
				err = api.Errorf(api.NotFound, "%d of the paths could not be read and were left out; the rest was brought in", len(missing))
			}
			return err
		},
	}
	f := c.Flags()
	f.StringArrayVar(&transcripts, "transcript", nil, "a transcript, or a folder of them; more may follow")
	f.StringVar(&r.Host, "host", "", "whose transcripts they are (default: the files tell)")
	f.BoolVar(&r.DryRun, "dry-run", false, "count what would be new and add nothing")
	f.BoolVar(&r.NewKey, "new-key", false, "go on where id.key was lost: what was taken in under the old one is taken in again")
	f.StringVar(&r.Observe, "observe", "none", "none, or missing: ask a model for what was not observed; rules always observe")
	return c
}

// transcriptPaths makes paths absolute, for a worker elsewhere, and looks into
// folders and all below them. What is not there, or cannot be looked into, stops
// nothing else and is named in missing.
func transcriptPaths(args []string) (out []string, missing []error) {
	for _, arg := range args {
		path, err := filepath.Abs(arg)
		if err != nil {
			missing = append(missing, err)
			continue
		}
		_ = filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				missing = append(missing, fmt.Errorf("there is no file or folder %s", p))
			case err != nil:
				missing = append(missing, err)
			case p == path && !d.IsDir() || transcriptName(p) && (d.Type().IsRegular() || d.Type()&fs.ModeSymlink != 0):
				out = append(out, p)
			}
			return nil
		})
	}
	return out, missing
}

func transcriptName(path string) bool {
	return strings.HasSuffix(strings.TrimSuffix(path, ".zst"), ".jsonl")
}

func (a *app) showReplay(r worker.ReplayResult) error {
	for _, n := range r.Notes {
		fmt.Fprintf(a.err, "cmem: %s\n", n)
	}
	if a.json {
		if err := a.print(r); err != nil {
			return err
		}
	} else {
		for _, f := range r.Files {
			a.showFile(f)
		}
		verb := "new"
		if r.DryRun {
			verb = "would be new"
		}
		t := r.Total
		a.say("%s, %s: %d %s, %d already held, %d skipped, %d copied, %d unreadable", counted(len(r.Files), "file"), counted(t.Values, "value"), t.New+t.Conflicts, verb, t.Held, t.Skipped, t.Copied, t.Unreadable)
		for _, rule := range slices.Sorted(maps.Keys(t.Rules)) {
			a.say("  skipped %d: %s", t.Rules[rule], rule)
		}
		if r.Facts != nil {
			a.say("%s, %s, %s of the agent", counted(r.Facts.Prompts, "prompt"), counted(r.Facts.ToolUses, "tool use"), counted(r.Facts.Texts, "text"))
		}
	}
	if n := r.Failed(); n > 0 {
		if n == 1 && len(r.Files) == 1 {
			return api.Errorf(api.NotFound, "%s", r.Files[0].Error)
		}
		return fmt.Errorf("%w: %d of %d files could not be read", errDiffers, n, len(r.Files))
	}
	return nil
}

func (a *app) showFile(f replay.FileResult) {
	a.say("%s: %d new, %d already held, %d skipped, %d copied, %d unreadable", f.File, f.New+f.Conflicts, f.Held, f.Skipped, f.Copied, f.Unreadable)
	for _, b := range f.Bad {
		a.say("  unreadable at byte %d (%d bytes): %s", b.Offset, b.Bytes, b.Reason)
	}
	for _, s := range f.Forked {
		a.say("  repeats session %s", s)
	}
	if f.Error != "" {
		a.say("  not read: %s", f.Error)
	}
}
