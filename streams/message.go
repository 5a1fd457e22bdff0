package streams

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/nats-io/nats.go"

	"cmem/streams/envelope"
)

const (
	// MaxBody is the largest body a value may have.
	MaxBody = 256 << 20
	// MaxAttributes bounds a value's attributes in their encoded form.
	MaxAttributes = 48 << 10

	compressOver = 512
	partSize     = 256 << 10

	headerChain    = envelope.Prefix + envelope.ChainAttribute
	headerNonce    = envelope.Prefix + envelope.NonceAttribute
	headerEncoding = "content-encoding"
	headerPart     = "cmem-part"
	headerSum      = "cmem-sha256"
	encodingZstd   = "zstd"
)

// message is one publication; a value has one, or one per part.
type message struct {
	subject string
	header  nats.Header
	data    []byte
	last    bool   // the value's last: it has the attributes and the link
	inner   Digest // if last
	chain   Digest // if last; set when its place is known
}

// value is an envelope made ready outside of the committer.
type value struct {
	id       string
	messages []message
	position Position // once saved
}

// codec compresses and decompresses bodies; safe for concurrent use.
type codec struct {
	one  *zstd.Encoder // of an envelope alone: small tables, which are cold then
	many *zstd.Encoder // of many: smaller results for less than twice the work
	dec  *zstd.Decoder
}

func newCodec() (*codec, error) {
	one, err := newEncoder(zstd.SpeedFastest)
	if err != nil {
		return nil, err
	}
	many, err := newEncoder(zstd.SpeedDefault)
	if err != nil {
		return nil, err
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxMemory(MaxBody),
		zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, err
	}
	return &codec{one: one, many: many, dec: dec}, nil
}

// newEncoder: no checksum, for the chain covers the body.
func newEncoder(level zstd.EncoderLevel) (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithEncoderConcurrency(2),
		zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(512<<10))
}

// pack gives the bytes to store for body and how they are encoded.
func pack(enc *zstd.Encoder, body []byte) (data []byte, encoding string) {
	if len(body) <= compressOver {
		return body, ""
	}
	if small := enc.EncodeAll(body, make([]byte, 0, len(body)/2)); len(small) < len(body) {
		return small, encodingZstd
	}
	return body, ""
}

// unpack is the way back.
func (c *codec) unpack(data []byte, encoding string) ([]byte, error) {
	switch encoding {
	case "":
		return data, nil
	case encodingZstd:
		return c.dec.DecodeAll(data, nil)
	}
	return nil, fmt.Errorf("content-encoding %q: %w", encoding, ErrNewer)
}

// prepare makes a value of an envelope: compressed, cut, with all headers but
// the chain.
func prepare(enc *zstd.Encoder, e *envelope.Envelope) (value, error) {
	if err := e.Validate(); err != nil {
		return value{}, err
	}
	if len(e.Body) > MaxBody {
		return value{}, fmt.Errorf("body of %q has %d bytes, at most %d: %w", e.ID, len(e.Body), MaxBody, ErrTooLarge)
	}
	if len(e.Extra) > 0 {
		own := *e
		own.Extra = withoutExport(e.Extra)
		e = &own
	}
	header, body := envelope.Headers(*e)
	if n := size(header); n > MaxAttributes {
		return value{}, fmt.Errorf("attributes of %.80q have %d bytes, at most %d: %w", e.ID, n, MaxAttributes, ErrTooLarge)
	}
	n := newNonce()
	header[headerNonce] = []string{text.EncodeToString(n[:])}
	data, encoding := pack(enc, body)
	if encoding != "" {
		header[headerEncoding] = []string{encoding}
	}
	v := value{id: e.ID, messages: cut(subject(e), header, data)}
	end := &v.messages[len(v.messages)-1]
	end.last, end.inner = true, inner(n, e)
	return v, nil
}

// prepareAll prepares many, on all processors where there are enough to share.
// The error is that of the first that cannot be stored.
func (c *codec) prepareAll(values []value, envs []envelope.Envelope) error {
	const share = 32
	enc := c.many
	if len(envs) == 1 {
		enc = c.one
	}
	n := max(1, min(runtime.GOMAXPROCS(0), len(envs)/share))
	errs := make([]error, n)
	var wg sync.WaitGroup
	for k := range n {
		from, to := k*len(envs)/n, (k+1)*len(envs)/n
		work := func() {
			for i := from; i < to && errs[k] == nil; i++ {
				values[i], errs[k] = prepare(enc, &envs[i])
			}
		}
		if k == n-1 {
			work() // the last share, often the only one, is the caller's own
		} else {
			wg.Go(work)
		}
	}
	wg.Wait()
	return cmp.Or(errs...)
}

// cut makes one message, or one per part of 256 KiB.
func cut(subject string, header nats.Header, data []byte) []message {
	if len(data) <= partSize {
		return []message{{subject: subject, header: header, data: data}}
	}
	sum := sha256.Sum256(data)
	sums := []string{hex.EncodeToString(sum[:])}
	parts := (len(data) + partSize - 1) / partSize
	all := make([]message, parts)
	for i := range all {
		h := nats.Header{}
		if i == parts-1 {
			h = header
		}
		h[headerSum] = sums
		h[headerPart] = []string{strconv.Itoa(i+1) + "/" + strconv.Itoa(parts)}
		all[i] = message{subject: subject, header: h, data: data[i*partSize : min((i+1)*partSize, len(data))]}
	}
	return all
}

// size is what a header costs on the wire and on the disk.
func size(h map[string][]string) (n int) {
	for name, values := range h {
		for _, v := range values {
			n += len(name) + len(": \r\n") + len(v)
		}
	}
	return n
}

// subject holds no user text: the type is one of ours, the rest a hash.
func subject(e *envelope.Envelope) string {
	h := sha256.New()
	h.Write([]byte(e.Source))
	h.Write([]byte{0})
	h.Write([]byte(e.Subject))
	var sum [sha256.Size]byte
	return "cmem." + typeToken(e.Type) + "." + hex.EncodeToString(h.Sum(sum[:0])[:6])
}

// typeToken makes one token of a type.
func typeToken(t string) string {
	if len(t) > 40 {
		return "other"
	}
	for i := range len(t) {
		if c := t[i]; (c < 'a' || c > 'z') && c != '.' && c != '-' && c != '_' {
			return "other"
		}
	}
	return strings.ReplaceAll(t, ".", "-")
}

// part reads "2/7". A value in one piece is 1/1.
func part(h nats.Header) (n, of int, err error) {
	values := h[headerPart]
	if len(values) == 0 {
		return 1, 1, nil
	}
	left, right, _ := strings.Cut(values[0], "/")
	n, err1 := strconv.Atoi(left)
	of, err2 := strconv.Atoi(right)
	if err1 != nil || err2 != nil || n < 1 || of < 2 || n > of || of > MaxBody/partSize+2 {
		return 0, 0, fmt.Errorf("part %.20q", values[0])
	}
	return n, of, nil
}

func first(h nats.Header, name string) string {
	if values := h[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}
