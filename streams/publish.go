package streams

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	headerExpected      = "Nats-Expected-Last-Sequence"
	headerBatch         = "Nats-Batch-Id"
	headerBatchSequence = "Nats-Batch-Sequence"
	headerBatchCommit   = "Nats-Batch-Commit"

	codeWrongSequence = 10071
	// The server could not store it, or has turned its store off; it does not say
	// why.
	codeIncompleteBatch = 10176
	codeStoreFailed     = 10077
	codeStoreDisabled   = 10039
	codeStoreOff        = 10076
	codeNoResources     = 10023
	codeNoStorage       = 10047
	// singles is how many messages are cheaper one by one, at one sync each, than
	// as a batch, which costs about four.
	singles = 3
)

var (
	// errRefused: the server answered, and the answer is no.
	errRefused = errors.New("refused")
	// errSequence: … because the stream does not end where we think.
	errSequence = errors.New("the stream ends elsewhere")
)

// publish sends messages so that all are synced when it returns nil. On an error
// any number of the first ones may be saved.
func (c *committer) publish(all []*message) error {
	s := c.log.session.Load()
	if s == nil {
		return nats.ErrConnectionClosed
	}
	// A crash here costs nothing: nothing was promised yet.
	if err := c.log.step("append.send"); err != nil {
		return err
	}
	if err := c.transmit(s, all); err != nil {
		return err
	}
	// A crash here leaves them saved and not acknowledged: whoever sent them
	// finds their ids in the log before sending again.
	return c.log.step("append.acked")
}

func (c *committer) transmit(s *session, all []*message) error {
	if len(all) > singles {
		return c.publishBatches(s, all)
	}
	for i, m := range all {
		if err := c.log.step("append.single"); err != nil {
			return err
		}
		if err := c.publishOne(s, m, c.last+uint64(i)); err != nil {
			return err
		}
	}
	return nil
}

func (c *committer) publishOne(s *session, m *message, last uint64) error {
	reply, err := s.nc.RequestMsg(wire(m, headerExpected, strconv.FormatUint(last, 10)), c.log.config.AckTimeout)
	if err != nil {
		return fmt.Errorf("no answer: %w", err)
	}
	return checkAck(reply.Data, last+1)
}

// publishBatches sends atomic batches of at most 1,000.
func (c *committer) publishBatches(s *session, all []*message) error {
	last := c.last
	for len(all) > 0 {
		n := min(len(all), mostMessages)
		if err := c.publishBatch(s, all[:n], last); err != nil {
			return err
		}
		all, last = all[n:], last+uint64(n)
	}
	return nil
}

func (c *committer) publishBatch(s *session, all []*message, last uint64) error {
	c.log.batches++
	id := c.log.batchPrefix + strconv.FormatUint(c.log.batches, 36)
	for i, m := range all {
		w := wire(m, headerBatch, id)
		w.Header[headerBatchSequence] = []string{strconv.Itoa(i + 1)}
		if i == 0 {
			w.Header[headerExpected] = []string{strconv.FormatUint(last, 10)}
		}
		switch {
		case i == len(all)-1:
			w.Header[headerBatchCommit] = []string{"1"}
			if err := c.log.step("append.commit"); err != nil {
				return err
			}
			reply, err := s.nc.RequestMsg(w, c.log.config.AckTimeout)
			if err != nil {
				return fmt.Errorf("no answer to a batch of %d: %w", len(all), err)
			}
			return checkAck(reply.Data, last+uint64(len(all)))
		case i == 0:
			reply, err := s.nc.RequestMsg(w, c.log.config.AckTimeout)
			if err != nil {
				return fmt.Errorf("no answer to the first of a batch: %w", err)
			}
			if len(reply.Data) > 0 { // empty means: go on
				return checkAck(reply.Data, 0)
			}
		default:
			if err := s.nc.PublishMsg(w); err != nil {
				return err
			}
		}
	}
	return nil
}

// wire makes what is sent of a message: its own headers, which may be sent again
// after a failure, stay as they are.
func wire(m *message, name, value string) *nats.Msg {
	h := make(nats.Header, len(m.header)+4)
	for k, v := range m.header {
		h[k] = v
	}
	h[name] = []string{value}
	return &nats.Msg{Subject: m.subject, Header: h, Data: m.data}
}

// checkAck reads the server's answer: the sequence of the last message, or an
// error in it although the request had none.
func checkAck(data []byte, want uint64) error {
	var ack struct {
		Sequence uint64 `json:"seq"`
		Error    *struct {
			Code        int    `json:"err_code"`
			Description string `json:"description"`
		} `json:"error"`
	}
	if err := json.Unmarshal(data, &ack); err != nil {
		return fmt.Errorf("answer %.80q: %w", data, err)
	}
	switch {
	case ack.Error != nil && ack.Error.Code == codeWrongSequence:
		return fmt.Errorf("%w: %w: %s", errRefused, errSequence, ack.Error.Description)
	case ack.Error != nil && isStore(ack.Error.Code):
		return fmt.Errorf("the server did not store it: %s (%d)", ack.Error.Description, ack.Error.Code)
	case ack.Error != nil:
		return fmt.Errorf("%w: %s (%d)", errRefused, ack.Error.Description, ack.Error.Code)
	case ack.Sequence != want:
		return fmt.Errorf("answered with sequence %d for %d", ack.Sequence, want)
	}
	return nil
}

func isStore(code int) bool {
	switch code {
	case codeIncompleteBatch, codeStoreFailed, codeStoreDisabled, codeStoreOff, codeNoResources, codeNoStorage:
		return true
	}
	return false
}

// batchPrefix makes ids of batches differ between lives of the server: one that
// was never committed may lie about under its old id.
func batchPrefix(now time.Time) string { return strconv.FormatInt(now.UnixMilli(), 36) }
