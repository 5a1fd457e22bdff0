// Package filter decides what is not kept.
package filter

import (
	"time"

	"cmem/ingest/home"
)

// Event is what a filter may look at.
type Event struct {
	Host, Event, Session string
	Tool, ToolID         string
	Command              string // a shell tool's command line, "" unknown
	Cwd, GitRoot         string
	ProjectName          string
	Paths                []string // files named by the tool's input
	Prompt               string
	IsPrompt             bool
	Agent                string // sub-agent, "" the main one
	Time                 time.Time
	Bytes                int64
}

// Rule names why an event is not kept.
type Rule string

// Filter is safe for concurrent use.
type Filter struct{}

// New builds a filter.
func New(s home.Settings, d home.Dir) *Filter { return &Filter{} }

// Decide says whether an event is left out, and by which rule.
func (f *Filter) Decide(e Event) (rule Rule, skip bool) { return "", false }
