package streams

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"cmem/streams/durable"
)

// Net is a copy of the stream's folder that a start left, see Open.
type Net struct {
	Dir  string
	Made time.Time
	Ends Position // as far as its files say
}

// Nets lists the nets of the log in dir that hold anything, newest first, also of a
// log that cannot be opened.
func Nets(dir string) ([]Net, error) {
	l := layout{dir}
	numbers, err := l.listNets()
	if err != nil {
		return nil, err
	}
	var all []Net
	for _, n := range slices.Backward(numbers) {
		path := filepath.Join(l.nets(), strconv.Itoa(n))
		ends, err := endOf(path)
		if err != nil || ends == 0 {
			continue
		}
		net := Net{Dir: path, Ends: Position(ends)}
		if info, err := os.Stat(path); err == nil {
			net.Made = info.ModTime()
		}
		all = append(all, net)
	}
	return all, nil
}

// endOf is the highest sequence in the newest blocks of a stream's folder.
func endOf(stream string) (uint64, error) {
	var s survey
	blocks, err := blocksIn(stream)
	if err != nil {
		return 0, err
	}
	for _, name := range slices.Backward(blocks) {
		if err := s.read(filepath.Join(stream, "msgs", name)); err != nil || s.last > 0 {
			return s.last, err
		}
	}
	return 0, nil
}

// RestoreNet puts the stream's folder of the log in dir back from a net where it is
// gone. It does nothing where the log still has a block, and leaves the net as it
// is. What was appended after the net was made is missing: Open then needs Accept.
// On an error the log is as it was.
func RestoreNet(dir string, net Net) (err error) {
	lock, err := durable.Acquire(layout{dir}.lock())
	if err != nil {
		return fmt.Errorf("restore the log: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	l := layout{dir}
	if l.hasBlocks() {
		return fmt.Errorf("restore the log: %s has blocks already", l.stream())
	}
	temp, err := os.MkdirTemp(l.dir, durable.TempPattern)
	if err != nil {
		return fmt.Errorf("restore the log: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	if err := copyStream(filepath.Join(temp, streamName), net.Dir, true); err != nil {
		return fmt.Errorf("restore the log: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(l.stream()), 0o700); err != nil {
		return fmt.Errorf("restore the log: %w", err)
	}
	durable.Reached("log.restored")
	if err := durable.Failpoint("net.restore"); err != nil {
		return fmt.Errorf("restore the log: %w", err)
	}
	return errors.Join(l.moveAway(temp), os.Rename(filepath.Join(temp, streamName), l.stream()),
		durable.SyncDir(filepath.Dir(l.stream())), durable.Failpoint("net.restored"))
}

// moveAway puts what is left of the stream's folder, which has no block, where it
// is removed with the rest.
func (l layout) moveAway(to string) error {
	err := os.Rename(l.stream(), filepath.Join(to, "left"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// CopyTo copies the log in dir, which must not be open, to a new folder on the same
// disk: old blocks, which nobody writes to any more, as hard links. Evidence stays
// behind.
func CopyTo(to, dir string) (err error) {
	from := layout{dir}
	lock, err := durable.Acquire(from.lock())
	if err != nil {
		return fmt.Errorf("copy the log: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	if err := os.MkdirAll(filepath.Dir(layout{to}.stream()), 0o700); err != nil {
		return fmt.Errorf("copy the log: %w", err)
	}
	for _, path := range []string{from.identity(), from.clean()} {
		err := copyFile(filepath.Join(to, filepath.Base(path)), path, false)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("copy the log: %w", err)
		}
	}
	if _, err := os.Stat(from.stream()); err == nil {
		if err := copyStream(layout{to}.stream(), from.stream(), false); err != nil {
			return fmt.Errorf("copy the log: %w", err)
		}
	}
	nets, err := from.listNets()
	for _, n := range nets {
		name := strconv.Itoa(n)
		err = errors.Join(err, copyStream(filepath.Join(layout{to}.nets(), name), filepath.Join(from.nets(), name), false))
	}
	return err
}
