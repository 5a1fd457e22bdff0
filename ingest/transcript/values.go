package transcript

import (
	"bytes"
	"errors"
	"io"
	"iter"
)

// MaxValue is the size in bytes up to which a value is given.
const MaxValue = 64 << 20

// Reason says why bytes are no value.
type Reason string

// The reasons. An Unfinished one stands at the very end of the file; the others
// were passed over.
const (
	OK         Reason = ""           // a JSON object
	Broken     Reason = "broken"     // begins like an object and is none
	Noise      Reason = "noise"      // text, or a JSON value that is no object
	TooLarge   Reason = "too large"  // over MaxValue; its bytes are not given
	Unfinished Reason = "unfinished" // not yet written; the next reading begins here
)

// Value is one JSON object of a file, or a run of bytes that is none.
type Value struct {
	Raw    []byte // good until the next value is asked for
	Offset int64  // of its first byte in the file
	Size   int64  // in bytes; more than len(Raw) if TooLarge
	Next   int64  // where reading goes on after it
	Bad    Reason
}

// Report counts what a reading met.
type Report struct {
	Lines    int64 // lines begun
	Empty    int64 // lines of white space
	Values   int64 // JSON objects
	Glued    int64 // objects that follow another one on its line
	Broken   int64 // runs of bytes that are no value, TooLarge included
	Noise    int64
	TooLarge int64
}

// Values reads r, whose first byte stands at offset from of the file, and gives
// its values in order. A read error is given with a zero Value and ends the
// sequence. Counts are added to report unless it is nil.
func Values(r io.Reader, from int64, report *Report) iter.Seq2[Value, error] {
	if report == nil {
		report = new(Report)
	}
	return func(yield func(Value, error) bool) {
		s := scanner{lines: lines{r: r, base: from}, yield: yield, report: report}
		if err := s.run(); err != nil && !errors.Is(err, io.EOF) {
			yield(Value{}, err)
		}
	}
}

// scanner turns lines into values.
type scanner struct {
	lines
	nesting
	yield   func(Value, error) bool
	report  *Report
	open    bool            // the rest of the last line is still to come
	onLine  int64           // objects on the current line so far
	junk    bool            // the current line had something else before
	started map[string]bool // how objects of this file begin, see heal
	begin   [2]string       // the latest of them
}

var mark = []byte("\xef\xbb\xbf")

func (s *scanner) run() error {
	for {
		line, ended, err := s.next()
		if len(line) > 0 && !s.line(line, ended) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// line gives the values of one line, or of its beginning where it is longer
// than a value may be: then what is left of it stays in the buffer.
func (s *scanner) line(line []byte, ended bool) bool {
	if !s.open {
		s.report.Lines++
		s.onLine, s.junk = 0, false
	}
	s.open = !ended
	i := 0
	for {
		if i = skipSpace(line, i); bytes.HasPrefix(line[i:], mark) {
			i = skipSpace(line, i+len(mark))
		}
		if i == len(line) {
			if s.onLine == 0 && ended {
				s.report.Empty++
			}
			s.take(len(line))
			return true
		}
		end, more := s.one(line, i, ended)
		if !more {
			return false
		}
		if end < 0 {
			return true
		}
		i = end
	}
}

// one gives what begins at i of the line; it returns where to go on, or -1 if
// more of the line must be read first or the rest was dealt with.
func (s *scanner) one(line []byte, i int, ended bool) (int, bool) {
	n, st := s.scan(line[i:])
	good := st == whole && line[i] == '{' && bytes.IndexByte(line[i:i+n], 0) < 0
	switch {
	case good && s.whole(line, i, i+n):
		return i + n, s.object(line, i, i+n)
	case !ended && !s.eof && len(line)-i <= MaxValue:
		// The buffer ends inside a value that may still fit.
		s.take(i)
		return -1, true
	case !ended && !s.eof:
		return -1, s.tooLarge(i)
	case !ended:
		return -1, s.bad(line, i, len(line), Unfinished)
	case line[i] != '{' && st == whole:
		return i + n, s.bad(line, i, i+n, Noise)
	case line[i] != '{':
		// Zeros of a power cut or a stray word may stand before a whole record; so
		// may the end of one whose beginning is in another file, with objects in it.
		end, why := s.heal(line, i, true), Noise
		if bytes.Contains(line[i:end], objectStart) {
			why = Broken
		}
		return end, s.bad(line, i, end, why)
	}
	healed := s.heal(line, i, good)
	return healed, s.bad(line, i, healed, Broken)
}

// objectStart is how records begin.
var objectStart = []byte(`{"`)

func (s *scanner) object(line []byte, i, end int) bool {
	s.report.Values++
	if s.onLine++; s.onLine > 1 {
		s.report.Glued++
	}
	if !s.junk {
		s.remember(line[i:end])
	}
	return s.give(line, i, end, OK)
}

func (s *scanner) bad(line []byte, i, end int, why Reason) bool {
	switch why {
	case Broken:
		s.report.Broken++
	case Noise:
		s.report.Noise++
	}
	s.onLine++ // the line is not empty
	s.junk = true
	raw := bytes.TrimRight(line[i:end], " \t\r\n")
	return s.give(line, i, i+len(raw), why)
}

func (s *scanner) give(line []byte, i, end int, why Reason) bool {
	v := Value{Raw: line[i:end:end], Offset: s.base + int64(i), Size: int64(end - i), Bad: why}
	v.Next = s.base + int64(skipLine(line, end))
	if why == Unfinished {
		v.Next = v.Offset
	}
	return s.yield(v, nil)
}

// skipLine goes over white space up to and including the end of the line.
func skipLine(line []byte, i int) int {
	if j := skipSpace(line, i); j == len(line) {
		return j
	}
	return i
}

// tooLarge passes over the rest of the line without keeping it.
func (s *scanner) tooLarge(i int) bool {
	start := s.base + int64(i)
	end, ended, err := s.discard()
	s.open = false
	s.onLine++
	v := Value{Offset: start, Size: end - start, Next: end, Bad: TooLarge}
	if ended {
		v.Size--
		s.report.Broken++
		s.report.TooLarge++
	} else {
		v.Bad, v.Next = Unfinished, start
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return s.yield(Value{}, err)
	}
	return s.yield(v, nil)
}
