package worker

import (
	"cmem/ingest/filter"
	"cmem/replay"
)

// files opens transcripts by the rules that hold for hooks.
func (n *Node) files() replay.Files {
	return replay.Files{
		Key: n.key, Redactor: n.redactor(), Filter: filter.New(n.cfg.Hook.Settings, n.dir), SkipTools: n.cfg.SkipTools != nil,
	}
}
