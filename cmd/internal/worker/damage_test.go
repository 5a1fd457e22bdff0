package worker

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cmem/cmd/internal/api"
	"cmem/ingest"
	"cmem/ingest/home"
	"cmem/projections/records"
)

// A worker that was killed and whose log was damaged meanwhile loses the one event
// that was hit, says which, and has everything else.
func TestADamagedLogIsMendedAndWhatIsGoneIsNamed(t *testing.T) {
	for name, spoil := range map[string]func(data []byte) []byte{
		"a bit": func(data []byte) []byte {
			data[bytes.Index(data, []byte("walrus number7"))] ^= 1
			return data
		},
		"the end": func(data []byte) []byte { return data[:len(data)-700] },
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t)
			n := open(t, dir)
			n.add(t, prompts("walrus-1", 20)...)
			head := n.head()
			closed(t, n)
			block := filepath.Join(dir.Log(), "jetstream", "$G", "streams", "cmem", "msgs", "1.blk")
			data, err := os.ReadFile(block)
			if err == nil {
				err = os.WriteFile(block, spoil(data), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(filepath.Join(dir.Log(), "clean")); err != nil {
				t.Fatal(err)
			}
			n = open(t, dir)
			defer closed(t, n)
			checkTold(t, n)
			if at := n.head(); at != head+1 {
				t.Errorf("the log ends at %d, was %d and one more event tells of the damage", at, head)
			}
			n.add(t, prompts("walrus-2", 3)...)
			if r, err := n.Verify(t.Context()); err != nil || !r.OK || len(r.Told) == 0 {
				t.Errorf("%+v %v", r, err)
			}
		})
	}
}

func checkTold(t *testing.T, n *Node) {
	t.Helper()
	found, err := n.Damage(t.Context())
	if err != nil || len(found) != 1 || len(found[0].Lost) == 0 || found[0].Position == 0 {
		t.Fatalf("%+v %v", found, err)
	}
	for _, l := range found[0].Lost {
		if l.First == l.Last && len(l.Names) != 1 {
			t.Errorf("%d is not named once: %+v", l.First, l)
		}
		for _, name := range l.Names {
			if name.Session != "walrus-1" || !strings.HasPrefix(name.ID, "claude-code/UserPromptSubmit/walrus-1-") || name.Time.IsZero() {
				t.Errorf("%+v", name)
			}
		}
	}
	s, err := n.Stats(t.Context())
	if err != nil || !slices.ContainsFunc(s.Notes, func(s string) bool { return strings.Contains(s, "positions lost") }) {
		t.Errorf("status does not say it: %q %v", s.Notes, err)
	}
	var told []string
	err = n.Tail(t.Context(), 5, false, func(r api.LogRecord) error { told = append(told, r.Type); return nil })
	if err != nil || !slices.Contains(told, "log.damaged") {
		t.Errorf("the log does not say it: %v %v", told, err)
	}
}

// What damage took out of the log is not held any more: brought again, by hook or
// transcript, it is taken in, once, and read models are what a rebuild makes.
func TestWhatDamageTookComesInAgainWithoutARebuild(t *testing.T) {
	dir := folder(t)
	n := open(t, dir)
	all := prompts("walrus-1", 20)
	n.add(t, all...)
	closed(t, n)
	spoilBlock(t, dir, "walrus number7")
	n = open(t, dir)
	defer closed(t, n)
	checkTold(t, n)
	results, err := n.ingester.Add(t.Context(), all...)
	if err != nil {
		t.Fatal(err)
	}
	added := 0
	for i, r := range results {
		if r.Status == ingest.Added {
			added++
			if !bytes.Contains(all[i].Body, []byte("number7")) {
				t.Errorf("%s was taken in, it was not lost", all[i].ID)
			}
		}
	}
	if added != 1 {
		t.Errorf("%d of 20 were taken in again, 1 was lost", added)
	}
	if results, err := n.ingester.Add(t.Context(), all...); err != nil || slices.ContainsFunc(results, func(r ingest.Result) bool { return r.Status != ingest.Held }) {
		t.Errorf("the third time: %v %v", results, err)
	}
	if err := n.catchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := n.Records(func(s *records.Store) error {
		c, err := s.Stats()
		if c.Prompts != 20 {
			t.Errorf("%d prompts, want 20", c.Prompts)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// spoilBlock turns a bit of the first block where text stands, and takes the mark
// of a clean stop away.
func spoilBlock(t *testing.T, dir home.Dir, text string) {
	t.Helper()
	block := filepath.Join(dir.Log(), "jetstream", "$G", "streams", "cmem", "msgs", "1.blk")
	data, err := os.ReadFile(block)
	if err == nil {
		data[bytes.Index(data, []byte(text))] ^= 1
		err = os.WriteFile(block, data, 0o600)
	}
	if err := errors.Join(err, os.Remove(filepath.Join(dir.Log(), "clean"))); err != nil {
		t.Fatal(err)
	}
}
