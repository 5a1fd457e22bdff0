package streams

import (
	"context"
	"errors"
	"fmt"

	"cmem/streams/durable"
	"cmem/streams/envelope"
)

// Append saves envelopes in their order and gives their positions. When it
// returns without an error, all are on the disk. On an error the positions are
// those of the first ones, which are saved; of the others none is, except that
// with ErrUnknown some may be: they are not saved twice if the same envelopes
// are appended again. Appends of others may come to lie between one's own.
//
// A canceled ctx keeps what is waiting from being sent; what is being sent is
// waited for.
func (l *Log) Append(ctx context.Context, envs ...envelope.Envelope) ([]Position, error) {
	if len(envs) == 0 {
		return nil, nil
	}
	if halt := l.Halted(); halt != nil {
		return nil, fmt.Errorf("append: %w", halt)
	}
	r := &request{values: make([]value, len(envs)), done: make(chan struct{})}
	if err := l.codec.prepareAll(r.values, envs); err != nil {
		return nil, fmt.Errorf("append: %w", err)
	}
	return l.committer.handle(ctx, r)
}

// request is one Append on its way. Who commits it owns it until done is closed.
type request struct {
	values    []value
	positions []Position // of the saved values, which are the first ones
	err       error
	done      chan struct{}
}

// answer tells the caller what became of the values.
func (r *request) answer(err error) {
	r.positions = make([]Position, 0, len(r.values))
	for i := range r.values {
		if r.values[i].position == 0 {
			r.err = fmt.Errorf("append: %w", err)
			break
		}
		r.positions = append(r.positions, r.values[i].position)
	}
	close(r.done)
}

// committer is the one writer. It has no goroutine of its own, which would cost
// each append two changes of thread: whoever gets the turn commits, for itself
// and for all who wait. Only the holder of the turn touches the other fields.
type committer struct {
	log      *Log
	turn     chan struct{} // holds one token while somebody commits
	requests chan *request // unbuffered: to the holder of the turn

	last  uint64 // sequence of the stream's last message
	chain Digest // after the last value

	doubt   []*value            // sent, and not known whether saved; oldest first
	claimed map[string]Position // values of doubt that turned out saved, by id
}

// most is how much is sent as one group.
const (
	mostMessages = 1000
	mostBytes    = 16 << 20
)

// handle commits r, by itself or through the holder of the turn. Who has not got
// either can still go away.
func (c *committer) handle(ctx context.Context, r *request) ([]Position, error) {
	select {
	case <-c.log.closing:
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	default:
	}
	select {
	case <-c.log.closing:
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	case c.requests <- r:
		<-r.done
	case c.turn <- struct{}{}:
		c.commit(c.gather(r))
		<-c.turn
	}
	return r.positions, r.err
}

// stop takes the turn for good: when it returns nothing is being committed, and
// nothing will be.
func (c *committer) stop() { c.turn <- struct{}{} }

// gather takes with r what waits already, so that many callers share the syncs
// of one batch.
func (c *committer) gather(r *request) []*request {
	group := []*request{r}
	messages := count(r)
	for messages < mostMessages {
		select {
		case r := <-c.requests:
			group = append(group, r)
			messages += count(r)
		default:
			return group
		}
	}
	return group
}

func count(r *request) (n int) {
	for i := range r.values {
		n += len(r.values[i].messages)
	}
	return n
}

// commit saves the values of a group in order. The first failure is that of all
// whose values are not saved by then.
func (c *committer) commit(group []*request) {
	var values []*value
	for _, r := range group {
		for i := range r.values {
			values = append(values, &r.values[i])
		}
	}
	err := c.save(values)
	c.log.pause.note(err, c.log)
	for _, r := range group {
		r.answer(err)
	}
}

func (c *committer) save(values []*value) error {
	if err := c.clearDoubt(); err != nil {
		return err
	}
	for _, chunk := range chunks(c.unclaimed(values)) {
		if err := c.room(sizeOf(chunk)); err != nil {
			return err
		}
		if err := c.send(chunk); err != nil {
			return err
		}
	}
	return nil
}

// unclaimed leaves out what an earlier append of unknown end did save.
func (c *committer) unclaimed(values []*value) []*value {
	if len(c.claimed) == 0 {
		return values
	}
	var rest []*value
	for _, v := range values {
		if at, ok := c.claimed[v.id]; ok {
			durable.Reached("log.claimed")
			v.position = at
			delete(c.claimed, v.id)
			continue
		}
		rest = append(rest, v)
	}
	return rest
}

