package acceptance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"cmem/cmd/internal/api"
	"cmem/cmd/internal/worker"
	"cmem/projections/projectiontest"
)

// world gives random events of real sessions under fresh names, so that each
// round is sessions of its own.
type world struct {
	h      *house
	rng    *rand.Rand
	hooks  [][2]string // host, file
	files  []string
	rounds int
	given  int
}

func newWorld(h *house, seed uint64) *world {
	w := &world{h: h, rng: rand.New(rand.NewPCG(seed, 7))}
	for _, row := range table(h.t, filepath.Join(testdata, "clients/expected.tsv")) {
		for _, f := range hooksOf(h.t, row["host"], row["session"]) {
			w.hooks = append(w.hooks, [2]string{row["host"], f})
		}
		w.files = append(w.files, transcriptsOf(h.t, row["host"], row["session"])...)
	}
	for _, row := range table(h.t, filepath.Join(testdata, "transcripts/EXPECTED.tsv")) {
		if ours(row["client"]) {
			w.files = append(w.files, fixture(row["client"], row["file"]))
		}
	}
	return w
}

// renamed gives the bytes with the ids of a round: sessions and tool uses are
// told apart by their first letters after a known prefix.
func (w *world) renamed(data []byte, round int) []byte {
	mark := fmt.Sprintf("%04x", round)
	for _, p := range []string{"toolu_01", "call_"} {
		data = bytes.ReplaceAll(data, []byte(p), []byte(p+mark))
	}
	for _, s := range []string{`"sessionId":"`, `"session_id":"`, `"uuid":"`, `"parentUuid":"`} {
		data = renameUUIDs(data, s, mark)
	}
	return data
}

// renameUUIDs puts mark over the first four letters of the uuid behind prefix.
func renameUUIDs(data []byte, prefix, mark string) []byte {
	out := bytes.Clone(data)
	for at := 0; ; {
		i := bytes.Index(out[at:], []byte(prefix))
		if i < 0 {
			return out
		}
		at += i + len(prefix)
		if at+36 <= len(out) && out[at+8] == '-' {
			copy(out[at:], mark)
		}
	}
}

// step does one random thing.
func (w *world) step(dir string) {
	t := w.h.t
	round := w.rng.IntN(max(1, w.rounds))
	switch n := w.rng.IntN(100); {
	case n < 70: // a hook, sometimes twice
		x := w.hooks[w.rng.IntN(len(w.hooks))]
		data, err := os.ReadFile(x[1])
		if err != nil {
			t.Fatal(err)
		}
		var named struct {
			Event string `json:"hook_event_name"`
		}
		json.Unmarshal(data, &named)
		for range 1 + w.rng.IntN(2) {
			w.h.hook(x[0], named.Event, w.renamed(data, round))
			w.given++
		}
	case n < 95: // a transcript, cut somewhere
		data, err := os.ReadFile(w.files[w.rng.IntN(len(w.files))])
		if err != nil {
			t.Fatal(err)
		}
		data = w.renamed(data, round)
		path := filepath.Join(dir, fmt.Sprintf("%04x-%d.jsonl", round, w.given))
		if err := os.WriteFile(path, data[:len(data)/2+w.rng.IntN(len(data)/2)], 0o600); err != nil {
			t.Fatal(err)
		}
		w.given += w.h.replay(path).Total.Values
	default:
		w.rounds++
		w.h.reopen()
	}
}

// TestRebuildGivesEqualDigestsAfterRandomEvents: hooks, transcripts, duplicates,
// reorderings and restarts, 10,000 events and more, twice; then every read model
// is built again from the log, beside the old ones and after they were deleted.
func TestRebuildGivesEqualDigestsAfterRandomEvents(t *testing.T) {
	for _, seed := range []uint64{1, 2} {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			w := newWorld(h, seed)
			dir := t.TempDir()
			for w.given < 10_000 {
				w.step(dir)
			}
			h.reopen()
			verify(t, h)
			before, text := h.digest(), h.dump()
			h.close()
			for _, d := range []string{h.dir.Read(), filepath.Join(string(h.dir), "context")} {
				if err := os.RemoveAll(d); err != nil {
					t.Fatal(err)
				}
			}
			h.open()
			if after := h.digest(); after != before {
				t.Errorf("built from nothing: %s, was %s\n%s", after, before, projectiontest.Difference(text, h.dump()))
			}
			verify(t, h)
		})
	}
}

// verify runs rebuild --verify.
func verify(t *testing.T, h *house) {
	t.Helper()
	got, err := h.node.Rebuild(context.Background(), api.RebuildRequest{Verify: true}, func(api.Line) {})
	if err != nil {
		t.Fatalf("rebuild --verify: %v", err)
	}
	r, ok := got.(worker.RebuildResult)
	if !ok || !r.Equal || len(r.Models) < 2 {
		t.Fatalf("rebuild --verify: %+v", got)
	}
	for _, m := range r.Models {
		if m.Before == "" || m.Before != m.After {
			t.Errorf("%s: %q became %q", m.Name, m.Before, m.After)
		}
	}
}
