// Package contextcache is the read model that the next session begins with: one
// rendered text per project and host, in a file that the hook prints without
// asking anybody.
package contextcache

import (
	"time"

	"cmem/projections/records"
)

// View is all that a context is made from: plain values, so that rendering is
// pure. Lists are newest first.
type View struct {
	Project      records.Project
	Parent       *records.Project // the repository of a worktree
	Observations []records.Observation
	Summaries    []records.Summary
	// More are observations of the project that the view does not hold.
	More int
}

// Options says how a context is rendered.
type Options struct {
	Host     string         // adapter name
	Zone     *time.Location // of days and times; nil is UTC
	MaxBytes int            // 0 is DefaultMaxBytes
	Full     int            // newest rows shown in full; 0 is DefaultFull, < 0 none
	Colour   bool           // for a person at a terminal
}

// What zero options mean.
const (
	DefaultMaxBytes = 9990
	DefaultFull     = 5
)

// Render returns the context for View; "" if there is nothing to tell.
func Render(v View, o Options) string { return "" }
