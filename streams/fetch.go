package streams

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	fetchCount = 1000
	fetchBytes = 8 << 20
	// smallRead is read with direct gets; above it a consumer is worth making.
	smallRead = 300
	// idle is how long a consumer may say nothing before it is taken to be stuck on
	// a message the server cannot read. Then direct gets find the next readable one.
	idle = 2 * time.Second
)

// stored is one message of the stream as it lies there.
type stored struct {
	sequence uint64
	header   nats.Header
	data     []byte
}

// errStuck: the consumer said no more although it ought to have.
var errStuck = errors.New("consumer gives no more messages")

// get asks for one message.
func (s *session) get(ctx context.Context, sequence uint64) (stored, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	request := fmt.Appendf(nil, `{"seq":%d}`, sequence)
	m, err := s.nc.RequestWithContext(ctx, "$JS.API.DIRECT.GET."+streamName, request)
	if err != nil {
		return stored{}, fmt.Errorf("get message %d: %w", sequence, err)
	}
	if status := first(m.Header, "Status"); status != "" {
		if status == "404" {
			return stored{}, fmt.Errorf("message %d: %w", sequence, ErrNotFound)
		}
		return stored{}, fmt.Errorf("get message %d: status %s %s", sequence, status, first(m.Header, "Description"))
	}
	return stored{sequence, m.Header, m.Data}, nil
}

// direct reads up to fetchCount messages from sequence from on, in one answer.
// None means that none from there on can be read at once: the next may be
// damaged. It never waits for a message that is not there.
func (s *session) direct(ctx context.Context, from uint64, count int) ([]stored, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	inbox := s.nc.NewInbox()
	sub, err := s.nc.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer sub.Unsubscribe()
	if err := sub.SetPendingLimits(-1, -1); err != nil {
		return nil, err
	}
	request, err := json.Marshal(map[string]any{"seq": from, "batch": min(count, fetchCount), "max_bytes": fetchBytes})
	if err != nil {
		return nil, err
	}
	if err := s.nc.PublishRequest("$JS.API.DIRECT.GET."+streamName, inbox, request); err != nil {
		return nil, err
	}
	var all []stored
	for {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return all, fmt.Errorf("read from %d: %w", from, err)
		}
		if first(m.Header, "Status") != "" {
			return all, nil
		}
		sequence, err := strconv.ParseUint(first(m.Header, "Nats-Sequence"), 10, 64)
		if err != nil {
			return all, fmt.Errorf("read from %d: answer without a sequence: %w", from, err)
		}
		all = append(all, stored{sequence, m.Header, m.Data})
	}
}

// consumer reads a long stretch: about three times as fast as direct. It asks
// again while half of what it asked for is still on its way, so that the server
// never waits for us.
type consumer struct {
	s    *session
	name string
	next string // subject of requests
	sub  *nats.Subscription
	last uint64 // where to end
	at   uint64 // newest sequence received
	due  uint64 // messages asked for and not received
}

// consume makes a consumer for from…last, which lives in memory and only as
// long as it is read.
func (s *session) consume(ctx context.Context, from, last uint64) (*consumer, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	made, err := s.js.CreateConsumer(ctx, streamName, jetstream.ConsumerConfig{
		AckPolicy:         jetstream.AckNonePolicy,
		DeliverPolicy:     jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:       from,
		MemoryStorage:     true,
		Replicas:          1,
		InactiveThreshold: time.Minute,
	})
	if err != nil {
		return nil, fmt.Errorf("read from %d: %w", from, err)
	}
	c := &consumer{s: s, name: made.CachedInfo().Name, last: last, at: from - 1}
	c.next = "$JS.API.CONSUMER.MSG.NEXT." + streamName + "." + c.name
	if c.sub, err = s.nc.SubscribeSync(s.nc.NewInbox()); err == nil {
		err = c.sub.SetPendingLimits(-1, -1)
	}
	if err != nil {
		c.close()
		return nil, fmt.Errorf("read from %d: %w", from, err)
	}
	return c, nil
}

// ask keeps at least half a request under way as long as there is that much left.
func (c *consumer) ask() error {
	left := c.last - c.at - min(c.due, c.last-c.at)
	if c.due > fetchCount/2 || left == 0 {
		return nil
	}
	n := min(fetchCount, left)
	c.due += n
	return c.s.nc.PublishRequest(c.next, c.sub.Subject, fmt.Appendf(nil, `{"batch":%d,"max_bytes":%d,"no_wait":true}`, n, fetchBytes))
}

// read gives the next message. After errStuck the consumer is of no more use.
func (c *consumer) read(ctx context.Context) (stored, error) {
	for {
		if err := c.ask(); err != nil {
			return stored{}, err
		}
		m, err := c.receive(ctx)
		if err != nil {
			return stored{}, err
		}
		if first(m.Header, "Status") != "" {
			if err := c.ended(m.Header); err != nil {
				return stored{}, err
			}
			continue
		}
		if c.at, err = ackSequence(m.Reply); err != nil {
			return stored{}, err
		}
		c.due -= min(c.due, 1)
		return stored{c.at, m.Header, m.Data}, nil
	}
}

// ended notes that a request ended before all it asked for came: it had too many
// bytes (409, with the number of messages left), or there are no more.
func (c *consumer) ended(h nats.Header) error {
	rest, err := strconv.ParseUint(first(h, "Nats-Pending-Messages"), 10, 64)
	if err != nil || first(h, "Status") != "409" {
		return errStuck
	}
	c.due -= min(c.due, rest)
	return nil
}

// receive waits at most idle.
func (c *consumer) receive(ctx context.Context) (*nats.Msg, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m, err := c.sub.NextMsg(idle)
	if errors.Is(err, nats.ErrTimeout) {
		return nil, errStuck
	}
	return m, err
}

// close ends the consumer; its memory is given back by the server at once, or
// after a minute if it could not be told.
func (c *consumer) close() {
	if c.sub != nil {
		_ = c.sub.Unsubscribe()
	}
	_ = c.s.nc.Publish("$JS.API.CONSUMER.DELETE."+streamName+"."+c.name, nil)
}

// ackSequence takes the stream's sequence from a consumer's reply subject:
// $JS.ACK.<stream>.<consumer>.<deliveries>.<sequence>.<consumer's>.<time>.<pending>,
// or with domain and account hash before the stream and a token at the end.
func ackSequence(reply string) (uint64, error) {
	field := 5
	if n := strings.Count(reply, ".") + 1; n > 9 {
		field = 7
	}
	rest := reply
	for range field {
		_, after, ok := strings.Cut(rest, ".")
		if !ok {
			return 0, fmt.Errorf("reply subject %q has no sequence", reply)
		}
		rest = after
	}
	digits, _, _ := strings.Cut(rest, ".")
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("reply subject %q has no sequence: %w", reply, err)
	}
	return n, nil
}
