package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"cmem/cmd/internal/api"
	"cmem/cmd/internal/client"
	"cmem/cmd/internal/config"
	"cmem/ingest/home"
	"cmem/projections/records"
	"cmem/projections/search"
	"cmem/replay"
	"cmem/streams"
	"cmem/streams/durable"
)

// The exit codes. They are part of the command line's contract; see newExitCodes.
const (
	exitOK        = 0
	exitFailed    = 1  // anything not below
	exitUsage     = 2  // a flag or an argument is wrong
	exitNotFound  = 3  // no such thing, file or project
	exitLocked    = 4  // another process holds the data folder
	exitForeign   = 5  // the folder is not cmem's
	exitNewer     = 6  // the folder was written by a newer version
	exitConfig    = 7  // config.json or the environment
	exitNoWorker  = 8  // no worker runs, or it does not answer
	exitDiffers   = 9  // a verification failed, or values could not be read
	exitAmbiguous = 10 // a project's name has several meanings
	exitNoSpace   = 11 // the disk is full
	exitRefused   = 12 // the worker did not let us in
	exitBusy      = 13 // starting, or being rebuilt: try again
	exitDamaged   = 14 // the log cannot be opened: its files are gone or damaged
	exitFindings  = 15 // the doctor found something to do
	exitNetwork   = 16 // the data folder is on a network file system
	exitStorage   = 17 // the disk, or the rights to it, refuse
	exitInterrupt = 130
	exitReader    = 141 // what shells say of a program that a broken pipe ended
)

// newExitCodes is the help topic that documents them.
func newExitCodes() *cobra.Command {
	return &cobra.Command{
		Use: "exit-codes", Short: "What the exit codes mean",
		Long: `  0  done
  1  it failed, and no other code says how
  2  a flag or an argument is wrong
  3  there is no such thing, file or project
  4  another process holds the data folder
  5  the folder is not cmem's; nothing in it was touched
  6  a newer version of cmem wrote the folder; nothing in it was touched
  7  config.json or a CMEM_ variable is wrong
  8  no worker runs where one is needed, or it does not answer
  9  a verification failed, or files could not be read
 10  a project's name has several meanings
 11  the disk has too little space
 12  the worker did not let us in
 13  the worker is starting or rebuilding: try again
 14  the log's files are gone, cannot be mended, or are not those that were seen
     before; nothing was touched
 15  cmem doctor found something to do
 16  the data folder is on a network file system; nothing was opened
 17  the disk, or the rights to it, did not let cmem read or write
130  interrupted
141  whoever read the output went away; nothing else is wrong

With --json, a command that fails before it has answered writes one object to
standard output: error (the sentence, which is also on standard error), code,
and exit_code.

cmem hook always ends with 0: hosts take anything else for an order.`,
	}
}

// usageError is a mistake on the command line.
type usageError struct{ error }

func (u usageError) Unwrap() error { return u.error }

// sentinels in order: the first in err's chain decides.
var sentinels = []struct {
	err  error
	code int
}{
	{home.ErrForeign, exitForeign}, {streams.ErrForeign, exitForeign}, {records.ErrForeign, exitForeign}, {search.ErrForeign, exitForeign},
	{streams.ErrNewer, exitNewer},
	{streams.ErrMissing, exitDamaged}, {streams.ErrHalted, exitDamaged}, {streams.ErrDamaged, exitDamaged},
	{errFindings, exitFindings},
	{durable.ErrLocked, exitLocked}, {records.ErrLocked, exitLocked}, {search.ErrLocked, exitLocked},
	{client.ErrNoWorker, exitNoWorker}, {client.ErrMute, exitNoWorker}, {client.ErrCut, exitNoWorker},
	{errDiffers, exitDiffers}, {replay.ErrDiffers, exitDiffers},
	{streams.ErrDiskFull, exitNoSpace},
	{durable.ErrNetwork, exitNetwork},
	{context.Canceled, exitInterrupt},
}

var codes = map[api.Code]int{
	api.Invalid: exitUsage, api.NotFound: exitNotFound, api.Ambiguous: exitAmbiguous, api.Locked: exitLocked,
	api.NoSpace: exitNoSpace, api.Unauthorized: exitRefused, api.Forbidden: exitRefused,
	api.Foreign: exitForeign, api.Newer: exitNewer,
	api.Halted: exitDamaged, api.LogDamaged: exitDamaged,
	api.Network: exitNetwork, api.Storage: exitStorage,
	api.Starting: exitBusy, api.Rebuilding: exitBusy,
}

// exitCode says what kind of failure err is.
func exitCode(err error) int {
	if err == nil {
		return exitOK
	}
	var usage usageError
	if errors.As(err, &usage) {
		return exitUsage
	}
	var unwritten outputError
	if errors.As(err, &unwritten) && readerGone(unwritten.error) {
		return exitReader
	}
	var child childError
	if errors.As(err, &child) && child.code > 0 {
		return child.code
	}
	var conf *config.Error
	if errors.As(err, &conf) {
		return exitConfig
	}
	for _, s := range sentinels {
		if errors.Is(err, s.err) {
			return s.code
		}
	}
	if durable.IsFull(err) {
		return exitNoSpace
	}
	var e *api.Error
	if errors.As(err, &e) {
		if code, ok := codes[e.Code]; ok {
			return code
		}
	}
	if errors.Is(err, streams.ErrStorage) || durable.TroubleOf(err) != durable.NoTrouble {
		return exitStorage
	}
	return exitFailed
}
