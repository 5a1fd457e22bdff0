package worker

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cmem/cmd/internal/api"
	"cmem/cmd/internal/config"
	"cmem/ingest/home"
	"cmem/ingest/identity"
	"cmem/ingest/spool"
	"cmem/replay"
	"cmem/streams/streamstest"
)

// transcript holds records whose names need the key: they have no id of their own.
func transcript(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "k.jsonl")
	var lines strings.Builder
	for i := range 3 {
		fmt.Fprintf(&lines, `{"type":"queue-operation","operation":"enqueue","timestamp":"2026-01-02T03:0%d:00Z","sessionId":"k-1","content":"walrus %d"}`+"\n", i, i)
	}
	must(t, os.WriteFile(path, []byte(lines.String()), 0o600))
	return path
}

func (n *Node) replayed(t *testing.T, r api.ReplayRequest) (replay.Counts, error) {
	t.Helper()
	r.Host = "claude-code"
	out, err := n.Replay(t.Context(), r, func(api.Line) {})
	if err != nil {
		return replay.Counts{}, err
	}
	result := out.(ReplayResult)
	if result.Failed() > 0 {
		t.Fatal(result.Files[0].Error)
	}
	return result.Total, nil
}

func hasNote(t *testing.T, n *Node, part string) bool {
	t.Helper()
	s, err := n.Stats(t.Context())
	must(t, err)
	return slices.ContainsFunc(s.Notes, func(note string) bool { return strings.Contains(note, part) })
}

const putBack = "put id.key back from a backup"

// keyLost is a folder with one replayed transcript, whose key is then taken away,
// or replaced as the next hook would do it.
func keyLost(t *testing.T, replaced bool) (dir home.Dir, key []byte, path string) {
	t.Helper()
	dir, path = folder(t), transcript(t)
	n := open(t, dir)
	got, err := n.replayed(t, api.ReplayRequest{Paths: []string{path}})
	if err != nil || got.New != 3 {
		t.Fatalf("%+v, %v", got, err)
	}
	if hasNote(t, n, "id.key") {
		t.Error("a key that is there is spoken of")
	}
	closed(t, n)
	key, err = os.ReadFile(dir.IDKey())
	must(t, err)
	sum, err := os.ReadFile(dir.IDKeySum())
	if err != nil || bytes.Contains(sum, key) || len(sum) != 17 {
		t.Errorf("id.key.sum is %q, %v", sum, err)
	}
	must(t, os.Remove(dir.IDKey()))
	if replaced {
		_, err := identity.LoadKey(dir.IDKey())
		must(t, err)
	}
	return dir, key, path
}

func TestALostKeyIsSaidAndReplayRefuses(t *testing.T) {
	for _, replaced := range []bool{false, true} {
		t.Run(fmt.Sprintf("replaced %v", replaced), func(t *testing.T) {
			dir, key, path := keyLost(t, replaced)
			var log bytes.Buffer
			n, err := Open(t.Context(), dir, settings(), slog.New(slog.NewTextHandler(&log, nil)))
			must(t, err)
			head := n.head()
			if !hasNote(t, n, putBack) || !strings.Contains(log.String(), putBack) {
				t.Errorf("nothing is said; the log has %s", log.String())
			}
			if _, err := os.Stat(dir.IDKey()); !replaced && err == nil {
				t.Error("looking made a new key")
			}
			for _, dry := range []bool{false, true} {
				_, err = n.replayed(t, api.ReplayRequest{Paths: []string{path}, DryRun: dry})
				var e *api.Error
				if !errors.As(err, &e) || e.Code != api.OtherKey || !strings.Contains(e.Message, putBack) || !strings.Contains(e.Message, "--new-key") {
					t.Errorf("replay says %v", err)
				}
			}
			if n.head() != head {
				t.Error("something went into the log")
			}
			// Put back while the node is open, all is well at once.
			must(t, os.WriteFile(dir.IDKey(), key, 0o600))
			got, err := n.replayed(t, api.ReplayRequest{Paths: []string{path}})
			if err != nil || got.New != 0 || got.Held != 3 || hasNote(t, n, "id.key") {
				t.Errorf("with the key put back %+v, %v", got, err)
			}
			closed(t, n)
		})
	}
}

