package transcript

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"cmem/streams/durable"
)

// Marks keeps marks between runs, one for each path. Losing any of them costs a
// second reading and nothing else.
type Marks interface {
	// Load gives all marks that can be read. An error tells of the others.
	Load() ([]Mark, error)
	// Save replaces the mark of m.Path.
	Save(m Mark) error
	// Drop removes the mark of path, if there is one.
	Drop(path string) error
}

// Book finds the mark of a file wherever it was moved to. It is safe for
// concurrent use.
type Book struct {
	store Marks

	mu     sync.Mutex
	byPath map[string]Mark
	byHead map[string]map[string]bool // Head → paths
	sizes  map[int64]int              // HeadSize → how many marks
}

// NewBook reads the marks of store. The book is usable even if err is not nil:
// then some marks are missing.
func NewBook(store Marks) (*Book, error) {
	b := &Book{store: store, byPath: map[string]Mark{}, byHead: map[string]map[string]bool{}, sizes: map[int64]int{}}
	all, err := store.Load()
	for _, m := range all {
		b.put(m)
	}
	return b, err
}

// Open opens path at its own mark, or at the furthest one of a file with the
// same content.
func (b *Book) Open(path string) (*File, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	head, err := f.Head(probe)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	f.begin(b.candidates(f.Path, head))
	return f, nil
}

func (b *Book) candidates(path string, head []byte) []Mark {
	b.mu.Lock()
	defer b.mu.Unlock()
	if own, ok := b.byPath[path]; ok {
		return []Mark{own}
	}
	var found []Mark
	for size := range b.sizes {
		if size > int64(len(head)) || size <= 0 {
			continue
		}
		for at := range b.byHead[sum(head[:size])] {
			found = append(found, b.byPath[at])
		}
	}
	slices.SortFunc(found, func(x, y Mark) int { return cmp.Compare(y.Offset, x.Offset) })
	return found
}

func (b *Book) put(m Mark) {
	b.remove(m.Path)
	b.byPath[m.Path] = m
	if b.byHead[m.Head] == nil {
		b.byHead[m.Head] = map[string]bool{}
	}
	b.byHead[m.Head][m.Path] = true
	b.sizes[m.HeadSize]++
}

func (b *Book) remove(path string) {
	m, ok := b.byPath[path]
	if !ok {
		return
	}
	delete(b.byPath, path)
	if delete(b.byHead[m.Head], path); len(b.byHead[m.Head]) == 0 {
		delete(b.byHead, m.Head)
	}
	if b.sizes[m.HeadSize]--; b.sizes[m.HeadSize] == 0 {
		delete(b.sizes, m.HeadSize)
	}
}

// Save notes that everything of f before offset was used; state is given back
// by Start. If f went on from where another path had been and that path is
// gone, its mark goes too.
func (b *Book) Save(f *File, offset int64, state []byte) error {
	m, err := f.Mark(offset, state)
	if err != nil {
		return err
	}
	if err := b.store.Save(m); err != nil {
		return fmt.Errorf("transcript: mark of %s: %w", f.Path, err)
	}
	b.mu.Lock()
	b.put(m)
	b.mu.Unlock()
	return b.forget(f.start.Path, m.Path)
}

func (b *Book) forget(old, now string) error {
	if old == "" || old == now {
		return nil
	}
	if _, err := os.Lstat(old); !errors.Is(err, os.ErrNotExist) {
		return nil
	}
	b.mu.Lock()
	b.remove(old)
	b.mu.Unlock()
	return b.store.Drop(old)
}

// Dir keeps each mark in a file of its own, named by a hash of the path.
type Dir string

// Load reads all marks; unreadable files are named in err and left alone.
func (d Dir) Load() ([]Mark, error) {
	names, err := filepath.Glob(filepath.Join(string(d), "*.mark"))
	if err != nil {
		return nil, err
	}
	var all []Mark
	var bad error
	for _, name := range names {
		var m Mark
		data, err := os.ReadFile(name)
		if err == nil {
			err = json.Unmarshal(data, &m)
		}
		if err != nil {
			bad = errors.Join(bad, fmt.Errorf("%s: %w", name, err))
			continue
		}
		all = append(all, m)
	}
	return all, bad
}

// Save writes the mark as a file that appears whole.
func (d Dir) Save(m Mark) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return err
	}
	return durable.WriteFile(d.name(m.Path), data, 0o600)
}

// Drop removes a mark.
func (d Dir) Drop(path string) error {
	if err := os.Remove(d.name(path)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func (d Dir) name(path string) string {
	return filepath.Join(string(d), sum([]byte(path))[:32]+".mark")
}
