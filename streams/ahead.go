package streams

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"cmem/streams/block"
)

// scanned is a block file with its whole records.
type scanned struct {
	data    []byte
	records []block.Record // slices of data
	err     error
}

// scanAhead reads the blocks of the open log in order, one ahead of who takes
// them, and notes in s what is damaged in them. What was taken is given back
// through done, for its memory. blocks is closed after the last one, after an
// error and when ctx is done; then nothing touches s any more.
func (l layout) scanAhead(ctx context.Context, s *survey, names []string) (blocks <-chan *scanned, done chan<- *scanned) {
	out, free := make(chan *scanned), make(chan *scanned, 2)
	free <- new(scanned)
	free <- new(scanned)
	go func() {
		defer close(out)
		for i, name := range names {
			var b *scanned
			select {
			case b = <-free:
			case <-ctx.Done():
				return
			}
			b.err = s.fill(b, l.block(name), i == len(names)-1)
			failed := b.err != nil
			select {
			case out <- b:
			case <-ctx.Done():
				return
			}
			if failed {
				return
			}
		}
	}()
	return out, free
}

// content is what a block file holds.
type content struct {
	data []byte
	err  error
}

// readAhead reads the block files of a stopped server in order, one ahead of who
// takes them. The memory of each is given back through done. Whoever closes that and
// takes what is left knows that nothing of it runs any more.
func (l layout) readAhead(names []string) (files <-chan content, done chan<- []byte) {
	out, free := make(chan content), make(chan []byte, 2)
	free <- nil
	free <- nil
	go func() {
		defer close(out)
		for _, name := range names {
			memory, ok := <-free
			if !ok {
				return
			}
			data, err := readInto(memory[:0], l.block(name))
			out <- content{data, err}
		}
	}()
	return out, free
}

// fill reads a block that the server has open. Where it still writes, what
// follows the last whole record is on its way.
func (s *survey) fill(to *scanned, path string, newest bool) (err error) {
	to.records = to.records[:0]
	to.data, err = readInto(to.data[:0], path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the server put something smaller in its place; what it had is missed by its sequences
	}
	if err != nil {
		return err
	}
	b, err := scanBlock(path, to.data, func(r block.Record) {
		s.see(r)
		to.records = append(to.records, r)
	})
	if err != nil {
		return err
	}
	if n := len(b.report.Damage); newest && n > 0 && b.report.Damage[n-1].Before == 0 {
		b.report.Damage = b.report.Damage[:n-1]
	}
	s.blocks = append(s.blocks, b)
	return nil
}

// readInto is os.ReadFile with memory that is there.
func readInto(to []byte, path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return to, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return to, err
	}
	if n := int(info.Size()) + 512; cap(to) < n {
		to = make([]byte, 0, n)
	}
	for {
		n, err := f.Read(to[len(to):cap(to)])
		to = to[:len(to)+n]
		if err == io.EOF {
			return to, nil
		}
		if err != nil {
			return to, err
		}
		if len(to) == cap(to) {
			to = append(to, 0)[:len(to)]
		}
	}
}
