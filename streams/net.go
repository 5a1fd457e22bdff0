package streams

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"cmem/streams/durable"
)

// maxNets bounds how many are kept over starts that were never clean: the oldest
// and the newest ones.
const maxNets = 4

// spread makes a net before a start: the stream's folder as it is now, under
// net/<n>. Old blocks are hard links, which save them from being deleted;
// the newest block, the index and the meta files, which a start may rewrite, are
// copies. It returns n, 0 if there is no stream to save.
func (l layout) spread(sync bool) (n int, err error) {
	if _, err := os.Stat(l.stream()); errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	existing, err := l.listNets()
	if err != nil {
		return 0, err
	}
	n = 1
	if len(existing) > 0 {
		n = existing[len(existing)-1] + 1
	}
	temp := filepath.Join(l.nets(), durable.TempPattern+strconv.Itoa(n))
	if err := errors.Join(os.RemoveAll(temp), os.MkdirAll(l.nets(), 0o700)); err != nil {
		return 0, err
	}
	if err := copyStream(temp, l.stream(), sync); err != nil {
		return 0, errors.Join(err, os.RemoveAll(temp))
	}
	if err := os.Rename(temp, filepath.Join(l.nets(), strconv.Itoa(n))); err != nil {
		return 0, err
	}
	return n, l.thin(append(existing, n))
}

// copyStream copies the folder of a stream that no server has open.
func copyStream(to, stream string, sync bool) error {
	blocks, err := blocksIn(stream)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(to, "msgs"), 0o700); err != nil {
		return err
	}
	newest := ""
	if len(blocks) > 0 {
		newest = blocks[len(blocks)-1]
	}
	for _, sub := range []string{"", "msgs"} {
		entries, err := os.ReadDir(filepath.Join(stream, sub))
		if errors.Is(err, os.ErrNotExist) {
			continue // a first start died while the server made it
		}
		if err != nil {
			return err
		}
		for _, e := range entries {
			if !e.Type().IsRegular() {
				continue
			}
			from, to := filepath.Join(stream, sub, e.Name()), filepath.Join(to, sub, e.Name())
			if strings.HasSuffix(e.Name(), ".blk") && e.Name() != newest {
				err = os.Link(from, to)
			} else {
				err = copyFile(to, from, sync)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// blocks lists the names of the stream's block files, oldest first.
func (l layout) blocks() ([]string, error) { return blocksIn(l.stream()) }

func blocksIn(stream string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(stream, "msgs"))
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil, nil
		}
		return nil, err
	}
	number := func(name string) int {
		n, err := strconv.Atoi(strings.TrimSuffix(name, ".blk"))
		if err != nil {
			return -1
		}
		return n
	}
	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".blk") {
			names = append(names, e.Name())
		}
	}
	slices.SortFunc(names, func(a, b string) int { return number(a) - number(b) })
	return names, nil
}

func copyFile(to, from string, sync bool) (err error) {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dst.Close()) }()
	if _, err := io.Copy(dst, src); err != nil {
		return err
	}
	if sync {
		return dst.Sync()
	}
	return nil
}

// listNets gives the numbers of the nets, oldest first.
func (l layout) listNets() ([]int, error) {
	entries, err := os.ReadDir(l.nets())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var all []int
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return all, nil
}

// thin keeps the oldest net, which is nearest to the last known good state, and
// the newest ones.
func (l layout) thin(all []int) error {
	if len(all) <= maxNets {
		return nil
	}
	return l.removeNets(all[1 : len(all)-maxNets+1])
}

// clearNets removes every net but the given one.
func (l layout) clearNets(keep int) error {
	all, err := l.listNets()
	if err != nil {
		return err
	}
	return l.removeNets(slices.DeleteFunc(all, func(n int) bool { return n == keep }))
}

func (l layout) removeNets(all []int) error {
	var errs []error
	for _, n := range all {
		if err := os.RemoveAll(filepath.Join(l.nets(), strconv.Itoa(n))); err != nil {
			errs = append(errs, fmt.Errorf("remove net %d: %w", n, err))
		}
	}
	return errors.Join(errs...)
}

// hasBlocks says whether the stream's folder holds any message.
func (l layout) hasBlocks() bool {
	blocks, err := filepath.Glob(filepath.Join(l.stream(), "msgs", "*.blk"))
	for _, b := range blocks {
		if info, err := os.Stat(b); err != nil || info.Size() > 0 {
			return true
		}
	}
	return err != nil
}
