package records

import (
	"strconv"

	"cmem/streams/event"
)

// worker is the source of envelopes that cmem itself says; the session they
// speak of is the host's.
const worker = "cmem"

// session gives the session of a host, made as a stub at first sight, whatever
// came first; nil without an id. cmem's own facts name no host: they speak of
// the first session with that id, and a stub they made is adopted by the first
// host that shows the id.
func (b *batch) session(host, key string) (*session, error) {
	if key == "" {
		return nil, nil
	}
	if host == worker {
		host = ""
	}
	if s := b.sessionOf[[2]string{host, key}]; s != nil {
		return s, nil
	}
	s, err := b.findSession(host, key)
	if err == nil && s == nil {
		s = b.newSession(host, key)
	}
	if err != nil {
		return nil, err
	}
	b.sessionOf[[2]string{host, key}] = s
	return s, nil
}

func sessionID(id uint64) hash { return hashOf("sid", string(key64(id))) }

func sessionName(host, key string) hash { return hashOf("s", host, key) }

func (b *batch) findSession(host, key string) (*session, error) {
	s, err := b.sessionNamed(sessionName(host, key))
	if s != nil || err != nil || host == "" {
		return s, err
	}
	s, err = b.sessionNamed(sessionName("", key))
	if s == nil || err != nil || s.host != "" {
		return nil, err
	}
	s.host = host
	b.sessions.edit(s.no)
	b.names.put(sessionName(host, key), reference(s.no))
	return s, nil
}

func (b *batch) sessionNamed(name hash) (*session, error) {
	no, err := referred(b.names.get(name))
	if no == 0 || err != nil {
		return nil, err
	}
	return b.sessions.get(no)
}

func (b *batch) newSession(host, key string) *session {
	b.totals.Sessions++
	s := &session{no: b.totals.Sessions, id: b.next("session"), position: b.position, host: host, key: key}
	b.sessions.put(s.no, s)
	b.names.put(sessionID(s.id), reference(s.no))
	if len(b.names.get(sessionName("", key))) == 0 {
		b.names.put(sessionName("", key), reference(s.no))
	}
	if host != "" {
		b.names.put(sessionName(host, key), reference(s.no))
	}
	return s
}

// sessionOfFact is the fact's own session, or else its envelope's.
func (b *batch) sessionOfFact(f *event.Fact) (*session, error) {
	host, key := f.Host, f.Session
	if host == "" {
		host = b.envelope.Source
	}
	if key == "" {
		key = b.envelope.Subject
	}
	return b.session(host, key)
}

func (b *batch) started(s *session, c int, f *event.SessionStarted) error {
	s.side[c].state = open
	if s.model == "" {
		s.model = f.Model
	}
	if s.parent == "" && f.Parent != s.key {
		s.parent = f.Parent
	}
	return nil
}

func (b *batch) ended(s *session, c int) error {
	s.side[c].state = closed
	return b.closeAll(s, c, 0)
}

// idled closes what any side has open: nothing more came for a while.
func (b *batch) idled(s *session) error {
	for c := range sides {
		if err := b.closeAll(s, c, 0); err != nil {
			return err
		}
	}
	return nil
}

func (b *batch) forked(s *session, f *event.SessionForked) error {
	if f.From == "" || f.From == s.key {
		return nil
	}
	s.parent, s.shared = f.From, f.FirstShared
	from, err := b.session(s.host, f.From)
	if err != nil {
		return err
	}
	for _, no := range from.forks {
		if no == s.no {
			return nil
		}
	}
	from.forks = append(from.forks, s.no)
	b.sessions.edit(from.no)
	return nil
}

// commanded counts a command once, by whichever side tells it more often; a side
// may tell one command twice under one key.
func (b *batch) commanded(s *session, c int, h *event.Header, f *event.CommandRun) error {
	if f.Name == "!" {
		return nil // the user's own shell line
	}
	if h.Key != "" {
		name := hashOf("ck", strconv.Itoa(c), h.Key+b.conflict)
		if len(b.names.get(name)) > 0 {
			return nil
		}
		b.names.put(name, reference(s.no))
	}
	name := b.nameIn(s, "c", h.Turn, f.Name)
	o, err := b.occurrence(name)
	if err != nil {
		return err
	}
	before := max(o.n[hookSide], o.n[fileSide])
	o.n[c]++
	s.n.commands += int(max(o.n[hookSide], o.n[fileSide]) - before)
	b.putOccurrence(name, o)
	return nil
}

// nameIn is a name that is good within one session.
func (b *batch) nameIn(s *session, kind string, parts ...string) hash {
	return hashOf(append([]string{kind, strconv.FormatUint(s.no, 10)}, parts...)...)
}

// occurrence counts how often each side told something that has no name of its
// own: the n-th of one side is the n-th of another. Slots are sides, or sides
// and phases.
type occurrence struct {
	n   [4]uint64
	ids []uint64 // document of the n-th
}

func (o *occurrence) code(c *coder) {
	for i := range o.n {
		c.u64(&o.n[i])
	}
	c.u64s(&o.ids)
}

func (b *batch) occurrence(name hash) (*occurrence, error) {
	o := &occurrence{}
	raw := b.occurrences.get(name)
	if len(raw) == 0 {
		return o, nil
	}
	return o, readValue(raw, o)
}

func (b *batch) putOccurrence(name hash, o *occurrence) {
	b.occurrences.put(name, appendValue(nil, o))
}

// another counts one more in slot and gives its index from 0 and the document
// that another slot made of it, 0 none.
func (o *occurrence) another(slot int) (n int, id uint64) {
	n = int(o.n[slot])
	o.n[slot]++
	if n < len(o.ids) {
		id = o.ids[n]
	}
	return n, id
}

// bind says which document the n-th is.
func (o *occurrence) bind(n int, id uint64) {
	for len(o.ids) <= n {
		o.ids = append(o.ids, 0)
	}
	o.ids[n] = id
}
