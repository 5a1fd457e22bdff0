// Package rules makes memories of a turn without a model: free, offline, and
// the same for the same turn, so that they are never stored and get better with
// every rebuild.
//
// Turn is a pure function. It reads the evidence of one turn (what was asked,
// said, run, read and changed) and gives observations in a fixed order of rules:
//
//	decision   what the user stated should hold
//	fix        a check failed, something was changed, the same check passes
//	change     what was edited, per file or group of files, and how it was verified
//	install    packages added
//	commit     what was committed or pushed
//	failing    a check that still fails when the turn ends
//	checked    checks were run and nothing was changed
//	answer     something was looked up and explained
//
// and one summary. Files come from tool evidence only, never from what the agent
// said it did. Nothing here knows a host: package event has said it all alike.
package rules

import (
	"cmem/streams/event"
)

// Version is raised with every change of what Turn gives; read models built
// with another one are built again.
const Version = "1"

// Turn gives what the turn is worth remembering for.
func Turn(t event.Turn) event.Memory {
	e := gather(t)
	var out []event.Observation
	for _, rule := range []func(*evidence) []event.Observation{
		decisions, fixes, changes, installs, commits, failing, checked, answers,
	} {
		out = append(out, rule(e)...)
	}
	for i := range out {
		out[i].PromptNumber = t.PromptNumber
	}
	return event.Memory{Observations: out, Summary: summary(e, out)}
}
