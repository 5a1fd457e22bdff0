// Command cmem-hook hands one event of a coding agent over to cmem: package
// ingest/hook is all of it. It is a program of its own because a host waits for
// it at every tool use, and a small one starts in a few milliseconds.
package main

import (
	"os"
	"time"

	"cmem/ingest/hook"
)

func main() {
	self, _ := os.Executable() // "": then no worker is started
	dir, _ := os.Getwd()       // "": then the payload has to name its folder
	os.Exit(hook.Run(hook.Config{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Env: os.Environ(), Now: time.Now, Executable: self, Dir: dir,
	}))
}
