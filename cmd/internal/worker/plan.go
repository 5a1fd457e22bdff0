package worker

import (
	"strings"

	"cmem/cmd/internal/api"
	"cmem/streams"
)

// The actions of a repair, in the order in which they are done.
const (
	actRestore  = "restore"  // the stream's folder from a net
	actBegin    = "begin"    // a new log beside what is left of the old one
	actExchange = "exchange" // the log that was seen for this one, and read models with it
	actAccept   = "accept"   // the log as it is
	actScan     = "scan"     // all blocks, and mend them
	actRebuild  = "rebuild"  // read models, named behind a colon
	actSeen     = "seen"     // damage that was told
	actRetry    = "retry"    // what is held in the spool
	actClose    = "close"    // the folder to others
)

// Plan says what a repair does about each finding. What is not in it is left to a
// person, with the finding's own next step. net is the newest of the log's nets,
// nil if there is none; begin allows a log that is gone to be begun anew.
func Plan(findings []api.Finding, net *streams.Net, begin bool) (steps []api.Step) {
	for _, f := range findings {
		if f.Severity < api.Warning {
			continue
		}
		s := api.Step{Code: f.Code, What: f.What}
		if s.Action, s.Says = action(f, net, begin); s.Action == "" {
			s.Says = f.Next
		}
		steps = append(steps, s)
	}
	return steps
}

func action(f api.Finding, net *streams.Net, begin bool) (act, says string) {
	switch f.Code {
	case "log.missing":
		switch {
		case net != nil:
			return actRestore, "put the log's files back from " + net.Dir + ", and tell what is missing since " + net.Made.Format("2006-01-02 15:04:05")
		case begin:
			return actBegin, "put what is left of the log aside and begin a new one"
		}
	case "log.shorter":
		return actAccept, "take the log as it is: what is missing at its end is told as lost, and its positions are not given again"
	case "log.other", "log.differs":
		return actExchange, "take this log for the right one, and build the read models from it"
	case "log.gap":
		return actScan, "look at all blocks, keep copies of the damaged ones, and write them anew with all that is whole"
	case "log.damaged":
		return actSeen, "note that this was read; it stays in cmem log damage, and what transcripts still have comes in again with cmem replay"
	case "records.ids":
		return actRebuild + ":records", "build the records again from the log"
	case "search.documents":
		return actRebuild + ":search", "build the index again from the records"
	case "model.records", "model.search", "model.context":
		name := strings.TrimPrefix(f.Code, "model.")
		return actRebuild + ":" + name, "build " + name + " again"
	case "spool.held":
		return actRetry, "bring the held events back into the spool"
	case "folder.open":
		return actClose, "take the rights of others away"
	}
	return "", ""
}
