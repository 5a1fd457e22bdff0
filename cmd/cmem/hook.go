package main

import (
	"os"
	"time"

	"github.com/spf13/cobra"

	"cmem/ingest/hook"
)

// hookArgs finds `cmem hook …`, also behind --data, before cobra sees it: a hook
// never fails and never prints a usage, whatever its flags are.
func hookArgs(args []string) ([]string, bool) {
	var before []string
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == "hook":
			return append(before, args[i+1:]...), true
		case args[i] == "--data" && i+1 < len(args):
			before = append(before, args[i], args[i+1])
			i++
		case len(args[i]) > 7 && args[i][:7] == "--data=":
			before = append(before, args[i])
		default:
			return nil, false
		}
	}
	return nil, false
}

// runHook is cmem-hook in this program.
func runHook(args []string) int {
	outputsAnswer()
	self, _ := os.Executable() // "": then no worker is started
	dir, _ := os.Getwd()       // "": then the payload has to name its folder
	return hook.Run(hook.Config{
		Args: args, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Env: os.Environ(), Now: time.Now, Executable: self, Dir: dir,
	})
}

// newHook is there for the help; main handles it.
func newHook() *cobra.Command {
	return &cobra.Command{
		Use:                "hook HOST EVENT",
		Short:              "Hand one event over, as cmem-hook does (payload on standard input)",
		DisableFlagParsing: true,
		RunE:               func(_ *cobra.Command, args []string) error { runHook(args); return nil },
	}
}
