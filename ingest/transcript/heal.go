package transcript

import "bytes"

// A host that dies while writing leaves half an object without a line end; the
// next one it writes is glued to the half. heal finds it, so that it is not lost
// with the half: an object that begins as whole ones of this file do and runs to
// the end of the line.

// maxHeal bounds the bytes scanned for one broken line, as a multiple of it.
const maxHeal = 8

// remember notes how an object begins: its bracket and first key.
func (s *scanner) remember(raw []byte) {
	begin := beginning(raw)
	if len(begin) == 0 || string(begin) == s.begin[0] || string(begin) == s.begin[1] {
		return
	}
	s.begin[1], s.begin[0] = s.begin[0], string(begin)
	if s.started == nil {
		s.started = map[string]bool{}
	}
	if len(s.started) < 64 {
		s.started[string(begin)] = true
	}
}

// beginning gives raw up to the end of its first key.
func beginning(raw []byte) []byte {
	if len(raw) < 3 || raw[0] != '{' || raw[1] != '"' {
		return nil
	}
	n := bytes.IndexByte(raw[2:min(len(raw), 66)], '"')
	if n < 0 {
		return nil
	}
	return raw[:2+n+1]
}

// whole says that the object in [i,end) is a record and not a part of one that
// was torn apart: a part is followed by the rest of what it is part of. After
// something else on its line it must also begin as the records of this file do,
// as far as any is known. A file may be an array that has one record a line.
func (s *scanner) whole(line []byte, i, end int) bool {
	j := skipSpace(line, end)
	if j < len(line) && (line[j] == ',' || line[j] == '}' || line[j] == ']') {
		return line[j] == ',' && !s.junk && skipSpace(line, j+1) == len(line)
	}
	return !s.junk || len(s.started) == 0 || s.started[string(beginning(line[i:end]))]
}

// heal gives the index at which a whole object begins within the broken line
// that begins at i, or the line's length. foreign says that the broken part may
// stand before the first record of the file: then any beginning will do.
func (s *scanner) heal(line []byte, i int, foreign bool) int {
	foreign = foreign && len(s.started) == 0
	budget := maxHeal * (len(line) - i)
	for at := i + 1; budget > 0; at++ {
		n := bytes.Index(line[at:], objectStart)
		if n < 0 {
			break
		}
		at += n
		if !foreign && !s.started[string(beginning(line[at:]))] {
			continue
		}
		end, st := s.scan(line[at:])
		budget -= end
		if next := skipSpace(line, at+end); st == whole && (next == len(line) || line[next] == '{') && bytes.IndexByte(line[at:at+end], 0) < 0 {
			return at
		}
	}
	return len(line)
}
