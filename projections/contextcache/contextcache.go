// Package contextcache is the read model that the next session begins with: one
// rendered text per project and host, in a file that the hook prints without
// asking anybody.
//
// It promises that a text is a function of the records and the time zone alone
// (Render is pure; what day it is does not matter, so that a host's prompt cache
// keeps working); that it is never longer than its cap in bytes, never cut inside
// a character, and says what was left out; that nothing in it can end the tag
// around it or reach a terminal as a control byte; and that an observation is
// shown whatever its type and concepts.
//
// Its bytes: the texts, at the paths that Config.Path gives, each appearing whole;
// and one small file of its own,
//
//	{"format", "version", "checkpoint", "dirty": [project keys]}
//
// Apply marks projects and moves the checkpoint in one write of that file; Flush
// renders the marked ones, then takes the marks away. A crash between leaves the
// marks, and the same texts are written again. How fresh a text is is its file's
// time: see Flush.
package contextcache

import (
	"time"

	"cmem/projections/records"
)

// View is all that a context is made from: plain values, so that rendering is
// pure. Order and repetition in the lists do not matter.
type View struct {
	Project      records.Project   // whose context it is
	Related      []records.Project // others that are shown too: a worktree's repository
	Observations []records.Observation
	Summaries    []records.Summary
	// Decisions are observations of that type, older ones than Observations holds.
	Decisions []records.Observation
	// More is how many observations there are that the view does not hold.
	More int
}

// Options says how a context is rendered.
type Options struct {
	// Host is the adapter name of who reads it: rows that come from another host
	// say so. "" marks none.
	Host string
	Zone *time.Location // of days and times; nil is UTC
	// MaxBytes caps the text with all that is around it; 0 is
	// DefaultMaxBytes, < 0 no cap.
	MaxBytes int
	Full     int  // newest rows whose texts are shown; 0 is DefaultFull, < 0 none
	Person   bool // for a terminal: colours, no tag, and one line if there is nothing
}

// What zero options mean.
const (
	DefaultMaxBytes = 9990 // hosts cut at 10,000 characters and show a preview instead
	DefaultFull     = 5
)
