package crashfs

import (
	"fmt"
	"strings"
)

// opened is an open file: its own place in it, and how it was opened.
type opened struct {
	n           *node
	at          int64
	append, now bool // now: O_SYNC
}

// handle is a descriptor of some process on one file. Processes are not told
// apart: threads share descriptors, and two programs that have one file open under
// one number at once write with their own offsets or append.
type handle struct {
	n  *node
	fd string
}

// replay applies calls to a disk.
type replay struct {
	disk *Disk
	open map[handle]*opened
}

// flushes says whether the call is one after which something lasts.
func (r *replay) flushes(c call) bool {
	switch c.name {
	case "fsync", "fdatasync":
		_, path := c.descriptor(0)
		return r.disk.find(path) != nil
	case "write", "pwrite64", "writev", "pwritev":
		o := r.file(c, 0)
		return o != nil && o.now
	}
	return false
}

// file gives what a descriptor argument is open on, nil if that is not of the disk.
func (r *replay) file(c call, i int) *opened {
	fd, path := c.descriptor(i)
	n := r.disk.find(path)
	if n == nil {
		return nil
	}
	o := r.open[handle{n, fd}]
	if o == nil {
		o = &opened{n: n}
		r.open[handle{n, fd}] = o
	}
	return o
}

// apply makes the change of one call that succeeded.
func (r *replay) apply(c call) error {
	if c.result < 0 {
		return nil
	}
	switch c.name {
	case "openat", "open", "creat":
		return r.opened(c)
	case "write", "pwrite64", "writev", "pwritev":
		return r.write(c)
	case "copy_file_range":
		return r.copied(c)
	case "fsync", "fdatasync":
		if o := r.file(c, 0); o != nil {
			o.n.sync()
		}
	case "ftruncate":
		if o := r.file(c, 0); o != nil {
			o.n.truncate(c.number(1))
		}
	case "lseek":
		if o := r.file(c, 0); o != nil {
			o.at = c.result
		}
	case "mkdirat":
		return r.mkdir(c.path(0, 1))
	case "mkdir":
		return r.mkdir(c.text(0))
	case "renameat", "renameat2":
		return r.rename(c.path(0, 1), c.path(2, 3))
	case "rename":
		return r.rename(c.text(0), c.text(1))
	case "linkat":
		return r.link(c.path(0, 1), c.path(2, 3))
	case "unlinkat":
		return r.unlink(c.path(0, 1))
	case "unlink", "rmdir":
		return r.unlink(c.text(0))
	case "mmap":
		if _, path := c.descriptor(4); c.has(2, "PROT_WRITE") && c.has(3, "MAP_SHARED") && r.disk.find(path) != nil {
			return fmt.Errorf("%s is written through a mapping, which this model does not see", path)
		}
	case "fcntl", "close", "dup":
	default:
		return r.unknown(c)
	}
	return nil
}

// unknown refuses calls that may change the disk in a way the model has no words for.
func (r *replay) unknown(c call) error {
	for i := range c.args {
		_, path := c.descriptor(i)
		if r.disk.find(path) != nil {
			return fmt.Errorf("%s on %s is not modelled", c.name, path)
		}
		if _, ok := r.disk.inside(c.text(i)); ok && strings.HasPrefix(c.text(i), "/") {
			return fmt.Errorf("%s on %s is not modelled", c.name, c.text(i))
		}
	}
	return nil
}

func (r *replay) opened(c call) error {
	path, flags := c.told, 2
	if c.name != "openat" {
		flags = 1
	}
	if _, ok := r.disk.inside(path); !ok || strings.HasPrefix(path, r.disk.dir+".") {
		return nil
	}
	n := r.disk.find(path)
	if n == nil {
		if !c.has(flags, "O_CREAT") {
			return fmt.Errorf("%s was opened and is not known", path)
		}
		n = &node{}
		if err := r.disk.put(path, n); err != nil {
			return err
		}
	}
	if c.has(flags, "O_TRUNC") {
		n.truncate(0)
	}
	fd := fmt.Sprint(c.result)
	r.open[handle{n, fd}] = &opened{n: n, append: c.has(flags, "O_APPEND"), now: c.has(flags, "O_SYNC") || c.has(flags, "O_DSYNC")}
	return nil
}

func (r *replay) write(c call) error {
	o := r.file(c, 0)
	if o == nil {
		return nil
	}
	data := []byte(nil)
	if strings.HasSuffix(c.name, "v") {
		data = c.vector(1)
	} else {
		data = []byte(c.text(1))
	}
	if int64(len(data)) < c.result {
		return fmt.Errorf("%s of %d bytes was recorded with %d", c.name, c.result, len(data))
	}
	data = data[:c.result]
	at := &o.at
	if strings.HasPrefix(c.name, "p") {
		given := c.number(3)
		at = &given
	} else if o.append {
		o.at = int64(len(o.n.data))
	}
	o.n.write(data, *at)
	*at += c.result
	if o.now {
		o.n.sync()
	}
	return nil
}

// copied: copy_file_range(in, offset, out, offset, length), without offsets.
func (r *replay) copied(c call) error {
	in, out := r.file(c, 0), r.file(c, 2)
	if out == nil || c.result == 0 {
		return nil
	}
	if in == nil || c.args[1] != "NULL" || c.args[3] != "NULL" || in.at+c.result > int64(len(in.n.data)) {
		return fmt.Errorf("copy_file_range(%v) is not modelled", c.args)
	}
	out.n.write(in.n.data[in.at:in.at+c.result], out.at)
	in.at, out.at = in.at+c.result, out.at+c.result
	return nil
}

func (r *replay) mkdir(path string) error {
	if _, ok := r.disk.inside(path); !ok || r.disk.find(path) != nil {
		return nil
	}
	return r.disk.put(path, newFolder())
}

func (r *replay) rename(from, to string) error {
	n := r.disk.find(from)
	_, target := r.disk.inside(to)
	if n == nil {
		if target {
			return fmt.Errorf("%s came from outside", to)
		}
		return nil
	}
	if err := r.disk.drop(from); err != nil || !target {
		return err
	}
	return r.disk.put(to, n)
}

func (r *replay) link(from, to string) error {
	n := r.disk.find(from)
	if n == nil {
		return r.unknownName(to)
	}
	parent, name := n.parent, n.name
	if err := r.disk.put(to, n); err != nil {
		return err
	}
	n.parent, n.name = parent, name // by which fsync finds it
	return nil
}

// unlink: sockets are not made by calls that the model sees.
func (r *replay) unlink(path string) error {
	if r.disk.find(path) == nil {
		return nil
	}
	return r.disk.drop(path)
}

func (r *replay) unknownName(path string) error {
	if _, ok := r.disk.inside(path); ok {
		return fmt.Errorf("%s came from outside", path)
	}
	return nil
}
