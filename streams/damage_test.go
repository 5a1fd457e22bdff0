package streams_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"cmem/streams"
	"cmem/streams/envelope"
	"cmem/streams/streamstest"
)

// marked makes envelopes whose bodies can be found in the block files.
func marked(n int) []envelope.Envelope {
	envs := streamstest.Envelopes("s", n)
	for i := range envs {
		envs[i].Body = fmt.Appendf(nil, `{"mark":"<%06d>"}`, i)
	}
	return envs
}

// flip changes one byte in the stored body of envelope i.
func flip(t *testing.T, dir string, i int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "jetstream", "$G", "streams", "cmem", "msgs", "*.blk"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if at := bytes.Index(data, fmt.Appendf(nil, "<%06d>", i)); at >= 0 {
			data[at+1] ^= 1
			if err := os.WriteFile(f, data, 0o600); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("envelope %d is in no block", i)
}

// One flipped byte after a clean stop: the server would skip the message without a
// word; it is named, and all others are read.
func TestADamagedMessageIsNamedAndTheRestIsRead(t *testing.T) {
	const n = 2000
	for name, bad := range map[string][]int{
		"the first": {0}, "in the middle": {1000}, "the last": {n - 1}, "near the end": {n - 5},
		"a row": {700, 701, 702}, "many": {3, 500, 501, 1500, n - 2, n - 1},
	} {
		t.Run(name, func(t *testing.T) {
			l := streamstest.New(t)
			envs := marked(n)
			streamstest.Append(t, l, envs...)
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			for _, i := range bad {
				flip(t, l.Dir(), i)
			}
			l = streamstest.Open(t, l.Dir())
			records := streamstest.Records(t, l, 0)
			var want []envelope.Envelope
			damaged := make(map[int]bool)
			for _, i := range bad {
				damaged[i] = true
			}
			for i, e := range envs {
				if !damaged[i] {
					want = append(want, e)
				}
			}
			sameEnvelopes(t, records, want)
			named(t, l, bad)
			for _, i := range bad {
				if _, err := l.Get(t.Context(), streams.Position(i+1)); !errors.Is(err, streams.ErrNotFound) {
					t.Errorf("get of %d: %v", i+1, err)
				}
			}
			at := streamstest.Append(t, l, streamstest.Envelope("later", 1))
			if at[0] != n+1 {
				t.Fatalf("the next append came to %d", at[0])
			}
			if got := streamstest.Records(t, l, n); len(got) != 1 {
				t.Fatalf("%d records after it", len(got))
			}
			named(t, l, bad)
			if r, err := l.Verify(t.Context(), nil); err != nil || len(r.Gaps)+len(r.Told) == 0 || r.Values != int64(n+1-len(bad)) || len(r.Broken) > 0 {
				t.Fatalf("verify: %+v, %v", r, err)
			}
			if _, err := streams.VerifyExport(bytes.NewReader(exported(t, l, 0))); err != nil {
				t.Fatalf("the export of what is left: %v", err)
			}
		})
	}
}

// named checks that every damaged sequence is named, by Gaps or a finding, and no
// other is.
func named(t *testing.T, l *streams.Log, bad []int) {
	t.Helper()
	got := make(map[int]bool)
	for _, g := range l.Gaps() {
		for p := g.First; p <= g.Last; p++ {
			got[int(p)-1] = true
		}
	}
	findings, err := l.Findings()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		for _, lost := range f.Lost {
			for p := lost.First; p <= lost.Last; p++ {
				got[int(p)-1] = true
			}
		}
	}
	for _, i := range bad {
		if !got[i] {
			t.Errorf("position %d is not named: gaps %v, found %q", i+1, l.Gaps(), l.Opening().Found)
		}
		delete(got, i)
	}
	if len(got) > 0 {
		t.Errorf("named without need: %v", got)
	}
}

func TestADamagedPartSpoilsItsValueOnly(t *testing.T) {
	l := streamstest.New(t)
	envs := marked(3)
	body := noise(1 << 20)
	copy(body[500<<10:], "<000099>")
	envs[1].Body = body
	streamstest.Append(t, l, envs...)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	flip(t, l.Dir(), 99)
	l = streamstest.Open(t, l.Dir())
	sameEnvelopes(t, streamstest.Records(t, l, 0), []envelope.Envelope{envs[0], envs[2]})
	if r, err := l.Verify(t.Context(), nil); err != nil || len(r.Told) == 0 {
		t.Fatalf("verify: %+v, %v", r, err)
	}
	if _, err := l.Get(t.Context(), 5); !errors.Is(err, streams.ErrNotFound) {
		t.Fatalf("get: %v", err)
	}
}

func TestAnOlderCopyOfTheStreamIsFound(t *testing.T) {
	l := streamstest.New(t)
	streamstest.Append(t, l, marked(480)...)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	store, older := filepath.Join(l.Dir(), "jetstream"), filepath.Join(t.TempDir(), "older")
	if err := os.CopyFS(older, os.DirFS(store)); err != nil {
		t.Fatal(err)
	}
	l = streamstest.Open(t, l.Dir())
	streamstest.Append(t, l, streamstest.Envelopes("more", 20)...)
	if err := errors.Join(l.Close(), os.RemoveAll(store), os.CopyFS(store, os.DirFS(older))); err != nil {
		t.Fatal(err)
	}
	l = streamstest.Open(t, l.Dir())
	if o := l.Opening(); len(o.Found) == 0 || l.Head().Position != 480 {
		t.Fatalf("opening %+v, head %d", o, l.Head().Position)
	}
	sameEnvelopes(t, streamstest.Records(t, l, 0), marked(480))
}
