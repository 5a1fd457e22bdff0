package ingest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cmem/ingest/filter"
	"cmem/ingest/home"
	"cmem/ingest/host"
	"cmem/ingest/redact"
	"cmem/ingest/transcript"
	"cmem/streams"
	"cmem/streams/envelope"
	"cmem/streams/streamstest"
)

func follower(t testing.TB, i *Ingester, marks string) *Follower {
	t.Helper()
	book, err := transcript.NewBook(transcript.Dir(marks))
	if err != nil {
		t.Fatal(err)
	}
	r, _ := redact.New(noSettings)
	return NewFollower(FollowerConfig{
		Book: book, Detect: host.Detect, Add: i.Add, Logger: streamstest.Logger(t),
		Transcriber: TranscriberConfig{Redactor: r, Filter: filter.New(noSettings, home.Dir(t.TempDir()))},
	})
}

func follow(t testing.TB, f *Follower, path string) Followed {
	t.Helper()
	got, err := f.Read(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// testStartedAgain: three starts read nothing twice; without marks all is read
// again and held.
func testStartedAgain(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(faults, "dup-03.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path, marks := filepath.Join(dir, claudeSession+".jsonl"), filepath.Join(dir, "marks")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	l := streamstest.New(t)
	for start := range 3 {
		got := follow(t, follower(t, newIngester(t, l, &memoryTable{}), marks), path)
		if want := 10 * (1 - min(start, 1)); got.Added != want || got.Held != 0 {
			t.Errorf("start %d: %+v, want %d added", start, got, want)
		}
	}
	if err := os.RemoveAll(marks); err != nil {
		t.Fatal(err)
	}
	got := follow(t, follower(t, newIngester(t, l, &memoryTable{}), marks), path)
	if got.Added != 0 || got.Held != 10 {
		t.Errorf("without marks: %+v, want 10 held", got)
	}
	if n := len(streamstest.Records(t, l, 0)); n != 10 {
		t.Errorf("the log has %d records, want 10", n)
	}
}

// TestFollowedInPieces: a file that grows byte by byte across line ends, with a
// new process each time, gives what reading it whole gives.
func TestFollowedInPieces(t *testing.T) {
	for _, name := range []string{"claude-code/g01-claude-code.jsonl", "codex/g12-codex.jsonl"} {
		data, err := os.ReadFile("../testdata/transcripts/" + name)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		path, marks := filepath.Join(dir, filepath.Base(name)), filepath.Join(dir, "marks")
		l := streamstest.New(t)
		for at := 0; at < len(data); at += max(1, len(data)/37) {
			if err := os.WriteFile(path, data[:at], 0o600); err != nil {
				t.Fatal(err)
			}
			follow(t, follower(t, newIngester(t, l, &memoryTable{}), marks), path)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		follow(t, follower(t, newIngester(t, l, &memoryTable{}), marks), path)
		want, _ := envelopesOf(t, path, noSettings)
		got := streamstest.Records(t, l, 0)
		if len(got) != len(want) {
			t.Fatalf("%s: %d records, want %d", name, len(got), len(want))
		}
		for i := range got {
			if got[i].Envelope.ID != want[i].ID {
				t.Errorf("%s: record %d is %s, want %s", name, i, got[i].Envelope.ID, want[i].ID)
			}
		}
	}
}

func TestTheMarkWaitsForTheLog(t *testing.T) {
	path, marks := transcriptOf(t, claudeSession+".jsonl", said(1, "one"), said(2, "two")), t.TempDir()
	l := &brokenLog{Log: streamstest.New(t), after: errors.New("saved, and not told")}
	_, err := follower(t, newIngester(t, l, &memoryTable{}), marks).Read(t.Context(), path)
	if !errors.Is(err, l.after) {
		t.Fatalf("error %v", err)
	}
	l.after = nil
	got := follow(t, follower(t, newIngester(t, l, &memoryTable{}), marks), path)
	if got.Held != 2 || got.Added != 0 {
		t.Errorf("after the failure: %+v, want 2 held", got)
	}
}

func TestFollowedForkIsToldOnce(t *testing.T) {
	l := streamstest.New(t)
	f := follower(t, newIngester(t, l, &memoryTable{}), t.TempDir())
	follow(t, f, "../testdata/transcripts/claude-code/g08a-claude-code.jsonl")
	follow(t, f, "../testdata/transcripts/claude-code/g08b-claude-code.jsonl")
	forks := 0
	for _, r := range streamstest.Records(t, l, streams.Position(0)) {
		if r.Envelope.Type == envelope.SessionForked {
			forks++
		}
	}
	if forks != 1 {
		t.Errorf("%d forks told, want 1", forks)
	}
}

func TestAFileOfNoHostIsPassedOver(t *testing.T) {
	path := transcriptOf(t, "notes.jsonl", `{"a":1}`, strings.Repeat("x", 10))
	got := follow(t, follower(t, newIngester(t, streamstest.New(t), &memoryTable{}), t.TempDir()), path)
	if got != (Followed{}) {
		t.Errorf("got %+v", got)
	}
}
