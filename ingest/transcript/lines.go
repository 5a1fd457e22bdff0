package transcript

import (
	"bytes"
	"errors"
	"io"
)

const (
	firstBuffer = 256 << 10
	keepBuffer  = 4 << 20 // a larger one is given back after use
	maxBuffer   = MaxValue + 2*firstBuffer
)

// lines reads a file line by line into one buffer that grows to the longest
// line, but not beyond what a value may take.
type lines struct {
	r    io.Reader
	base int64 // offset in the file of buf[start]
	buf  []byte
	// buf[start:end] is read and not taken; buf[start:seen] holds no \n.
	start, seen, end int
	given            int // bytes of buf[start:] that the last next gave
	eof              bool
}

// next gives the next line with its \n (ended), or what there is of it at the
// end of the file or of what a value may take. What take has not consumed is
// given again, with more behind it.
func (l *lines) next() (line []byte, ended bool, err error) {
	for {
		if n := bytes.IndexByte(l.buf[l.seen:l.end], '\n'); n >= 0 {
			l.given = l.seen + n + 1 - l.start
			return l.buf[l.start : l.start+l.given], true, nil
		}
		l.seen = l.end
		have := l.end - l.start
		switch {
		case l.eof:
			l.given = have
			return l.buf[l.start:l.end], false, io.EOF
		case have > MaxValue && have > l.given:
			l.given = have
			return l.buf[l.start:l.end], false, nil
		}
		if err := l.fill(); err != nil {
			return nil, false, err
		}
	}
}

// take consumes n bytes of what next gave.
func (l *lines) take(n int) {
	l.start += n
	l.base += int64(n)
	l.given = max(0, l.given-n)
	l.seen = max(l.seen, l.start)
}

// fill reads once more into the buffer.
func (l *lines) fill() error {
	l.room()
	n, err := l.r.Read(l.buf[l.end:])
	l.end += n
	if errors.Is(err, io.EOF) {
		l.eof = true
		return nil
	}
	return err
}

// room makes place behind end: by moving what is kept to the front, or into a
// buffer of fitting size.
func (l *lines) room() {
	have, size := l.end-l.start, len(l.buf)
	switch {
	case l.end < size && (l.start == 0 || size-l.end >= size/4):
	case size > keepBuffer && have < firstBuffer:
		l.move(2 * firstBuffer)
	case l.start < size/2+1 && size < maxBuffer:
		l.move(min(2*size, maxBuffer))
	default:
		l.shift(l.buf)
	}
}

func (l *lines) move(size int) {
	l.shift(make([]byte, max(size, firstBuffer)))
}

func (l *lines) shift(to []byte) {
	copy(to, l.buf[l.start:l.end])
	l.buf = to
	l.seen, l.end, l.start = l.seen-l.start, l.end-l.start, 0
}

// discard passes over the rest of the line and gives the offset behind it.
func (l *lines) discard() (end int64, ended bool, err error) {
	for {
		have := l.buf[l.start:l.end]
		if n := bytes.IndexByte(have, '\n'); n >= 0 {
			l.take(n + 1)
			return l.base, true, nil
		}
		l.take(len(have))
		l.start, l.seen, l.end = 0, 0, 0
		if len(l.buf) > keepBuffer {
			l.buf = make([]byte, firstBuffer)
		}
		if l.eof {
			return l.base, false, io.EOF
		}
		if err := l.fill(); err != nil {
			return l.base, false, err
		}
	}
}
