// Package archtest guards the house: which room may import which, which
// library belongs to whom, and where no clock may be read. The rules are those
// of docs/ARCHITECTURE.md; each failure names the file and the rule.
package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const root = "../../.."

// source is one Go file: dir is its package's folder, slash-separated from the root.
type source struct {
	path, dir string
	file      *ast.File
	imports   []string
	test      bool
}

func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	fset := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && (name == "testdata" || path != root && strings.HasPrefix(name, ".")) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") {
			return nil
		}
		f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		s := source{path: filepath.ToSlash(rel), file: f, test: strings.HasSuffix(name, "_test.go")}
		s.dir = filepath.ToSlash(filepath.Dir(rel))
		for _, im := range f.Imports {
			p, _ := strconv.Unquote(im.Path.Value)
			s.imports = append(s.imports, p)
		}
		all = append(all, s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 10 {
		t.Fatalf("found only %d Go files below %s", len(all), root)
	}
	return all
}

// within says whether path is prefix or below it.
func within(path string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool {
		return path == p || strings.HasPrefix(path, p+"/")
	})
}

// rooms lists what each room may import of the module, beside itself.
var rooms = map[string][]string{
	"streams":     {},
	"ingest":      {"streams"},
	"observer":    {"streams"},
	"projections": {"streams"},
	"replay":      {"streams", "ingest", "projections"},
	"cmd":         {"streams", "ingest", "projections", "observer", "replay"},
}

func TestRoomsImportOnlyDownwards(t *testing.T) {
	for _, s := range sources(t) {
		room, _, _ := strings.Cut(s.dir, "/")
		allowed, known := rooms[room]
		if !known {
			t.Errorf("%s: %q is no room of this house", s.path, room)
			continue
		}
		for _, im := range s.imports {
			rel, ours := strings.CutPrefix(im, "cmem/")
			if ours && !within(rel, room) && !within(rel, allowed...) {
				t.Errorf("%s: %s must not import %s", s.path, room, im)
			}
		}
	}
}

// owners lists the only folders that may name a library.
var owners = map[string][]string{
	"github.com/nats-io":                 {"streams"},
	"go.etcd.io/bbolt":                   {"projections/records"},
	"github.com/blevesearch":             {"projections/search"},
	"github.com/fsnotify":                {"ingest/transcript", "ingest/spool"},
	"github.com/sashabaranov/go-openai":  {"observer/provider"},
	"github.com/anthropics":              {"observer/provider"},
	"github.com/spf13":                   {"cmd"},
	"github.com/modelcontextprotocol":    {"cmd"},
	"github.com/klauspost/compress/zstd": {"streams", "ingest/transcript"},
}

func TestEachLibraryHasOneOwner(t *testing.T) {
	for _, s := range sources(t) {
		for _, im := range s.imports {
			for lib, dirs := range owners {
				if within(im, lib) && !within(s.dir, dirs...) {
					t.Errorf("%s: only %v may import %s", s.path, dirs, im)
				}
			}
		}
	}
}

// plain are the packages that the hook publisher links: standard library and
// each other only, because every import costs its start.
var plain = []string{
	"streams/envelope", "streams/event", "streams/durable",
	"ingest/home", "ingest/identity", "ingest/redact", "ingest/filter", "ingest/project",
	"ingest/hook", "ingest/spool", "ingest/host", "ingest/internal", "cmd/cmem-hook",
}

// notPlain are sub-packages of the above that the publisher does not link.
var notPlain = []string{"ingest/spool/drain"}

func TestPublisherPackagesAreStandardLibrary(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || !within(s.dir, plain...) || within(s.dir, notPlain...) {
			continue
		}
		for _, im := range s.imports {
			rel, ours := strings.CutPrefix(im, "cmem/")
			first, _, _ := strings.Cut(im, "/")
			switch {
			case ours && within(rel, plain...) && !within(rel, notPlain...):
			case !ours && !strings.Contains(first, "."):
				if within(im, "net/http", "net/rpc", "crypto/tls", "encoding/gob", "html/template", "text/template", "testing") {
					t.Errorf("%s: the publisher must not link %s", s.path, im)
				}
			default:
				t.Errorf("%s: the publisher must not link %s", s.path, im)
			}
		}
	}
}

// pure are the packages whose result depends on their input alone.
var pure = []string{"projections", "observer/rules", "ingest/host", "streams/event", "replay"}

// impure are imports that would let the world in.
var impure = []string{"net", "math/rand", "crypto/rand", "os/exec", "os/user", "os/signal"}

// clock are the names of package time that read or wait for it.
var clock = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick", "Local"}

func TestPureRoomsReadNoClockAndOpenNoSocket(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || !within(s.dir, pure...) || within(s.dir, "projections/projectiontest") {
			continue
		}
		for _, im := range s.imports {
			if within(im, impure...) {
				t.Errorf("%s: a pure room must not import %s", s.path, im)
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := sel.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(clock, sel.Sel.Name) {
					t.Errorf("%s: a pure room must not name time.%s", s.path, sel.Sel.Name)
				}
			}
			return true
		})
	}
}

func TestTopLevelStaysAsItIs(t *testing.T) {
	allowed := []string{
		"cmd", "streams", "projections", "ingest", "observer", "replay", "testdata",
		"go.mod", "go.sum", "Makefile", "README.md", "docs", "LICENSE", "CHANGELOG.md", "bin",
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") && !slices.Contains(allowed, e.Name()) {
			t.Errorf("%s does not belong at the top", e.Name())
		}
	}
}
