// Command cmem is the memory's worker and everything a person does with it.
//
// Every command is a client of one API: of the worker if one runs, else of a
// node opened in this process. Errors are one line on standard error; the exit
// code says what kind (exit.go). With --json a command answers in JSON.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	_ "time/tzdata" // zones on systems that have no database of them
)

func main() {
	if args, ok := hookArgs(os.Args[1:]); ok {
		os.Exit(runHook(args))
	}
	outputsAnswer()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := execute(ctx, os.Args[1:], stdio{os.Stdin, os.Stdout, os.Stderr}, os.Environ())
	stop()
	os.Exit(code)
}
