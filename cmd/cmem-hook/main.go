// Command cmem-hook hands one event of a coding agent over to cmem: package
// ingest/hook is all of it. It is a program of its own because a host waits for
// it at every tool use, and a small one starts in a few milliseconds.
package main

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"cmem/ingest/hook"
)

func main() {
	// A reader that went away is no reason to end before the event is kept.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	self, _ := os.Executable() // "": then no worker is started
	dir, _ := os.Getwd()       // "": then the payload has to name its folder
	os.Exit(hook.Run(hook.Config{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Env: os.Environ(), Now: time.Now, Executable: self, Dir: dir,
	}))
}
