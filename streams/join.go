package streams

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"cmem/streams/durable"
	"cmem/streams/envelope"
)

// joiner turns messages in order into values: it joins parts, unpacks bodies and
// notices what is missing. It never fails; what cannot be used is reported.
type joiner struct {
	codec *codec
	gap   func(Gap)
	next  uint64 // the sequence expected next

	within   bool     // nothing was read yet, and it may begin in the middle of a value
	run      []stored // parts of a value whose last has not come
	previous Digest   // the chain before the next value
	anchored bool     // … is known

	messages, bytes, abandoned int64
}

// entry is a value with what the log added to it.
type entry struct {
	Record
	nonce    nonce
	previous Digest // the chain before it
	anchored bool   // previous is known: it is not behind a gap
}

// assembled is a value with all its messages, not yet decoded.
type assembled struct {
	run      []stored // the parts before the last; the joiner's, until it takes more
	last     stored
	start    uint64 // sequence of its first message
	previous Digest // the chain before it
	anchored bool   // previous is known
}

// add takes the next message. ok is false if it completes no value.
func (j *joiner) add(m stored) (e entry, ok bool) {
	a, ok := j.take(m)
	if !ok {
		return e, false
	}
	e, err := a.decode(j.codec)
	if err != nil {
		j.damaged(a.start, m.sequence, err)
		return entry{}, false
	}
	return e, true
}

// take is add without decoding. A link that cannot be read is told by decode.
func (j *joiner) take(m stored) (a assembled, ok bool) {
	if m.sequence < j.next {
		return a, false // a second answer to a repeated question
	}
	j.skipTo(m.sequence, "no message")
	j.next = m.sequence + 1
	j.messages++
	j.bytes += int64(len(m.data))
	n, of, err := part(m.header)
	if err != nil {
		j.damaged(m.sequence, m.sequence, err)
		return a, false
	}
	if j.within && n > 1 {
		j.within = n < of
		return a, false // its value began before what is read
	}
	j.within = false
	if n != len(j.run)+1 || n > 1 && first(m.header, headerSum) != first(j.run[0].header, headerSum) {
		j.dropRun()
		if n > 1 {
			// Its beginning is gone, which skipTo has named, or was never of this run.
			j.damaged(m.sequence, m.sequence, fmt.Errorf("part %d of %d without the ones before", n, of))
			return a, false
		}
	}
	if n < of {
		j.run = append(j.run, m)
		return a, false
	}
	a = assembled{run: j.run, last: m, start: m.sequence - uint64(of) + 1, previous: j.previous, anchored: j.anchored}
	j.run = j.run[:0]
	j.previous, err = parseDigest(first(m.header, headerChain))
	j.anchored = err == nil
	return a, true
}

// pass is take for a message in one piece whose link was read, and follows what
// came before without a gap: it needs no joining. It gives the claim the chain
// before it; false leaves the message for take.
func (j *joiner) pass(c *claim) bool {
	if c.sequence != j.next || len(j.run) > 0 || j.within || !j.anchored {
		return false
	}
	j.next++
	j.messages++
	j.bytes += int64(len(c.data))
	c.previous, j.previous = j.previous, c.chain
	return true
}

// skipTo notes that nothing came for the sequences before s.
func (j *joiner) skipTo(s uint64, reason string) {
	if s > j.next {
		j.dropRun()
		j.damaged(j.next, s-1, fmt.Errorf("%s", reason))
		j.next = s
	}
}

// dropRun passes over parts whose end never came: they were never acknowledged.
func (j *joiner) dropRun() {
	if len(j.run) > 0 {
		durable.Reached("log.parts-passed-over")
	}
	j.abandoned += int64(len(j.run))
	j.run = j.run[:0]
}

func (j *joiner) damaged(from, to uint64, reason error) {
	j.anchored = false
	j.gap(Gap{First: Position(from), Last: Position(to), Reason: reason.Error()})
}

// decode makes a value of its messages. It may be called by several at once.
func (a *assembled) decode(c *codec) (e entry, err error) {
	data, err := joined(a.run, a.last)
	if err != nil {
		return e, err
	}
	header := a.last.header
	body, err := c.unpack(data, first(header, headerEncoding))
	if err != nil {
		return e, fmt.Errorf("body: %w", err)
	}
	if e.Envelope, err = envelope.FromHeaders(header, body); err != nil {
		return e, err
	}
	if e.Chain, err = parseDigest(first(header, headerChain)); err != nil {
		return e, fmt.Errorf("%s: %w", headerChain, err)
	}
	if e.nonce, err = parseNonce(first(header, headerNonce)); err != nil {
		return e, fmt.Errorf("%s: %w", headerNonce, err)
	}
	e.Position = Position(a.last.sequence)
	e.previous, e.anchored = a.previous, a.anchored
	return e, nil
}

// joined puts parts together and checks that they are what was cut.
func joined(run []stored, last stored) ([]byte, error) {
	if len(run) == 0 {
		return last.data, nil
	}
	var all bytes.Buffer
	all.Grow((len(run) + 1) * partSize)
	for _, p := range run {
		all.Write(p.data)
	}
	all.Write(last.data)
	sum := sha256.Sum256(all.Bytes())
	if hex.EncodeToString(sum[:]) != first(last.header, headerSum) {
		return nil, fmt.Errorf("the %d parts do not have their %s", len(run)+1, headerSum)
	}
	return all.Bytes(), nil
}

// broken reports whether the entry is not what its link was made of. Behind a
// gap that cannot be said.
func (e *entry) broken() bool {
	return e.anchored && link(e.previous, inner(e.nonce, &e.Envelope)) != e.Chain
}