// chunks cuts a group into what one batch takes. A value of more parts than that
// goes on in the next batch; nothing relies on where batches end.
func chunks(values []*value) (all [][]*value) {
	var chunk []*value
	messages, bytes := 0, 0
	for _, v := range values {
		n, size := len(v.messages), sizeOf([]*value{v})
		if len(chunk) > 0 && (messages+n > mostMessages || bytes+size > mostBytes) {
			all, chunk, messages, bytes = append(all, chunk), nil, 0, 0
		}
		chunk, messages, bytes = append(chunk, v), messages+n, bytes+size
	}
	if len(chunk) > 0 {
		all = append(all, chunk)
	}
	return all
}

// sizeOf is how many bytes of bodies the values have.
func sizeOf(values []*value) (size int) {
	for _, v := range values {
		for i := range v.messages {
			size += len(v.messages[i].data)
		}
	}
	return size
}

// leastReserve is kept free whatever the settings say: a block, a batch and what
// the server writes beside them.
const leastReserve = 24 << 20

// Reserve is how many bytes of disk stay free: with less the log takes nothing in.
func (l *Log) Reserve() int64 { return max(l.config.Reserve, leastReserve) }

// room checks that the folder is still there, may be written to and has the
// reserve, for an append of size bytes: a server that runs out of disk in the
// middle of one stays stuck, so it is never let come to that. It writes a batch
// twice, staged and then for good.
func (c *committer) room(size int) error {
	if err := c.log.lock.Check(); errors.Is(err, ErrExchanged) {
		return err
	} else if err != nil {
		return fmt.Errorf("%w: %w", ErrStorage, err)
	}
	if err := c.log.layout.mayWrite(); err != nil {
		return fmt.Errorf("%w: %w", ErrStorage, err)
	}
	reserve := max(c.log.Reserve(), 2*int64(size)+leastReserve/3)
	free, err := durable.Free(c.log.config.Dir)
	if err != nil {
		return fmt.Errorf("%w: free disk: %w", ErrStorage, err)
	}
	if free < reserve {
		return fmt.Errorf("%d MB are free at %s, %d MB are kept free: %w", free>>20, c.log.config.Dir, reserve>>20, ErrDiskFull)
	}
	return nil
}

// send publishes one chunk and deals with every way that can end. Whatever it
// returns, c.last and c.chain are what the stream holds, or doubt is not empty.
func (c *committer) send(chunk []*value) error {
	c.seal(chunk)
	var again error
	for attempt := range 2 {
		err := c.publish(messagesOf(chunk))
		if err == nil {
			c.saved(chunk)
			return nil
		}
		c.log.log.Warn("append was not acknowledged", "error", err)
		refused := errors.Is(err, errRefused)
		if !refused {
			err = c.log.explain(err)
		}
		c.doubt = chunk
		n, found := c.settle(!refused)
		if found != nil {
			return errors.Join(fmt.Errorf("%w: %w", ErrUnknown, err), found)
		}
		if chunk = chunk[n:]; len(chunk) == 0 {
			return nil
		}
		again = fmt.Errorf("%w: %w", ErrNotSaved, err)
		if !refused {
			again = fmt.Errorf("%w: %w", ErrStorage, again)
		}
		if refused && attempt == 0 && !errors.Is(err, errSequence) {
			return again // the server said no; asking twice changes nothing
		}
		c.seal(chunk)
	}
	return again
}

// seal gives each value its link.
func (c *committer) seal(chunk []*value) {
	chain := c.chain
	for _, v := range chunk {
		m := &v.messages[len(v.messages)-1]
		chain = link(chain, m.inner)
		m.chain = chain
		m.header[headerChain] = []string{chain.String()}
	}
}

// saved moves the log's end over values whose messages lie there, and tells
// those who wait.
func (c *committer) saved(chunk []*value) {
	for _, v := range chunk {
		c.last += uint64(len(v.messages))
		c.chain = v.messages[len(v.messages)-1].chain
		v.position = Position(c.last)
	}
	if err := c.log.headFile.set(c.log.identity.Log, c.last); err != nil {
		c.log.log.Warn("the head file was not written", "error", err)
	}
	c.log.head.set(Checkpoint{Log: c.log.identity.Log, Position: Position(c.last), Chain: c.chain})
}

func messagesOf(chunk []*value) []*message {
	all := make([]*message, 0, len(chunk))
	for _, v := range chunk {
		for i := range v.messages {
			all = append(all, &v.messages[i])
		}
	}
	return all
}
