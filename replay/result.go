package replay

import (
	"maps"
	"slices"

	"cmem/projections/records"
)

// Counts say what became of the values of a transcript. Every value is in
// exactly one of New, Held, Conflicts, Skipped, Copied and Unreadable.
type Counts struct {
	Values     int            `json:"values"`
	New        int            `json:"new"`             // in the log now, and not before
	Held       int            `json:"held"`            // the log had them already
	Conflicts  int            `json:"conflicts"`       // other words under a known id: kept under an id of their own
	Copied     int            `json:"copied"`          // of the parent's history, which belongs to the parent
	Skipped    int            `json:"skipped"`         // kept out by a rule
	Rules      map[string]int `json:"rules,omitempty"` // of Skipped, by rule
	Unreadable int            `json:"unreadable"`      // see Bad
	Bad        []Bad          `json:"bad,omitempty"`   // where each of them is
	Bytes      int64          `json:"bytes"`           // read
	Redacted   int            `json:"redacted"`        // values from which something private was taken out
}

// Bad is a piece of a file that is no value.
type Bad struct {
	File   string `json:"file"`
	Offset int64  `json:"offset"` // of its first byte
	Bytes  int64  `json:"bytes"`
	Reason string `json:"reason"`
	// Kept: its bytes are in the log, redacted. What is only cut off at the end
	// of the file is not: a later replay reads it whole.
	Kept bool `json:"kept"`
}

// FileResult is what came of one file.
type FileResult struct {
	File     string   `json:"file"`
	Host     string   `json:"host"`
	Sessions []string `json:"sessions"`
	Forked   []string `json:"forked_from,omitempty"` // sessions whose records it repeats
	Counts
	Error string `json:"error,omitempty"` // why the file was not read to its end
	Facts *Facts `json:"facts,omitempty"` // of its sessions, see Result.Count
}

// Result is what came of a replay.
type Result struct {
	Files  []FileResult `json:"files"`
	Total  Counts       `json:"total"`
	Facts  *Facts       `json:"facts,omitempty"`
	DryRun bool         `json:"dry_run,omitempty"`
}

// Failed counts the files that could not be read.
func (r *Result) Failed() (n int) {
	for _, f := range r.Files {
		if f.Error != "" {
			n++
		}
	}
	return n
}

func (c *Counts) add(o Counts) {
	c.Values += o.Values
	c.New += o.New
	c.Held += o.Held
	c.Conflicts += o.Conflicts
	c.Copied += o.Copied
	c.Skipped += o.Skipped
	c.Unreadable += o.Unreadable
	c.Bad = append(c.Bad, o.Bad...)
	c.Bytes += o.Bytes
	c.Redacted += o.Redacted
	for rule, n := range o.Rules {
		c.rule(rule, n)
	}
}

func (c *Counts) rule(rule string, n int) {
	if c.Rules == nil {
		c.Rules = map[string]int{}
	}
	c.Rules[rule] += n
}

// Facts are what records make of sessions, counted by the rules of
// testdata/transcripts.
type Facts struct {
	Prompts           int `json:"user_prompts"`
	Commands          int `json:"slash_commands"`
	QueuedOnly        int `json:"queued_only"`
	Interrupts        int `json:"interrupts"`
	Compactions       int `json:"compactions"`
	ToolUses          int `json:"tool_uses"`
	Paired            int `json:"tool_paired"`
	Unpaired          int `json:"tool_unpaired"`
	Orphans           int `json:"orphan_results"`
	ToolErrors        int `json:"tool_errors"`
	NestedUses        int `json:"nested_tool_uses"`
	SidechainMessages int `json:"sidechain_messages"`
	Texts             int `json:"assistant_texts"`
}

// sessions gives what records hold of a session.
type sessions interface {
	SessionView(session string) (records.SessionView, bool, error)
}

// Count fills in the facts of every file's sessions and of all of them, each
// session once.
func (r *Result) Count(s sessions) error {
	all := map[string]records.Counts{}
	for i := range r.Files {
		f := &r.Files[i]
		f.Facts = &Facts{}
		for _, id := range f.Sessions {
			view, ok, err := s.SessionView(id)
			if err != nil {
				return err
			}
			if ok {
				all[id] = view.Session.Counts
				f.Facts.add(view.Session.Counts)
			}
		}
	}
	r.Facts = &Facts{}
	for _, id := range slices.Sorted(maps.Keys(all)) {
		r.Facts.add(all[id])
	}
	return nil
}

func (f *Facts) add(c records.Counts) {
	f.Prompts += c.Prompts
	f.Commands += c.Commands
	f.QueuedOnly += c.QueuedOnly
	f.Interrupts += c.Interrupts
	f.Compactions += c.Compactions
	f.ToolUses += c.ToolUses
	f.Paired += c.Paired
	f.Unpaired += c.Unpaired
	f.Orphans += c.Orphans
	f.ToolErrors += c.ToolErrors
	f.NestedUses += c.NestedUses
	f.SidechainMessages += c.SidechainMessages
	f.Texts += c.Texts
}