func TestANewKeyCanBeWanted(t *testing.T) {
	dir, key, path := keyLost(t, true)
	n := open(t, dir)
	if _, err := n.replayed(t, api.ReplayRequest{Paths: []string{path}, DryRun: true, NewKey: true}); err != nil || !hasNote(t, n, putBack) {
		t.Errorf("after a dry run the new key is taken for known: %v", err)
	}
	got, err := n.replayed(t, api.ReplayRequest{Paths: []string{path}, NewKey: true})
	if err != nil || got.New != 3 || hasNote(t, n, putBack) {
		t.Errorf("%+v, %v", got, err)
	}
	closed(t, n)
	n = open(t, dir)
	if hasNote(t, n, putBack) {
		t.Error("a key that was wanted is still spoken of")
	}
	closed(t, n)
	// The old one named what is in the log too.
	must(t, os.WriteFile(dir.IDKey(), key, 0o600))
	n = open(t, dir)
	defer closed(t, n)
	if got, err := n.replayed(t, api.ReplayRequest{Paths: []string{path}}); err != nil || got.New != 0 {
		t.Errorf("with the old key %+v, %v", got, err)
	}
}

// TestWithoutASumTheKeyIsTakenForGranted: folders from before the file.
func TestWithoutASumTheKeyIsTakenForGranted(t *testing.T) {
	dir, key, _ := keyLost(t, false)
	must(t, os.Remove(dir.IDKeySum()))
	n := open(t, dir)
	if !hasNote(t, n, putBack) {
		t.Error("a key that is gone is not spoken of")
	}
	closed(t, n)
	n = open(t, dir)
	if !hasNote(t, n, putBack) {
		t.Error("the second time it is forgotten")
	}
	closed(t, n)
	must(t, os.WriteFile(dir.IDKey(), key, 0o600))
	for range 2 {
		n = open(t, dir)
		if hasNote(t, n, "id.key") {
			t.Error("a key that was put back is spoken of")
		}
		closed(t, n)
	}
}

func TestAnEmptyLogTakesAnyKey(t *testing.T) {
	dir := folder(t)
	closed(t, open(t, dir))
	must(t, os.Remove(dir.IDKey()))
	n := open(t, dir)
	defer closed(t, n)
	if hasNote(t, n, "id.key") {
		t.Error("a new folder's key is spoken of")
	}
}

// TestSpoolFilesKeepTheirIDsWithoutTheKey: they were named by the hook.
func TestSpoolFilesKeepTheirIDsWithoutTheKey(t *testing.T) {
	dir, _, _ := keyLost(t, true)
	e := prompts("walrus-1", 1)[0]
	e.ID = "claude-code/UserPromptSubmit/0123456789abcdef0123456789abcdef@7"
	must(t, spool.Make(dir.Spool()))
	_, err := spool.Put(dir.Spool(), e)
	must(t, err)
	n := open(t, dir)
	defer closed(t, n)
	held, _, err := (table{n.records}).Lookup([]string{e.ID})
	if err != nil || len(held) != 1 || !held[0].OK {
		t.Errorf("the log has %+v, %v", held, err)
	}
}

func TestAWorkerStartsWithSettingsThatCannotBeUsedAndSaysSo(t *testing.T) {
	dir := folder(t)
	must(t, dir.Make(), os.WriteFile(dir.Config(), []byte(`{"redact":[{"kind":"badge","pattern":"B-("}]}`), 0o600))
	cfg, _, err := config.Load(dir.Config(), nil)
	if err == nil {
		t.Fatal("the pattern is taken for a good one")
	}
	cfg.ReserveMB, cfg.TCP = -1, false
	n, err := Open(t.Context(), dir, cfg, streamstest.Logger(t))
	must(t, err)
	defer closed(t, n)
	if !hasNote(t, n, `config.json:1: redact pattern "B-(" of kind "badge" cannot be used`) {
		t.Error("status does not say it")
	}
}
