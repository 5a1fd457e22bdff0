package worker

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cmem/cmd/internal/api"
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
