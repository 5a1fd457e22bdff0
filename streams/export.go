package streams

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"strconv"

	"cmem/streams/envelope"
)

// Attributes that an exported line has beside the envelope's own, chain and nonce.
const (
	attributePosition = "logposition" // decimal
	attributePrevious = "logprevious" // the chain before, where the line before does not say it
	attributeGap      = "loggap"      // "true": something is missing before; no link to check
	attributeSum      = "logsum"      // the last: half the SHA-256 of the line up to here, hex
)

// withoutExport leaves out what an exported line says of the place it came from:
// appended again, it gets another.
func withoutExport(extra map[string]string) map[string]string {
	own := maps.Clone(extra)
	for _, name := range []string{attributePosition, attributePrevious, attributeGap, attributeSum} {
		delete(own, name)
	}
	return own
}

// Export writes every value after a position, up to the head as it is now, as
// structured CloudEvents, one a line. The lines carry position, chain, nonce and
// a sum, so that VerifyExport can check them without the log.
func (l *Log) Export(ctx context.Context, w io.Writer, after Position) error {
	out := bufio.NewWriterSize(w, 64<<10)
	j := l.joiner(after)
	if after > 0 {
		if at, err := l.Get(ctx, after); err == nil {
			j.previous, j.anchored = at.Chain, true
		} else if !errors.Is(err, ErrNotFound) {
			return fmt.Errorf("export: %w", err)
		}
	}
	var line []byte
	start := true
	for e, err := range l.entries(ctx, j, l.Head().Position) {
		if err != nil {
			return fmt.Errorf("export: %w", err)
		}
		if line, err = appendExport(line[:0], &e, start && after > 0); err != nil {
			return fmt.Errorf("export position %d: %w", e.Position, err)
		}
		start = false
		if _, err := out.Write(line); err != nil {
			return fmt.Errorf("export: %w", err)
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

func appendExport(to []byte, e *entry, first bool) ([]byte, error) {
	to, err := envelope.AppendLine(to, e.Envelope)
	if err != nil {
		return to, err
	}
	to = to[:len(to)-1] // the closing bracket
	add := func(name, value string) {
		to = append(to, `,"`+name+`":"`+value+`"`...)
	}
	add(attributePosition, strconv.FormatUint(uint64(e.Position), 10))
	add(envelope.NonceAttribute, text.EncodeToString(e.nonce[:]))
	add(envelope.ChainAttribute, e.Chain.String())
	switch {
	case !e.anchored:
		add(attributeGap, "true")
	case first:
		add(attributePrevious, e.previous.String())
	}
	add(attributeSum, lineSum(to))
	return append(to, '}', '\n'), nil
}

func lineSum(line []byte) string {
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:len(sum)/2])
}

// VerifyExport checks what Export wrote: that every line is to the byte what was
// written, and that each follows the one before. It returns the number of lines
// that are good; the error is a *LineError naming the first that is not.
func VerifyExport(r io.Reader) (lines int64, err error) {
	in := bufio.NewReaderSize(r, 64<<10)
	v := exportVerifier{anchored: true}
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			return lines, nil
		}
		if err != nil && err != io.EOF {
			return lines, fmt.Errorf("verify export: line %d: %w", lines+1, err)
		}
		if reason := v.check(line); reason != nil {
			return lines, fmt.Errorf("verify export: %w", &LineError{Line: lines + 1, Position: v.at, Reason: reason})
		}
		lines++
	}
}

// exportVerifier is what the lines so far say about the next.
type exportVerifier struct {
	at       Position // of the line being checked, as it says
	last     Position
	chain    Digest
	anchored bool
	started  bool
}

func (v *exportVerifier) check(line []byte) error {
	v.at = 0
	e, parsed := envelope.Parse(line)
	if n, err := strconv.ParseUint(e.Extra[attributePosition], 10, 64); err == nil {
		v.at = Position(n)
	}
	if err := checkSum(line); err != nil {
		return err
	}
	if parsed != nil {
		return parsed
	}
	if v.at <= v.last {
		return fmt.Errorf("its position is not behind %d", v.last)
	}
	v.last = v.at
	return v.checkLink(&e)
}

// checkSum: the sum is the last attribute and over every byte before it.
func checkSum(line []byte) error {
	const begin, end = `,"` + attributeSum + `":"`, "\"}\n"
	cut := len(line) - len(end) - sha256.Size - len(begin)
	if cut < 0 || !bytes.HasPrefix(line[cut:], []byte(begin)) || !bytes.HasSuffix(line, []byte(end)) {
		return errors.New("it does not end in its sum")
	}
	if string(line[cut+len(begin):len(line)-len(end)]) != lineSum(line[:cut]) {
		return errors.New("a byte was changed")
	}
	return nil
}

func (v *exportVerifier) checkLink(e *envelope.Envelope) error {
	n, err := parseNonce(e.Extra[envelope.NonceAttribute])
	if err != nil {
		return fmt.Errorf("nonce: %w", err)
	}
	chain, err := parseDigest(e.Extra[envelope.ChainAttribute])
	if err != nil {
		return fmt.Errorf("chain: %w", err)
	}
	previous := v.chain
	if given := e.Extra[attributePrevious]; given != "" && !v.started {
		if previous, err = parseDigest(given); err != nil {
			return fmt.Errorf("%s: %w", attributePrevious, err)
		}
	}
	gap := e.Extra[attributeGap] == "true"
	e.Extra = withoutExport(e.Extra)
	if !gap && link(previous, inner(n, e)) != chain {
		return errors.New("it does not follow the line before")
	}
	v.chain, v.started = chain, true
	return nil
}
