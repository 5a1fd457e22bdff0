package transcript

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// probe is how much of a file's content names it: the bytes of its head, and as
// many before the offset.
const probe = 4 << 10

// Mark remembers how far a file was read.
type Mark struct {
	Path     string `json:"path"`      // where it was last seen
	Head     string `json:"head"`      // hex SHA-256 of its first HeadSize bytes
	HeadSize int64  `json:"head_size"` // at most 4 KiB
	Before   string `json:"before"`    // hex SHA-256 of up to 4 KiB before Offset
	Offset   int64  `json:"offset"`    // after the last value that was used
	State    []byte `json:"state,omitempty"`
}

// Compressed is the ending of files that are read through zstd; their offsets
// count uncompressed bytes.
const Compressed = ".zst"

// source is a file's content.
type source interface {
	io.ReaderAt
	io.Closer
	// from gives the content from an offset on.
	from(offset int64) (io.ReadCloser, error)
}

// File is one open file. It is used by one goroutine.
type File struct {
	Path   string
	start  Mark
	source source
	report Report
}

// Open opens path. A compressed file beside which the plain one stands is read
// as the plain one: it is the newer. The first mark that fits the content is
// where Values will begin; with none it begins at 0.
func Open(path string, marks ...Mark) (*File, error) {
	f := &File{Path: Plain(path)}
	var err error
	if f.source, err = open(f.Path); err != nil {
		return nil, fmt.Errorf("transcript: %w", err)
	}
	if err := f.encoding(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	f.begin(marks)
	return f, nil
}

// ErrEncoding: the file is no UTF-8. Hosts write none else; a file that came
// through a Windows shell may be UTF-16.
var ErrEncoding = errors.New("transcripts are read as UTF-8")

// encoding says so if the content begins as UTF-16 or UTF-32 does.
func (f *File) encoding() error {
	head, err := f.read(0, 4)
	if err != nil {
		return nil // whoever reads on is told
	}
	is := func(begin string) bool { return strings.HasPrefix(string(head), begin) }
	switch {
	case is("\xff\xfe\x00\x00"), is("\x00\x00\xfe\xff"), is("{\x00\x00\x00"), is("\x00\x00\x00{"):
		return fmt.Errorf("transcript: %s is UTF-32: %w", f.Path, ErrEncoding)
	case is("\xff\xfe"), is("\xfe\xff"), is("{\x00"), is("\x00{"):
		return fmt.Errorf("transcript: %s is UTF-16: %w", f.Path, ErrEncoding)
	}
	return nil
}

// begin sets the start to the first mark that fits.
func (f *File) begin(marks []Mark) {
	if i := slices.IndexFunc(marks, f.fits); i >= 0 {
		f.start = marks[i]
	}
}

// Head gives the first bytes of the content, at most n.
func (f *File) Head(n int64) ([]byte, error) { return f.read(0, n) }

// Plain gives the plain file beside a compressed one if there is one, else path.
func Plain(path string) string {
	plain, compressed := strings.CutSuffix(path, Compressed)
	if !compressed {
		return path
	}
	if _, err := os.Stat(plain); err != nil {
		return path
	}
	return plain
}

// Start is the mark at which Values begins; zero for the file's beginning.
func (f *File) Start() Mark { return f.start }

// Report counts what Values met so far.
func (f *File) Report() Report { return f.report }

// Values gives what stands after Start, as it is now.
func (f *File) Values() iter.Seq2[Value, error] {
	return func(yield func(Value, error) bool) {
		r, err := f.source.from(f.start.Offset)
		if err != nil {
			yield(Value{}, fmt.Errorf("transcript: %s: %w", f.Path, err))
			return
		}
		defer r.Close()
		Values(r, f.start.Offset, &f.report)(func(v Value, err error) bool {
			if err != nil {
				err = fmt.Errorf("transcript: %s: %w", f.Path, err)
			}
			return yield(v, err)
		})
	}
}

// Mark gives the mark for having used everything before offset.
func (f *File) Mark(offset int64, state []byte) (Mark, error) {
	m := Mark{Path: f.Path, Offset: offset, State: state}
	head, err := f.read(0, probe)
	if err != nil {
		return Mark{}, err
	}
	m.Head, m.HeadSize = sum(head), int64(len(head))
	before, err := f.read(max(0, offset-probe), min(offset, probe))
	m.Before = sum(before)
	return m, err
}

// Close closes the file.
func (f *File) Close() error { return f.source.Close() }

// fits says whether the content is what m was taken of, or has grown from it.
func (f *File) fits(m Mark) bool {
	if m.HeadSize <= 0 || m.HeadSize > probe || m.Offset < 0 {
		return false
	}
	head, err := f.read(0, m.HeadSize)
	if err != nil || int64(len(head)) < m.HeadSize || sum(head) != m.Head {
		return false
	}
	want := min(m.Offset, probe)
	before, err := f.read(m.Offset-want, want)
	return err == nil && int64(len(before)) == want && sum(before) == m.Before
}

// read gives up to n bytes at offset, fewer only at the end of the file.
func (f *File) read(offset, n int64) ([]byte, error) {
	p := make([]byte, n)
	got, err := f.source.ReadAt(p, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("transcript: %s: %w", f.Path, err)
	}
	return p[:got], nil
}

func sum(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}

// open refuses what is no file before it opens it: a pipe would never answer.
func open(path string) (source, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: errors.New("not a regular file")}
	}
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(path, Compressed) {
		return packed{f}, nil
	}
	return plain{f}, nil
}

type plain struct{ *os.File }

func (p plain) from(offset int64) (io.ReadCloser, error) {
	return io.NopCloser(io.NewSectionReader(p, offset, 1<<62)), nil
}

// packed reads a compressed file from its beginning each time: such files are
// finished, and read once or twice.
type packed struct{ file *os.File }

func (p packed) Close() error { return p.file.Close() }

func (p packed) from(offset int64) (io.ReadCloser, error) {
	d, err := zstd.NewReader(io.NewSectionReader(p.file, 0, 1<<62),
		zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(512<<20))
	if err != nil {
		return nil, err
	}
	if _, err := io.CopyN(io.Discard, d, offset); err != nil && !errors.Is(err, io.EOF) {
		d.Close()
		return nil, err
	}
	return d.IOReadCloser(), nil
}

func (p packed) ReadAt(b []byte, offset int64) (int, error) {
	r, err := p.from(offset)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	n, err := io.ReadFull(r, b)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	return n, err
}
