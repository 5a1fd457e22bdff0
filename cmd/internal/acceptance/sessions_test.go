package acceptance

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cmem/ingest/transcript"
	"cmem/projections/projectiontest"
	"cmem/replay"
)

func fixture(client, name string) string {
	return filepath.Join(testdata, "transcripts", client, name)
}

// ours are the clients this tree decodes.
func ours(client string) bool { return client == "claude-code" || client == "codex" }

// factColumns are the columns that records count, by the names of the table.
func factColumns(t *testing.T, f *replay.Facts) map[string]int {
	t.Helper()
	text, _ := json.Marshal(f)
	var out map[string]int
	if err := json.Unmarshal(text, &out); err != nil || len(out) < 10 {
		t.Fatalf("facts %s: %v", text, err)
	}
	return out
}

func compare(t *testing.T, row map[string]string, got map[string]int) {
	t.Helper()
	for column, n := range got {
		if want, ok := row[column]; ok && want != "" && want != strconv.Itoa(n) {
			t.Errorf("%s: got %d, want %s", column, n, want)
		}
	}
}

// TestEverySessionGivesTheExpectedCounts replays each fixture into a folder of
// its own, twice: the counts are those of EXPECTED.tsv, and the second time
// nothing changes.
func TestEverySessionGivesTheExpectedCounts(t *testing.T) {
	files := 0
	for _, row := range table(t, filepath.Join(testdata, "transcripts/EXPECTED.tsv")) {
		if !ours(row["client"]) {
			continue
		}
		files++
		t.Run(row["file"], func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			path := fixture(row["client"], row["file"])
			r := h.replay(path)
			c := r.Files[0].Counts
			compare(t, row, factColumns(t, r.Facts))
			compare(t, row, map[string]int{
				"records": c.Values, "bytes": int(fileSize(t, path)), "copied_records": c.Copied,
				"bad_lines": c.Unreadable, "dup_records": c.Held, "sessions": sessionsOf(row, r),
			})
			if sum := c.New + c.Held + c.Conflicts + c.Skipped + c.Copied; sum != c.Values {
				t.Errorf("new %d + held %d + conflicts %d + skipped %d + copied %d = %d of %d values", c.New, c.Held, c.Conflicts, c.Skipped, c.Copied, sum, c.Values)
			}
			before := h.digest()
			again := h.replay(path)
			if n := again.Total.New + again.Total.Conflicts; n != 0 {
				t.Errorf("a second replay brought %d new values", n)
			}
			if after := h.digest(); after != before {
				t.Error("a second replay changed the records")
			}
			h.reopen()
			if after := h.digest(); after != before {
				t.Error("reopening changed the records")
			}
		})
	}
	if files < 16 {
		t.Fatalf("only %d fixtures", files)
	}
}

// sessionsOf counts the file's own sessions: a Codex file is one thread.
func sessionsOf(row map[string]string, r replay.Result) int {
	if row["client"] != "claude-code" {
		return 1
	}
	return len(r.Files[0].Sessions)
}

func fileSize(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// TestPairsOfFilesShareWhatTheyRepeat: two captures of a session, a fork, a
// sub-agent's file with its parent's history.
func TestPairsOfFilesShareWhatTheyRepeat(t *testing.T) {
	for _, row := range table(t, filepath.Join(testdata, "transcripts/EXPECTED_PAIRS.tsv")) {
		t.Run(row["files_in_order"], func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			var paths []string
			for name := range strings.SplitSeq(row["files_in_order"], " then ") {
				client := "claude-code"
				if strings.Contains(name, "codex") {
					client = "codex"
				}
				paths = append(paths, fixture(client, name))
			}
			r := h.replay(paths...)
			compare(t, row, factColumns(t, r.Facts))
			sessions := map[string]bool{}
			for _, f := range r.Files {
				for _, s := range f.Sessions {
					sessions[s] = true
				}
			}
			compare(t, row, map[string]int{"sessions": len(sessions)})
			before := h.digest()
			h.replay(paths...)
			if h.digest() != before {
				t.Error("a second replay changed the records")
			}
		})
	}
}

// TestCutAnywhereThenWholeChangesNothing grows each file through every value
// boundary and the bytes beside it and through 200 seeded offsets, replaying it
// at each, and at last whole. The records must be those of one replay.
func TestCutAnywhereThenWholeChangesNothing(t *testing.T) {
	for _, row := range table(t, filepath.Join(testdata, "transcripts/EXPECTED.tsv")) {
		if !ours(row["client"]) {
			continue
		}
		t.Run(row["file"], func(t *testing.T) {
			t.Parallel()
			path := fixture(row["client"], row["file"])
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			whole := newHouse(t)
			whole.replay(path)
			want := whole.dump()
			whole.close()

			h := newHouse(t)
			growing := filepath.Join(t.TempDir(), filepath.Base(path))
			for _, at := range offsets(t, data) {
				if err := os.WriteFile(growing, data[:at], 0o600); err != nil {
					t.Fatal(err)
				}
				h.replay(growing)
			}
			if err := os.WriteFile(growing, data, 0o600); err != nil {
				t.Fatal(err)
			}
			h.replay(growing)
			if got := h.dump(); got != want {
				t.Errorf("differs from one replay:\n%s", projectiontest.Difference(want, got))
			}
		})
	}
}

// offsets are where the file is cut, in growing order. With the race detector
// or in short mode every 16th of them is taken.
func offsets(t *testing.T, data []byte) []int {
	t.Helper()
	var out []int
	for v, err := range transcript.Values(strings.NewReader(string(data)), 0, nil) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, int(v.Next)-1, int(v.Next), int(v.Next)+1)
	}
	rng := rand.New(rand.NewPCG(1, uint64(len(data))))
	for range 200 {
		out = append(out, rng.IntN(len(data)))
	}
	slices.Sort(out)
	out = slices.Compact(out)
	out = slices.DeleteFunc(out, func(n int) bool { return n <= 0 || n >= len(data) })
	if raceEnabled || testing.Short() {
		some := out[:0:0]
		for i := 0; i < len(out); i += 16 {
			some = append(some, out[i])
		}
		return some
	}
	return out
}
