package block

// Span are the sequences from First to Last.
type Span struct{ First, Last uint64 }

// Mend gives the bytes of a block that has every whole record of data as it is,
// and an erased record for each sequence that is missing between them, and
// between from and upto, which are the sequences that the block has to have (0:
// what it has decides). erased are the missing ones, in order.
func Mend(data []byte, stream string, number int, from, upto uint64) (mended []byte, erased []Span, err error) {
	s, err := newSums(stream, number)
	if err != nil {
		return nil, nil, err
	}
	m := mender{sums: s, out: make([]byte, 0, len(data))}
	if from > 0 {
		m.last, m.begun = from-1, true
	}
	if _, err := Scan(data, stream, number, m.add); err != nil {
		return nil, nil, err
	}
	m.eraseTo(upto)
	return m.out, m.erased, nil
}

type mender struct {
	sums   *sums
	out    []byte
	begun  bool // last means something
	last   uint64
	time   int64
	erased []Span
}

func (m *mender) add(r Record) {
	if r.Kind != Tombstone && r.Sequence > m.last {
		if m.begun {
			m.eraseTo(r.Sequence - 1)
		}
		m.last, m.time, m.begun = r.Sequence, r.Time, true
	}
	m.out = append(m.out, r.Raw...)
}

// eraseTo takes the sequences up to upto that nothing has.
func (m *mender) eraseTo(upto uint64) {
	if upto <= m.last {
		return
	}
	m.erased = append(m.erased, Span{m.last + 1, upto})
	for m.last < upto {
		m.last++
		m.out = m.sums.appendErased(m.out, m.last, m.time)
	}
}
