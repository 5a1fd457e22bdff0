package worker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cmem/cmd/internal/api"
	"cmem/ingest/home"
	"cmem/projections/records"
	"cmem/projections/search"
	"cmem/streams"
	"cmem/streams/durable"
	"cmem/streams/streamstest"
)

// said is how many prompts the damaged folder has.
const said = 60

// filledFolder is a folder with two sessions whose node was closed.
func filledFolder(t *testing.T) home.Dir {
	dir := folder(t)
	n := open(t, dir)
	n.add(t, prompts("walrus-1", said/2)...)
	n.add(t, prompts("walrus-2", said/2)...)
	log, head := n.stream.Identity(), n.head()
	closed(t, n)
	// What the index had not written when it was closed is applied at the next open;
	// its files are to be damaged here, so all of it has to be in them.
	for range 20 {
		if indexed(t, dir, log) == head {
			return dir
		}
		closed(t, open(t, dir))
	}
	t.Fatal("the index does not reach the disk")
	return dir
}

// indexed is how far the files of the index are.
func indexed(t *testing.T, dir home.Dir, log string) streams.Position {
	t.Helper()
	x, err := search.Open(filepath.Join(dir.Read(), "search"), search.Config{Source: source{}, Version: versions(), Log: log})
	must(t, err)
	at, err := x.Checkpoint()
	must(t, err, x.Close())
	return at.Position
}

// TestNoDamageOfAReadModelNeedsAPerson goes through testdata/readmodels.tsv. For
// each damage a folder is opened and read, and another is verified. Outcomes:
//
//	kept   built again; the damaged one is beside it as .old; verify says so
//	dated  built again; the old one is beside it as .old; verify has nothing to say
//	fresh  built from nothing; verify has nothing to say
//	held   one sentence, and nothing was moved
func TestNoDamageOfAReadModelNeedsAPerson(t *testing.T) {
	if raceEnabled || testing.Short() {
		t.Skip("a hundred folders are opened")
	}
	whole := filledFolder(t)
	rows, err := os.ReadFile("testdata/readmodels.tsv")
	if err != nil {
		t.Fatal(err)
	}
	tried := map[string]bool{}
	for line := range strings.Lines(string(rows)) {
		name, outcome, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if name == "damage" {
			continue
		}
		do, ok := damages()[name]
		if !ok {
			t.Errorf("nobody knows how to do %q", name)
			continue
		}
		tried[name] = true
		t.Run(name, func(t *testing.T) {
			if outcome == "held" {
				heldIsOneSentence(t, damagedCopy(t, whole, do))
				return
			}
			readsAsBefore(t, damagedCopy(t, whole, do), model(name), outcome)
			verifyTells(t, damagedCopy(t, whole, do), model(name), outcome)
		})
	}
	for name := range damages() {
		if !tried[name] {
			t.Errorf("%q is in no row", name)
		}
	}
}

// model is the model that a damage is of.
func model(damage string) string {
	switch {
	case strings.HasPrefix(damage, "records"):
		return "records"
	case strings.HasPrefix(damage, "search"):
		return "search"
	case strings.HasPrefix(damage, "context"):
		return "context"
	}
	return "none"
}

func damagedCopy(t *testing.T, whole home.Dir, do func(*testing.T, string)) home.Dir {
	t.Helper()
	dir := folder(t)
	if err := os.CopyFS(string(dir), os.DirFS(string(whole))); err != nil {
		t.Fatal(err)
	}
	do(t, dir.Read())
	return dir
}

