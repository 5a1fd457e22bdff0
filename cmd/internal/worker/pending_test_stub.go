package worker

import (
	"context"

	"cmem/cmd/internal/api"
	"cmem/replay"
	"cmem/streams"
)

type noContexts struct{}

func (noContexts) load() error                   { return nil }
func (noContexts) catchUp(context.Context) error { return nil }
func (noContexts) rebuildAlone(context.Context, bool, func(streams.Position)) (replay.Build, error) {
	return replay.Build{Name: "context", Equal: true}, nil
}
func (noContexts) status() api.Model                                              { return api.Model{Name: "context", State: stateReady} }
func (noContexts) close() error                                                   { return nil }
func (n *Node) contextTrack(path, log string) follower                            { return noContexts{} }
func (n *Node) followContexts(ctx context.Context)                                { <-ctx.Done() }
func (n *Node) Context(ctx context.Context, r api.ContextRequest) (string, error) { return "", nil }
func (n *Node) openTranscript(path, host string) (replay.File, error) {
	return nil, replay.ErrUnknownHost
}
