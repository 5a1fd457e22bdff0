package streams

import (
	"bytes"
	"crypto/sha256"
	"hash"
	"slices"

	"cmem/streams/block"
	"cmem/streams/envelope"
)

// claim is a message in one piece whose link says what it is: enough to prove it,
// without making an envelope of it. Its slices are the block's own.
type claim struct {
	sequence        uint64
	header, data    []byte
	previous, chain Digest
}

var (
	chainLine = []byte("\r\n" + headerChain + ": ")
	partLine  = []byte("\r\n" + headerPart + ": ")
	lineEnd   = []byte("\r\n")
)

// claimOf reads the link of a message; ok is false for parts and for what has no
// link that can be read.
func claimOf(r block.Record) (c claim, ok bool) {
	_, after, ok := bytes.Cut(r.Header, chainLine)
	if !ok || bytes.Contains(r.Header, partLine) {
		return c, false
	}
	value, _, _ := bytes.Cut(after, lineEnd)
	chain, err := parseDigest(string(value))
	return claim{sequence: r.Sequence, header: r.Header, data: r.Data, chain: chain}, err == nil
}

// stored is the message for who has to read it after all.
func (c *claim) stored() stored {
	return stored{c.sequence, block.Fields(c.header), c.data}
}

// prover proves claims, one after the other; it keeps its memory.
type prover struct {
	codec *codec
	hash  hash.Hash
	lines []attribute
	body  []byte
	text  []byte
}

// attribute is a line of a header.
type attribute struct{ name, value []byte }

func newProver(c *codec) *prover { return &prover{codec: c, hash: sha256.New()} }

// prove says that the message is to the byte what its link was made of, and so
// that it can be read, and gives its id. Whatever is not as it was written, or was
// written by a newer version, is not proven; why is for a reader to say.
func (p *prover) prove(c *claim) (id string, ok bool) {
	nonce, id, encoding, ok := p.read(c.header)
	if !ok {
		return "", false
	}
	body := c.data
	switch encoding {
	case "":
	case encodingZstd:
		all, err := p.codec.dec.DecodeAll(c.data, p.body[:0])
		if err != nil {
			return "", false
		}
		body, p.body = all, all
	default:
		return "", false
	}
	p.hash.Reset()
	p.hash.Write(nonce[:])
	p.hash.Write(p.canonical())
	p.hash.Write(body)
	var inner Digest
	p.hash.Sum(inner[:0])
	p.body = p.body[:0:min(cap(p.body), keptBody)]
	return id, link(c.previous, inner) == c.chain
}

// keptBody is how much memory for bodies a prover keeps.
const keptBody = 4 << 20

// read takes a header apart; what the chain is over is then in p.lines.
func (p *prover) read(header []byte) (n nonce, id, encoding string, ok bool) {
	p.lines = p.lines[:0]
	version := false
	_, rest, _ := bytes.Cut(header, lineEnd) // NATS/1.0
	for len(rest) > 0 {
		var line []byte
		line, rest, _ = bytes.Cut(rest, lineEnd)
		name, value, found := bytes.Cut(line, []byte(": "))
		if !found {
			continue
		}
		name, ours := bytes.CutPrefix(name, []byte(envelope.Prefix))
		switch {
		case !ours:
			if string(name) == headerEncoding {
				encoding = string(value)
			}
			continue
		case string(name) == envelope.ChainAttribute:
			continue
		case string(name) == envelope.NonceAttribute:
			var err error
			if n, err = parseNonce(string(value)); err != nil {
				return n, "", "", false
			}
			continue
		case string(name) == "specversion":
			version = string(value) == envelope.SpecVersion
			continue
		case string(name) == "cmemversion":
			return n, "", "", false
		case string(name) == "id":
			var err error
			if id, err = envelope.Decode(string(value)); err != nil {
				return n, "", "", false
			}
		}
		p.lines = append(p.lines, attribute{name, value})
	}
	return n, id, encoding, version && id != ""
}

// canonical is envelope.Canonical of the lines: their values are in its form
// already.
func (p *prover) canonical() []byte {
	byName := func(a, b attribute) int { return bytes.Compare(a.name, b.name) }
	if !slices.IsSortedFunc(p.lines, byName) {
		slices.SortFunc(p.lines, byName)
	}
	to := p.text[:0]
	for _, a := range p.lines {
		to = append(to, a.name...)
		to = append(to, '=')
		to = append(to, a.value...)
		to = append(to, '\n')
	}
	p.text = append(to, '\n')
	return p.text
}
