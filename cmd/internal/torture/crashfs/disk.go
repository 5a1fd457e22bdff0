package crashfs

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Crash is what a crash does with what was not synced.
type Crash int

// The crashes; see the package.
const (
	Killed Crash = iota
	PowerCut
	NamesFirst
	BytesFirst
)

// Crashes are all of them.
var Crashes = []Crash{Killed, PowerCut, NamesFirst, BytesFirst}

func (c Crash) String() string {
	return [...]string{"killed", "power cut", "names first", "bytes first"}[c]
}

func (c Crash) keepsNames() bool { return c == Killed || c == NamesFirst }
func (c Crash) keepsBytes() bool { return c == Killed || c == BytesFirst }

// node is a file or a folder.
type node struct {
	folder  bool
	data    []byte // as written
	synced  []byte // as of the last fsync
	names   map[string]*node
	lasting map[string]*node // as of the last fsync
	parent  *node            // where it has its present name
	name    string
	rooted  bool // some name of it, and of the folders above, lasts
}

func newFolder() *node {
	return &node{folder: true, names: map[string]*node{}, lasting: map[string]*node{}}
}

// Disk is one folder under change.
type Disk struct {
	dir  string // its path in the trace
	root *node
}

// NewDisk models the folder at path dir, which is empty and lasts.
func NewDisk(dir string) *Disk {
	root := newFolder()
	root.rooted = true
	return &Disk{dir: filepath.Clean(dir), root: root}
}

// inside says whether the path is below the folder, and gives its steps.
func (d *Disk) inside(path string) ([]string, bool) {
	path = filepath.Clean(path)
	if path == d.dir {
		return nil, true
	}
	rel, ok := strings.CutPrefix(path, d.dir+"/")
	return strings.Split(rel, "/"), ok
}

// find gives the node of a path, nil if there is none.
func (d *Disk) find(path string) *node {
	steps, ok := d.inside(path)
	if !ok {
		return nil
	}
	at := d.root
	for _, s := range steps {
		if at = at.names[s]; at == nil {
			return nil
		}
	}
	return at
}

// place gives the folder that holds a path's name.
func (d *Disk) place(path string) (*node, string, error) {
	in := d.find(filepath.Dir(filepath.Clean(path)))
	if in == nil || !in.folder {
		return nil, "", fmt.Errorf("no folder for %s", path)
	}
	return in, filepath.Base(path), nil
}

// put gives n a name.
func (d *Disk) put(path string, n *node) error {
	in, name, err := d.place(path)
	if err != nil {
		return err
	}
	in.names[name] = n
	n.parent, n.name = in, name
	return nil
}

// drop takes a name away.
func (d *Disk) drop(path string) error {
	in, name, err := d.place(path)
	if err != nil {
		return err
	}
	if in.names[name] == nil {
		return fmt.Errorf("nothing at %s", path)
	}
	delete(in.names, name)
	return nil
}

// sync is fsync of n.
func (n *node) sync() {
	if n.folder {
		n.lasting = maps.Clone(n.names)
		for _, child := range n.names {
			child.rooted = true
		}
	} else {
		n.synced = bytes.Clone(n.data)
	}
	n.takeRoot()
}

// takeRoot keeps the name of what has none that lasts, and of the folders above.
func (n *node) takeRoot() {
	if n.rooted || n.parent == nil || n.parent.names[n.name] != n {
		return
	}
	n.parent.lasting[n.name] = n
	n.rooted = true
	n.parent.takeRoot()
}

// write puts b at an offset.
func (n *node) write(b []byte, at int64) {
	if end := at + int64(len(b)); end > int64(len(n.data)) {
		n.data = append(n.data, make([]byte, end-int64(len(n.data)))...)
	}
	copy(n.data[at:], b)
}

func (n *node) truncate(size int64) {
	if size <= int64(len(n.data)) {
		n.data = n.data[:size:size]
		return
	}
	n.data = append(n.data, make([]byte, size-int64(len(n.data)))...)
}

// Sum is a hash over what c leaves: equal ones need to be looked at once.
func (d *Disk) Sum(c Crash) [32]byte {
	h := sha256.New()
	d.walk(c, func(path string, n *node, data []byte) error {
		fmt.Fprintf(h, "%q %v %d ", path, n.folder, len(data))
		h.Write(data)
		return nil
	})
	return [32]byte(h.Sum(nil))
}

// Restore makes the folder as c leaves it in to, which must be empty or absent.
// Files of several names are linked, as they were.
func (d *Disk) Restore(c Crash, to string) error {
	made := map[*node]string{}
	return d.walk(c, func(path string, n *node, data []byte) error {
		at := filepath.Join(to, path)
		first, linked := made[n]
		switch {
		case n.folder:
			return os.MkdirAll(at, 0o700)
		case linked:
			return os.Link(first, at)
		}
		made[n] = at
		return os.WriteFile(at, data, 0o600)
	})
}

// Print lists what c leaves, for a person.
func (d *Disk) Print(w io.Writer, c Crash) {
	_ = d.walk(c, func(path string, n *node, data []byte) error {
		_, err := fmt.Fprintf(w, "%s\t%d of %d bytes\n", path, len(data), len(n.data))
		return err
	})
}

func (d *Disk) walk(c Crash, visit func(path string, n *node, data []byte) error) error {
	return walk(c, ".", d.root, visit)
}

func walk(c Crash, path string, n *node, visit func(string, *node, []byte) error) error {
	data := n.synced
	if c.keepsBytes() {
		data = n.data
	}
	if err := visit(path, n, data); err != nil {
		return err
	}
	names := n.lasting
	if c.keepsNames() {
		names = n.names
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if err := walk(c, filepath.Join(path, name), names[name], visit); err != nil {
			return err
		}
	}
	return nil
}
