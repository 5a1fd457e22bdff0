package worker

import (
	"context"
	"errors"
)

// mends is how often something is tried again because a read model that it needs
// was found damaged: each model once, and once more for what follows records.
const mends = 4

// catchUp brings all read models to the head. Where one meets damage in another,
// that one is built again first.
func (n *Node) catchUp(ctx context.Context) error {
	return mending(n.anyDue, func() error {
		return errors.Join(n.records.catchUp(ctx), n.search.catchUp(ctx), n.contexts.catchUp(ctx))
	})
}

func (n *Node) catchUpRecords(ctx context.Context) error {
	return mending(n.records.due, func() error { return n.records.catchUp(ctx) })
}

// mending does what builds again what is due, until nothing is.
func mending(due func() bool, do func() error) (err error) {
	for range mends {
		if err = do(); err == nil && !due() || err != nil && !isRebuilding(err) {
			return err
		}
	}
	return err
}

// mended reads. In process nobody else builds again what is found damaged, so it
// is done at once and read is asked a second time; a worker tells its readers how
// far its loops are.
func (n *Node) mended(read func() error) error {
	err := read()
	if n.stop != nil || !isRebuilding(err) || n.isPrepared() != nil || !n.anyDue() {
		return err
	}
	if err := n.catchUp(context.Background()); err != nil {
		return err
	}
	return read()
}

func (n *Node) anyDue() bool { return n.records.due() || n.search.due() || n.contexts.due() }

// inspect looks for damage that nobody has met yet. What is found is built again
// by the loops.
func (n *Node) inspect(ctx context.Context) {
	n.records.inspect(ctx)
}
