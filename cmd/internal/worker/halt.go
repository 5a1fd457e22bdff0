package worker

import (
	"errors"
	"io/fs"
	"os"

	"cmem/cmd/internal/api"
	"cmem/streams/durable"
)

// trouble leaves word for hooks why the log takes nothing in; nil: it does.
func (n *Node) trouble(why error) {
	err := os.Remove(n.dir.Trouble())
	if why != nil {
		err = durable.WriteFile(n.dir.Trouble(), []byte(reason(why)+"\n"), 0o600)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		n.log.Warn("hooks are not told", "err", err)
	}
}

// halt is why the log is halted, nil if it is not.
func (n *Node) halt() error {
	if h := n.stream.Halted(); h != nil {
		return h
	}
	return nil
}

// haltedError is told to whoever wants something taken in while the log is not
// what was seen of it. Reading goes on.
func (n *Node) haltedError() error {
	select {
	case <-n.opened:
	default:
		return nil
	}
	if halt := n.stream.Halted(); halt != nil {
		return api.Errorf(api.Halted, "%v; see cmem doctor", halt)
	}
	return nil
}

// halted says why the log takes nothing in, and what to do.
func (x *examination) halted() {
	halt := x.node.stream.Halted()
	if halt == nil {
		return
	}
	x.find("log."+string(halt.Kind), api.Broken,
		"put back the log that belongs here (log/ of a backup, or the folder that was moved); or take this one as it is: cmem repair --apply",
		"%v", halt).Evidence = x.node.beyond(halt)
}