// readsAsBefore: a command reads all there was, whoever meets the damage, and the
// next one has nothing to mend.
func readsAsBefore(t *testing.T, dir home.Dir, model, outcome string) {
	t.Helper()
	var log bytes.Buffer
	for range 2 {
		log.Reset()
		n, err := Open(t.Context(), dir, settings(), slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		s, err := n.Stats(t.Context())
		if err != nil || s.Database.Prompts != said || s.Database.Sessions != 2 {
			t.Errorf("stats: %+v, %v", s.Database, err)
		}
		for _, m := range s.Models {
			if m.State != stateReady || m.Behind != 0 {
				t.Errorf("after a read %+v", m)
			}
		}
		if got := n.countPrompts(t); got != said {
			t.Errorf("%d prompts", got)
		}
		if got := n.countFound(t, "walrus"); got != said {
			t.Errorf("%d found", got)
		}
		if err := n.Records(func(s *records.Store) error { return s.Check(t.Context()) }); err != nil {
			t.Error(err)
		}
		closed(t, n)
	}
	if strings.Contains(log.String(), "level=WARN") || strings.Contains(log.String(), "level=ERROR") {
		t.Errorf("the second time something was still to be mended: %s", log.String())
	}
	path := map[string]string{"records": "records.db.old", "search": "search.old", "context": "context.old"}[model]
	if _, err := os.Lstat(filepath.Join(dir.Read(), path)); path != "" && (err == nil) != (outcome != "fresh") {
		t.Errorf("%s: %v", path, err)
	}
}

// verifyTells: `rebuild --verify` on a damaged folder.
func verifyTells(t *testing.T, dir home.Dir, model, outcome string) {
	t.Helper()
	n := open(t, dir)
	defer closed(t, n)
	out, err := n.Rebuild(t.Context(), api.RebuildRequest{Verify: true}, func(api.Line) {})
	if err != nil {
		t.Fatal(err)
	}
	r := out.(RebuildResult)
	if r.Equal != (outcome != "kept") || len(r.Models) != 3 {
		t.Errorf("verify says %+v", r)
	}
	for _, b := range r.Models {
		unread := b.Name == model && outcome == "kept"
		if (b.Unreadable != "") != unread || b.Equal == unread || b.After == "" || b.Upto == 0 {
			t.Errorf("verify says %+v", b)
		}
		if strings.Contains(b.Unreadable, "\n") {
			t.Errorf("the reason is %q", b.Unreadable)
		}
	}
	out, err = n.Rebuild(t.Context(), api.RebuildRequest{Verify: true}, func(api.Line) {})
	if err != nil || !out.(RebuildResult).Equal {
		t.Errorf("a second verify says %+v, %v", out, err)
	}
	if got := n.countPrompts(t); got != said {
		t.Errorf("%d prompts", got)
	}
}

func heldIsOneSentence(t *testing.T, dir home.Dir) {
	t.Helper()
	before := names(t, dir.Read())
	_, err := Open(t.Context(), dir, settings(), streamstest.Logger(t))
	if !errors.Is(err, records.ErrLocked) && !errors.Is(err, search.ErrLocked) || strings.Contains(err.Error(), "\n") {
		t.Errorf("open says %v", err)
	}
	if after := names(t, dir.Read()); after != before {
		t.Errorf("there was\n%s\nand is\n%s", before, after)
	}
}

func names(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		fmt.Fprintln(&all, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// damages by name; they are given the folder of the read models.
func damages() map[string]func(t *testing.T, read string) {
	all := map[string]func(*testing.T, string){
		"records.db: a folder": func(t *testing.T, read string) {
			must(t, os.Remove(read+"/records.db"), os.MkdirAll(read+"/records.db/x", 0o700))
		},
		"records.db: another bbolt database": anotherBolt,
		"records.db: a newer schema":         replaced("schema2", "schema9"),
		"records.db: an older schema":        replaced("schema2", "schema0"),
		"records.db: no schema":              replaced("schema2", "scheme1"),
		"records.db: of another log":         otherLog,
		"records.db: zero pages":             pages("records.db", func(p []byte) { clear(p) }, 4),
		"records.db: held by another process": func(t *testing.T, read string) {
			s, err := records.Open(read+"/records.db", records.Config{Versions: versions()})
			must(t, err)
			t.Cleanup(func() { must(t, s.Close()) })
		},
		"search: held by another process": func(t *testing.T, read string) {
			l, err := durable.Acquire(read + "/search/lock")
			must(t, err)
			t.Cleanup(func() { must(t, l.Release()) })
		},
		"search store: gone": func(t *testing.T, read string) { must(t, os.RemoveAll(storeIn(t, read))) },
		"search store: a file": func(t *testing.T, read string) {
			at := storeIn(t, read)
			must(t, os.RemoveAll(at), os.WriteFile(at, []byte("x"), 0o600))
		},
		"search.json: an older mapping": mapping(-1),
		"search.json: a newer mapping":  mapping(+1),
		"search: a file": func(t *testing.T, read string) {
			must(t, os.RemoveAll(read+"/search"), os.WriteFile(read+"/search", []byte("x"), 0o600))
		},
		"search: somebody else's files": func(t *testing.T, read string) {
			must(t, os.RemoveAll(read+"/search"), os.MkdirAll(read+"/search", 0o700), os.WriteFile(read+"/search/thesis.tex", []byte("x"), 0o600))
		},
		"context: a folder": func(t *testing.T, read string) {
			must(t, os.Remove(read+"/context"), os.MkdirAll(read+"/context/x", 0o700))
		},
		"context: another version": func(t *testing.T, read string) {
			must(t, os.WriteFile(read+"/context", []byte(`{"format":1,"version":"old"}`), 0o600))
		},
	}
	for _, what := range []string{"records.db", "search", "context", "read"} {
		all[what+": gone"] = func(t *testing.T, read string) {
			must(t, os.RemoveAll(filepath.Join(read, strings.TrimPrefix(what, "read"))))
		}
	}
	all["records.db: gone"] = func(t *testing.T, read string) { must(t, os.Remove(read+"/records.db")) }
	for what, at := range map[string]string{
		"records.db": "records.db", "search segments": "search/store-*/*.zap", "search root.bolt": "search/store-*/root.bolt",
		"search.json": "search/search.json", "context": "context",
	} {
		for how, do := range damagesOfAFile() {
			all[what+": "+how] = func(t *testing.T, read string) { eachFile(t, filepath.Join(read, at), do) }
		}
	}
	for seed := range uint64(5) {
		all[fmt.Sprintf("records.db: random pages, seed %d", seed+1)] = pages("records.db", noise(seed+1), 3)
		if seed < 2 {
			all[fmt.Sprintf("search root.bolt: random pages, seed %d", seed+1)] = pages("search/store-*/root.bolt", noise(seed+1), 1)
		}
	}
	return only(all)
}

// only leaves out the ways of damaging a file that say nothing new of it.
func only(all map[string]func(*testing.T, string)) map[string]func(*testing.T, string) {
	rows, err := os.ReadFile("testdata/readmodels.tsv")
	if err != nil {
		return nil
	}
	for name := range all {
		if !strings.Contains(string(rows), "\n"+name+"\t") && damagesOfAFile()[name[strings.Index(name, ": ")+2:]] != nil {
			delete(all, name)
		}
	}
	return all
}

func damagesOfAFile() map[string]func([]byte) []byte {
	flip := func(b []byte, at int) []byte { b[at] ^= 0x55; return b }
	return map[string]func([]byte) []byte{
		"4 KiB of noise":                 func([]byte) []byte { b := make([]byte, 4096); noise(7)(b); return b },
		"noise":                          func(b []byte) []byte { noise(8)(b); return b },
		"0 bytes":                        func([]byte) []byte { return nil },
		"0 bytes each":                   func([]byte) []byte { return nil },
		"half of it":                     func(b []byte) []byte { return b[:len(b)/2] },
		"half of each":                   func(b []byte) []byte { return b[:len(b)/2] },
		"its first 5000 bytes":           func(b []byte) []byte { return b[:min(5000, len(b))] },
		"all zeros":                      func(b []byte) []byte { clear(b); return b },
		"text":                           func([]byte) []byte { return fmt.Appendf(nil, "%8192s", "hello") },
		"a byte flipped in each":         func(b []byte) []byte { return flip(b, len(b)/2) },
		"the last byte of each flipped":  func(b []byte) []byte { return flip(b, len(b)-1) },
		"the first byte of each flipped": func(b []byte) []byte { return flip(b, 0) },
		"gone":                           func([]byte) []byte { return gone },
	}
}

// gone stands for no file.
var gone = []byte("gone")

func eachFile(t *testing.T, glob string, do func([]byte) []byte) {
	t.Helper()
	files, err := filepath.Glob(glob)
	if err != nil || len(files) == 0 {
		t.Fatalf("no %s: %v", glob, err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		must(t, err)
		if b = do(b); bytes.Equal(b, gone) {
			must(t, os.Remove(f))
			continue
		}
		must(t, os.WriteFile(f, b, 0o600))
	}
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func noise(seed uint64) func([]byte) {
	r := rand.New(rand.NewPCG(seed, 1))
	return func(p []byte) {
		for i := range p {
			p[i] = byte(r.Uint32())
		}
	}
}

// pages spoils every page but the two that say what the file is, one of each of
// the last few kept.
func pages(glob string, spoil func([]byte), every int) func(*testing.T, string) {
	return func(t *testing.T, read string) {
		page := os.Getpagesize()
		eachFile(t, filepath.Join(read, glob), func(b []byte) []byte {
			for at := 2 * page; at+page <= len(b); at += every * page {
				spoil(b[at : at+page])
			}
			return b
		})
	}
}

// replaced changes bytes of the file in place.
func replaced(from, to string) func(*testing.T, string) {
	return func(t *testing.T, read string) {
		eachFile(t, read+"/records.db", func(b []byte) []byte {
			if !bytes.Contains(b, []byte(from)) {
				t.Errorf("%q is nowhere in the file", from)
			}
			return bytes.ReplaceAll(b, []byte(from), []byte(to))
		})
	}
}

// anotherBolt: search keeps its own database of the same kind.
func anotherBolt(t *testing.T, read string) {
	files, err := filepath.Glob(read + "/search/store-*/root.bolt")
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	b, err := os.ReadFile(files[0])
	must(t, err, os.WriteFile(read+"/records.db", b, 0o600))
}

func otherLog(t *testing.T, read string) {
	must(t, os.Remove(read+"/records.db"))
	s, err := records.Open(read+"/records.db", records.Config{Versions: versions(), Log: "another"})
	must(t, err)
	must(t, s.Apply(nil, streams.Checkpoint{Log: "another", Position: 3}), s.Close())
}

func mapping(by int) func(*testing.T, string) {
	return func(t *testing.T, read string) {
		eachFile(t, read+"/search/search.json", func(b []byte) []byte {
			return bytes.Replace(b, fmt.Appendf(nil, `"format":%d`, search.Format), fmt.Appendf(nil, `"format":%d`, search.Format+by), 1)
		})
	}
}

func storeIn(t *testing.T, read string) string {
	t.Helper()
	all, err := filepath.Glob(read + "/search/store-*")
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	return all[0]
}

// TestAWorkerMendsWhatIsDamagedUnderIt truncates the records of a running worker,
// which has them mapped into memory.
func TestAWorkerMendsWhatIsDamagedUnderIt(t *testing.T) {
	dir := filledFolder(t)
	serve(t, dir, settings())
	c := socketClient(dir)
	await(t, c, func(s api.Stats) bool { return s.Phase.Phase == api.PhaseReady && s.Database.Prompts == said })
	must(t, os.Truncate(filepath.Join(dir.Read(), "records.db"), int64(2*os.Getpagesize())))
	await(t, c, func(s api.Stats) bool {
		for _, m := range s.Models {
			if m.State == stateFailed {
				t.Errorf("%+v", m)
			}
		}
		return s.Database.Prompts == said && s.Models[0].State == stateReady && s.Models[0].Reason != ""
	})
	res, err := c.Get("http://localhost/api/search?query=walrus&format=json")
	must(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK || !bytes.Contains(body, []byte("walrus")) {
		t.Errorf("search says %d %s, %v", res.StatusCode, body, err)
	}
}

// await asks for the stats until they are as wished; no answer may fail.
func await(t *testing.T, c *http.Client, yes func(api.Stats) bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); <-tick.C {
		res, err := c.Get("http://localhost/api/stats")
		must(t, err)
		var s api.Stats
		err = json.NewDecoder(res.Body).Decode(&s)
		must(t, err, res.Body.Close())
		if res.StatusCode != http.StatusOK {
			t.Fatalf("stats says %d", res.StatusCode)
		}
		if yes(s) {
			return
		}
	}
	t.Fatal("it never came")
}
