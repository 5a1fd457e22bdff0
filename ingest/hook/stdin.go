package hook

import (
	"io"
	"time"
)

// Limits on standard input.
const maxPayload = 64 << 20 // more is read away, and kept as an excerpt

// patience is how long input is waited for: the next bytes, and all of it.
type patience struct{ next, whole time.Duration }

// forHosts: a host writes its payload at once, but on a busy machine it was seen to
// need more than a second for it; one that opens a pipe and never writes, or drips,
// must not hold us until the host loses its own patience: it kills a hook that is
// late, and then nothing is kept. docs/INSTALL.md gives hooks hostTimeout; what is
// left of it beside the whole is for the disk, the worker and the context.
var forHosts = patience{next: 4 * time.Second, whole: 6 * time.Second}

// hostTimeout is the least that a host should let a hook take.
const hostTimeout = 10 * time.Second

// input is what standard input gave.
type input struct {
	value []byte // one whole JSON object, repaired where it had to be
	rest  []byte // without one: whatever came
	cut   []byte // without one: the object that has begun and not ended
	noise bool   // there was something else before the object
	odd   bool   // the object has nothing that a host's payload has
	large bool   // over the limit
	more  int    // large: how many bytes came behind it, as far as they came
	late  bool   // no end and no object came in time
}

func (in input) empty() bool { return in.value == nil && len(in.rest) == 0 }

// readInput reads until one JSON object is complete that surely fits, not until
// the end: some hosts keep the pipe open. Of more than limit bytes it keeps the
// first. The reading goroutine ends with the process where the reader blocks for
// ever; otherwise with the input.
func readInput(r io.Reader, wait patience, limit int, judge func([]byte) fit) input {
	if r == nil {
		return input{}
	}
	pieces, enough := make(chan []byte), make(chan struct{})
	defer close(enough)
	go feed(r, pieces, enough)

	f := newFinder(judge)
	timer, end := time.NewTimer(wait.next), time.NewTimer(wait.whole)
	defer timer.Stop()
	defer end.Stop()
	for {
		select {
		case p, more := <-pieces:
			if !more {
				return f.input()
			}
			timer.Reset(wait.next)
			if n := limit - len(f.buf); len(p) > n {
				f.buf = append(f.buf, p[:n]...)
				more := len(p) - n + readAway(pieces, timer.C, end.C)
				return input{rest: f.rest(), large: true, more: more}
			}
			if value, ok := f.add(p); ok {
				return input{value: value, noise: !f.blank(f.buf[:f.start])}
			}
		case <-timer.C:
			return f.late()
		case <-end.C:
			return f.late()
		}
	}
}

// late is what there is when it took too long.
func (f *finder) late() input {
	in := f.input()
	in.late = in.value == nil
	return in
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

// readAway lets a host write to the end, so that it sees no broken pipe, and says
// how much that was.
func readAway(pieces <-chan []byte, idle, end <-chan time.Time) (n int) {
	for {
		select {
		case p, more := <-pieces:
			if n += len(p); !more {
				return n
			}
		case <-idle:
			return n
		case <-end:
			return n
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
