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
	large bool   // over the limit
	late  bool   // no end and no object came in time
}

func (in input) empty() bool { return in.value == nil && len(in.rest) == 0 }

// readInput reads until one JSON object is complete, not until the end: some
// hosts keep the pipe open. Of more than limit bytes it keeps the first. The reading goroutine ends with the process where
// the reader blocks for ever; otherwise with the input.
func readInput(r io.Reader, idle time.Duration, limit int) input {
	if r == nil {
		return input{}
	}
	pieces, enough := make(chan []byte), make(chan struct{})
	defer close(enough)
	go feed(r, pieces, enough)

	f := newFinder()
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
				return input{value: value}
			}
		case <-timer.C:
			in := f.input()
			in.late = in.value == nil
			return in
		}
	}
}

// input is what there is when nothing more comes.
func (f *finder) input() input {
	if text, ok := fromUTF16(f.buf); ok {
		f = newFinder()
		if value, ok := f.add(text); ok {
			return input{value: value}
		}
	}
	if value, ok := f.rescue(); ok {
		return input{value: value}
	}
	return input{rest: f.rest()}
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
