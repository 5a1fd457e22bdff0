package worker

import (
	"cmem/ingest/filter"
	"cmem/ingest/identity"
	"cmem/replay"
)

// files opens transcripts by the rules that hold for hooks.
func (n *Node) files(key identity.Key) replay.Files {
	return replay.Files{
		Key: key, Redactor: n.redactor(), Filter: filter.New(n.cfg.Hook.Settings, n.dir), SkipTools: n.cfg.SkipTools != nil,
	}
}
