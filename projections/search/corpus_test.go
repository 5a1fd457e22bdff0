package search

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"cmem/projections/records"
	"cmem/streams"
)

var _ Source = (*records.Store)(nil)

// memory is a Source of documents held in memory.
type memory map[records.Doc]records.Document

func (m memory) Document(d records.Doc) (records.Document, bool, error) {
	c, ok := m[d]
	c.Doc = d
	return c, ok, nil
}

// changes gives a change for each document, in order of position.
func (m memory) changes() []records.Change {
	all := make([]records.Change, 0, len(m))
	for d, c := range m {
		all = append(all, records.Change{Doc: d, Position: c.Position, Project: c.Project})
	}
	sortChanges(all)
	return all
}

// goRoot is where the go command has its distribution.
func goRoot() string {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// goText is real text: comments and code of the Go distribution, in pieces of
// about 700 bytes.
var goText = sync.OnceValue(func() []string {
	var all []string
	root := filepath.Join(goRoot(), "src")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || len(all) > 120_000 {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		for text := string(b); len(text) > 300 && !strings.Contains(rel, "tables"); {
			n := min(len(text), 650)
			if i := strings.IndexByte(text[n:], '\n'); i >= 0 {
				n += min(i, 200)
			}
			all = append(all, rel+"\n"+text[:n])
			text = text[n:]
		}
		return nil
	})
	if err != nil {
		panic(err)
	}
	return all
})

// goCorpus makes n documents of the shapes that records gives.
func goCorpus(tb testing.TB, n int) memory {
	tb.Helper()
	texts := goText()
	m := make(memory, n)
	for i := range n {
		path, text, _ := strings.Cut(texts[(i*7919)%len(texts)], "\n")
		c := records.Document{
			Position: streams.Position(i + 1), Time: time.Unix(1750000000+int64(i)*60, 0),
			Project: fmt.Sprintf("project-%d", i%17), Host: []string{"claude-code", "codex"}[i%2],
			Session: fmt.Sprintf("5e550000-0000-4000-8000-%012d", i/50),
		}
		kind := []records.DocKind{records.TextDoc, records.TurnDoc, records.ObservationDoc, records.PromptDoc}[i%4]
		title, rest, _ := strings.Cut(text, "\n")
		switch kind {
		case records.ObservationDoc:
			c.Title, c.Text, c.Type = title, rest, []string{"bugfix", "feature", "change"}[i%3]
			c.Concepts, c.Files = []string{"how-it-works"}, []string{path}
		default:
			c.Text = text
		}
		m[records.Doc{Kind: kind, ID: int64(i+1) * 1024}] = c
	}
	return m
}

// size is the bytes of all files under dir.
func size(tb testing.TB, dir string) (n int64) {
	tb.Helper()
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		i, err := d.Info()
		if err == nil {
			n += i.Size()
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return n
}
