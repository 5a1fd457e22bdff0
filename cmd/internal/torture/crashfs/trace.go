package crashfs

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Calls are the system calls that strace has to write down (-e trace=…).
const Calls = "openat,open,creat,write,pwrite64,writev,pwritev,pwritev2,ftruncate,truncate,fallocate,lseek," +
	"rename,renameat,renameat2,link,linkat,symlink,symlinkat,unlink,unlinkat,mkdir,mkdirat,rmdir," +
	"fsync,fdatasync,msync,sync_file_range,mmap,copy_file_range,sendfile,splice"

// Moment is just before something was synced, or the end of the trace.
type Moment struct {
	Number int
	Call   string // what comes next, "" at the end
	Said   string // all that was written by then to the file beside the folder, see ReadTrace
}

// ReadTrace replays what strace wrote (-f -y -xx -s with no limit) on the folder
// dir, which was empty, and calls each just before each sync and at the end. What
// processes wrote to the file <dir>.said in the meantime is what they told the
// world: it can only be told after it was true. An error of each ends it.
func ReadTrace(trace io.Reader, dir string, each func(*Disk, Moment) error) error {
	r := &replay{disk: NewDisk(dir), open: map[handle]*opened{}}
	said := &replay{disk: NewDisk(dir + ".said"), open: map[handle]*opened{}}
	t := &reader{in: bufio.NewReaderSize(trace, 1<<20), begun: map[string]string{}}
	m := Moment{}
	var told strings.Builder
	for {
		c, err := t.next()
		if errors.Is(err, io.EOF) {
			m.Call, m.Said = "", told.String()
			return each(r.disk, m)
		}
		if err != nil {
			return err
		}
		if r.flushes(c) {
			_, path := c.descriptor(0)
			m.Call, m.Said = c.name+" "+strings.TrimPrefix(path, dir), told.String()
			if err := each(r.disk, m); err != nil {
				return err
			}
			m.Number++
		}
		if err := r.apply(c); err != nil {
			return fmt.Errorf("line %d: %w", t.line, err)
		}
		if _, path := c.descriptor(0); c.name == "write" && path == said.disk.dir && c.result > 0 {
			told.WriteString(c.text(1))
		}
	}
}

// reader joins calls that others interrupted.
type reader struct {
	in    *bufio.Reader
	line  int
	begun map[string]string // thread → the beginning of its call
}

func (t *reader) next() (call, error) {
	for {
		text, err := t.in.ReadString('\n')
		if text == "" && err != nil {
			return call{}, err
		}
		t.line++
		thread, rest, ok := strings.Cut(strings.TrimRight(text, "\n"), " ")
		if !ok {
			continue
		}
		rest = strings.TrimLeft(rest, " ")
		if begin, ok := strings.CutSuffix(rest, " <unfinished ...>"); ok {
			t.begun[thread] = begin
			continue
		}
		if after, ok := strings.CutPrefix(rest, "<... "); ok {
			_, end, _ := strings.Cut(after, " resumed>")
			rest = t.begun[thread] + end
			delete(t.begun, thread)
		}
		c, ok, err := parseCall(rest)
		if err != nil {
			return call{}, fmt.Errorf("line %d: %w", t.line, err)
		}
		if ok {
			return c, nil
		}
	}
}
