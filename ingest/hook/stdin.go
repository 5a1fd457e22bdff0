package hook

import (
	"io"
	"time"
)

// Limits on standard input.
const (
	maxPayload = 64 << 20 // more is read away, and kept as an excerpt
	// idleInput is how long the next bytes may take. A host writes its payload
	// at once, but on a busy machine it was seen to need more than a second for
	// it; one that opens a pipe and never writes must not hold us for long.
	idleInput = 5 * time.Second
)

// input is what standard input gave.
type input struct {
	value []byte // one whole JSON object, repaired where it had to be
	rest  []byte // without one: whatever came
	cut   []byte // without one: the object that has begun and not ended
	noise bool   // there was something else before the object
	odd   bool   // the object has nothing that a host's payload has
	large bool   // over the limit
	late  bool   // no end and no object came in time
}

func (in input) empty() bool { return in.value == nil && len(in.rest) == 0 }

// readInput reads until one JSON object is complete that surely fits, not until
// the end: some hosts keep the pipe open. Of more than limit bytes it keeps the
// first. The reading goroutine ends with the process where the reader blocks for
// ever; otherwise with the input.
func readInput(r io.Reader, idle time.Duration, limit int, judge func([]byte) fit) input {
	if r == nil {
		return input{}
	}
	pieces, enough := make(chan []byte), make(chan struct{})
	defer close(enough)
	go feed(r, pieces, enough)

	f := newFinder(judge)
	timer := time.NewTimer(idle)
	defer timer.Stop()
	for {
		select {
		case p, more := <-pieces:
			if !more {
				return f.input()
			}
			timer.Reset(idle)
			if len(f.buf)+len(p) > limit {
				f.buf = append(f.buf, p[:limit-len(f.buf)]...)
				readAway(pieces, timer.C)
				return input{rest: f.rest(), large: true}
			}
			if value, ok := f.add(p); ok {
				return input{value: value, noise: !f.blank(f.buf[:f.start])}
			}
		case <-timer.C:
			in := f.input()
			in.late = in.value == nil
			return in
		}
	}
}

// input is what there is when nothing more comes: the object that is likely the
// host's, else the only thing there is.
func (f *finder) input() input {
	if e := marked(f.buf); e != nil {
		wide := newFinder(f.fit)
		if value, ok := wide.add(e.text(f.buf[len(e.mark):])); ok {
			return input{value: value, noise: !wide.blank(wide.buf[:wide.start])}
		}
		return wide.input()
	}
	var cut []byte
	if f.start >= 0 {
		cut = f.buf[f.start:]
		if f.wide {
			if in := fromWide(f.buf, f.start, f.fit); in.value != nil || f.blank(f.buf[:f.start]) {
				in.noise = in.noise || in.value != nil && !f.blank(f.buf[:f.start])
				return in
			}
		}
	}
	value, ok := f.rescue()
	switch {
	case ok:
		return input{value: value, noise: true}
	case f.second != nil:
		return input{value: f.second, noise: !f.blank(f.buf[:f.before])}
	case f.only != nil && f.blank(f.buf[f.onlyEnd:]):
		return input{value: f.only, odd: true}
	}
	return input{rest: f.rest(), cut: cut}
}

// readAway lets a host write to the end, so that it sees no broken pipe.
func readAway(pieces <-chan []byte, idle <-chan time.Time) {
	for {
		select {
		case _, more := <-pieces:
			if !more {
				return
			}
		case <-idle:
			return
		}
	}
}

// feed sends what r gives, in growing pieces, until its end or until nobody
// wants more.
func feed(r io.Reader, pieces chan<- []byte, enough <-chan struct{}) {
	defer func() {
		_ = recover() // a reader that panics has ended
		close(pieces)
	}()
	size := 16 << 10
	for {
		buf := make([]byte, size)
		n, err := r.Read(buf)
		if n > 0 {
			select {
			case pieces <- buf[:n]:
			case <-enough:
				return
			}
		}
		if err != nil {
			return
		}
		if n == len(buf) {
			size = min(2*size, 1<<20)
		}
	}
}
