package block

import (
	"bytes"
	"encoding/binary"
)

// Damage is a run of bytes that are no record.
type Damage struct {
	Offset, Length int
	After          uint64 // the sequence of the whole record before it; 0: none in this block
	Before         uint64 // … of the one behind it; 0: it reaches to the block's end
	// Headers are those of messages that can still be read. They may be wrong.
	Headers []map[string][]string
}

// Report is what Scan found in one block.
type Report struct {
	Bytes    int
	Records  int    // whole ones of any kind
	First    uint64 // lowest and highest sequence of messages and erased ones, 0: none
	Last     uint64
	LastTime int64 // of the record with the last sequence
	Damage   []Damage
}

// Scan goes through block number of stream, whose bytes are data, and calls each,
// which may be nil, for every whole record in order.
func Scan(data []byte, stream string, number int, each func(Record)) (Report, error) {
	s, err := newSums(stream, number)
	if err != nil {
		return Report{}, err
	}
	report := Report{Bytes: len(data)}
	for at := 0; at < len(data); {
		r, ok := s.parse(data[at:])
		if !ok {
			next := s.next(data, at, report.Last)
			report.Damage = append(report.Damage, damage(data, at, next, report.Last))
			at = next
			continue
		}
		r.Offset = at
		report.add(r)
		if each != nil {
			each(r)
		}
		at += len(r.Raw)
	}
	return report, nil
}

func (r *Report) add(record Record) {
	r.Records++
	if record.Kind == Tombstone || record.Sequence == 0 {
		return
	}
	if n := len(r.Damage); n > 0 && r.Damage[n-1].Before == 0 {
		r.Damage[n-1].Before = record.Sequence
	}
	if r.First == 0 {
		r.First = record.Sequence
	}
	if record.Sequence > r.Last {
		r.Last, r.LastTime = record.Sequence, record.Time
	}
}

// next finds where the first whole record behind damage at begins, len(data) if
// there is none: where the damaged one says that it ends, else anywhere.
func (s *sums) next(data []byte, at int, last uint64) int {
	if l, ok := measure(data[at:]); ok && s.begins(data[at+l.all:], last) {
		return at + l.all
	}
	for i := at + 1; i+least <= len(data); i++ {
		if s.begins(data[i:], last) {
			return i
		}
	}
	return len(data)
}

// ours begins every subject of the log.
var ours = []byte("cmem.")

// begins says whether a whole record that can follow sequence last stands at the
// start of b. What is cheap to look at is looked at first: a search goes over
// every byte of what is damaged.
func (s *sums) begins(b []byte, last uint64) bool {
	l, ok := measure(b)
	if !ok || l.subject > 0 && !bytes.HasPrefix(b[headBytes:], ours) {
		return false
	}
	sequence := binary.LittleEndian.Uint64(b[4:])
	if l.subject == 0 && sequence&flagBits == 0 || sequence&tombstoneBit == 0 && sequence&^flagBits <= last {
		return false
	}
	_, ok = s.parse(b)
	return ok
}

func damage(data []byte, from, to int, after uint64) Damage {
	return Damage{Offset: from, Length: to - from, After: after, Headers: headers(data[from:to])}
}

// maxHeaders bounds what is kept of one run of damage.
const maxHeaders = 1000

// headers looks for the headers of messages, which are text.
func headers(b []byte) (all []map[string][]string) {
	begin, end := []byte("NATS/1.0\r\n"), []byte("\r\n\r\n")
	for len(all) < maxHeaders {
		at := bytes.Index(b, begin)
		if at < 0 {
			return all
		}
		b = b[at+len(begin):]
		text := b
		if at := bytes.Index(b, end); at >= 0 {
			text = b[:at]
		}
		if h := Fields(text); len(h) > 0 {
			all = append(all, h)
		}
	}
	return all
}

// Fields reads a header: lines of "name: value" that are printable.
func Fields(text []byte) map[string][]string {
	h := map[string][]string{}
	for line := range bytes.SplitSeq(text, []byte("\r\n")) {
		name, value, ok := bytes.Cut(line, []byte(": "))
		if !ok || len(line) > 64<<10 || bytes.ContainsFunc(line, func(r rune) bool { return r < ' ' || r > '~' }) {
			continue
		}
		h[string(name)] = []string{string(value)}
	}
	return h
}
