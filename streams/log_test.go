package streams_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"cmem/streams"
	"cmem/streams/durable"
	"cmem/streams/envelope"
	"cmem/streams/streamstest"
)

func noise(n int) []byte {
	b := make([]byte, n)
	rand.Read(b)
	return b
}

// sameEnvelopes compares what was appended with what is read.
func sameEnvelopes(t *testing.T, got []streams.Record, want []envelope.Envelope) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("read %d records, want %d", len(got), len(want))
	}
	for i := range want {
		if g, w := got[i].Envelope, want[i]; g.ID != w.ID || g.Type != w.Type || g.Subject != w.Subject ||
			!g.Time.Equal(w.Time) || !bytes.Equal(g.Body, w.Body) {
			t.Fatalf("record %d (position %d) is %q with %d bytes, want %q with %d", i, got[i].Position, g.ID, len(g.Body), w.ID, len(w.Body))
		}
	}
}

func verified(t *testing.T, l *streams.Log) streams.Report {
	t.Helper()
	r, err := l.Verify(t.Context(), nil)
	if err != nil || !r.OK() {
		t.Fatalf("verify: %+v, %v", r, err)
	}
	return r
}

func TestWhatIsAppendedIsReadBackInOrder(t *testing.T) {
	l := streamstest.New(t)
	envs := streamstest.Envelopes("s", 3000)
	var at []streams.Position
	at = append(at, streamstest.Append(t, l, envs[0])...)
	at = append(at, streamstest.Append(t, l, envs[1:4]...)...)
	at = append(at, streamstest.Append(t, l, envs[4:]...)...)
	got := streamstest.Records(t, l, 0)
	sameEnvelopes(t, got, envs)
	for i := range got {
		if got[i].Position != at[i] || at[i] != streams.Position(i+1) {
			t.Fatalf("record %d is at %d, appended at %d", i, got[i].Position, at[i])
		}
	}
	head := l.Head()
	if head.Position != 3000 || head.Chain != got[2999].Chain || head.Log != l.Identity() {
		t.Fatalf("head is %+v", head)
	}
	sameEnvelopes(t, streamstest.Records(t, l, 2990), envs[2990:])
	sameEnvelopes(t, streamstest.Records(t, l, 500), envs[500:])
	sameEnvelopes(t, streamstest.Records(t, l, 3000), nil)
	one, err := l.Get(t.Context(), 17)
	if err != nil {
		t.Fatal(err)
	}
	sameEnvelopes(t, []streams.Record{one}, envs[16:17])
	if _, err := l.Get(t.Context(), 3001); !errors.Is(err, streams.ErrNotFound) {
		t.Fatalf("get behind the head: %v", err)
	}
	if r := verified(t, l); r.Values != 3000 {
		t.Fatalf("verified %d values", r.Values)
	}
}

func TestTheLogGoesOnAfterACleanStop(t *testing.T) {
	l := streamstest.New(t)
	if o := l.Opening(); !o.Created || !o.Clean || len(o.Found) > 0 {
		t.Fatalf("new log: %+v", o)
	}
	envs := streamstest.Envelopes("s", 40)
	for i, e := range envs {
		streamstest.Append(t, l, e)
		if i%10 == 9 {
			before := l.Head()
			l = streamstest.Reopen(t, l)
			if o := l.Opening(); o.Created || !o.Clean || len(o.Found) > 0 {
				t.Fatalf("reopened log: %+v", o)
			}
			if l.Head() != before {
				t.Fatalf("head %+v became %+v", before, l.Head())
			}
		}
	}
	sameEnvelopes(t, streamstest.Records(t, l, 0), envs)
	verified(t, l)
}

func TestPartsAreJoinedAtEverySize(t *testing.T) {
	l := streamstest.New(t)
	const k = 256 << 10
	var envs []envelope.Envelope
	for i, n := range []int{0, 1, 512, 513, k - 1, k, k + 1, 2 * k, 2*k + 1, 10 << 20} {
		e := streamstest.Envelope("parts", i)
		e.Body = noise(n)
		envs = append(envs, e)
	}
	long := streamstest.Envelope("parts", 100) // compressible: one message whatever its size
	long.Body = bytes.Repeat([]byte("the same again. "), 1<<16)
	envs = append(envs, long)
	for _, e := range envs {
		streamstest.Append(t, l, e)
	}
	streamstest.Append(t, l, again(envs)...)
	want := append(envs, again(envs)...)
	records := streamstest.Records(t, l, 0)
	sameEnvelopes(t, records, want)
	for i, r := range records {
		one, err := l.Get(t.Context(), r.Position)
		if err != nil {
			t.Fatal(err)
		}
		sameEnvelopes(t, []streams.Record{one}, want[i:i+1])
		sameEnvelopes(t, streamstest.Records(t, l, r.Position), want[i+1:])
	}
	if _, err := l.Get(t.Context(), l.Head().Position-10); !errors.Is(err, streams.ErrNotFound) {
		t.Fatalf("get of a part: %v", err)
	}
	verified(t, l)
	sameEnvelopes(t, streamstest.Records(t, streamstest.Reopen(t, l), 0), want)
}

// again gives the same bodies new names.
func again(envs []envelope.Envelope) []envelope.Envelope {
	more := append([]envelope.Envelope(nil), envs...)
	for i := range more {
		more[i].ID += "/again"
	}
	return more
}

func TestBatchesAndSinglesAreEqual(t *testing.T) {
	one, many := streamstest.New(t), streamstest.New(t)
	envs := streamstest.Envelopes("s", 60)
	envs[30].Body = noise(600 << 10)
	for _, e := range envs {
		streamstest.Append(t, one, e)
	}
	streamstest.Append(t, many, envs...)
	a, b := streamstest.Records(t, one, 0), streamstest.Records(t, many, 0)
	sameEnvelopes(t, a, envs)
	sameEnvelopes(t, b, envs)
	for i := range a {
		if a[i].Position != b[i].Position {
			t.Fatalf("record %d is at %d and at %d", i, a[i].Position, b[i].Position)
		}
	}
}

func TestManyAppendAtOnce(t *testing.T) {
	l := streamstest.New(t)
	const writers, each = 16, 40
	var wg sync.WaitGroup
	errs := make(chan error, writers)
	for w := range writers {
		wg.Go(func() {
			last := streams.Position(0)
			for i := range each {
				at, err := l.Append(t.Context(), streamstest.Envelope(fmt.Sprint("w", w), i))
				if err != nil || at[0] <= last {
					errs <- fmt.Errorf("append: %v after %d, %w", at, last, err)
					return
				}
				last = at[0]
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		t.Fatal(err)
	}
	next := make(map[string]int)
	for _, r := range streamstest.Records(t, l, 0) {
		s := r.Envelope.Subject
		if want := fmt.Sprintf("test/%s/%d", s, next[s]); r.Envelope.ID != want {
			t.Fatalf("got %q, want %q", r.Envelope.ID, want)
		}
		next[s]++
	}
	if len(next) != writers || l.Head().Position != writers*each {
		t.Fatalf("%d writers, head %d", len(next), l.Head().Position)
	}
	verified(t, l)
}

func TestWaitReturnsWhenTheHeadMoves(t *testing.T) {
	l := streamstest.New(t)
	moved := make(chan error)
	go func() { moved <- l.Wait(t.Context(), 0) }()
	streamstest.Append(t, l, streamstest.Envelope("s", 1))
	if err := <-moved; err != nil {
		t.Fatal(err)
	}
	if err := l.Wait(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	go func() { moved <- l.Wait(t.Context(), 1) }()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-moved; !errors.Is(err, streams.ErrClosed) {
		t.Fatalf("wait on a closed log: %v", err)
	}
	if _, err := l.Append(t.Context(), streamstest.Envelope("s", 2)); !errors.Is(err, streams.ErrClosed) {
		t.Fatalf("append to a closed log: %v", err)
	}
	for _, err := range l.Read(t.Context(), 0) {
		if !errors.Is(err, streams.ErrClosed) {
			t.Fatalf("read of a closed log: %v", err)
		}
	}
}

func TestWeirdAttributesComeBack(t *testing.T) {
	l := streamstest.New(t)
	var envs []envelope.Envelope
	for i, s := range weird() {
		e := streamstest.Envelope("s", i)
		e.ID, e.Subject, e.Turn, e.Event = s, s, s, s
		envs = append(envs, e)
	}
	streamstest.Append(t, l, envs...)
	got := streamstest.Records(t, l, 0)
	sameEnvelopes(t, got, envs)
	for i := range got {
		if g := got[i].Envelope; g.Turn != envs[i].Turn || g.Event != envs[i].Event {
			t.Fatalf("%q came back as %q and %q", envs[i].Turn, g.Turn, g.Event)
		}
	}
	verified(t, l)
}

func weird() []string {
	return []string{"a b", "a\r\nce-type: evil", "\x00\x01\x7f", "100%", "%41", `"quoted"`, `back\slash`, "日本語", "🙂",
		"\u2028\u2029", "\ufeff", " leading", "trailing ", ">", "*", "cmem.>", "a.b.c", "ce-id", "\u200e\u202e", "\t"}
}

func TestWhatCannotBeStoredIsRefusedAlone(t *testing.T) {
	l := streamstest.New(t)
	good := streamstest.Envelope("s", 1)
	for name, c := range map[string]struct {
		spoil func(*envelope.Envelope)
		want  error
	}{
		"no id":       {func(e *envelope.Envelope) { e.ID = "" }, envelope.ErrMalformed},
		"no type":     {func(e *envelope.Envelope) { e.Type = "" }, envelope.ErrMalformed},
		"no source":   {func(e *envelope.Envelope) { e.Source = "" }, envelope.ErrMalformed},
		"broken text": {func(e *envelope.Envelope) { e.Subject = "\xff" }, envelope.ErrMalformed},
		"large":       {func(e *envelope.Envelope) { e.Origin = string(bytes.Repeat([]byte("ä"), 10<<10)) }, streams.ErrTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			e := good
			c.spoil(&e)
			if at, err := l.Append(t.Context(), e); !errors.Is(err, c.want) || len(at) > 0 {
				t.Fatalf("append gave %v, %v; want %v", at, err, c.want)
			}
		})
	}
	streamstest.Append(t, l, good)
	sameEnvelopes(t, streamstest.Records(t, l, 0), []envelope.Envelope{good})
}

func TestAReserveOfDiskIsKept(t *testing.T) {
	dir := t.TempDir()
	l, err := streams.Open(t.Context(), streams.Config{Dir: dir, Reserve: 1 << 60})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(t.Context(), streamstest.Envelope("s", 1)); !errors.Is(err, streams.ErrDiskFull) {
		t.Fatalf("append: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	streamstest.Append(t, streamstest.Open(t, dir), streamstest.Envelope("s", 1))
}

func TestOnlyTheOwnerGetsIn(t *testing.T) {
	l := streamstest.New(t)
	streamstest.Append(t, l, streamstest.Envelopes("s", 10)...)
	l = streamstest.Reopen(t, l)
	streamstest.Append(t, l, streamstest.Envelopes("s", 10)...)
	err := filepath.WalkDir(l.Dir(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == l.Dir() {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestASecondOpenerIsToldWhoHoldsIt(t *testing.T) {
	l := streamstest.New(t)
	for range 50 {
		_, err := streams.Open(t.Context(), streams.Config{Dir: l.Dir()})
		var locked *durable.LockedError
		if !errors.As(err, &locked) || !errors.Is(err, streams.ErrLocked) || locked.Holder.PID != os.Getpid() {
			t.Fatalf("second open: %v", err)
		}
	}
	streamstest.Append(t, l, streamstest.Envelope("s", 1))
	if len(streamstest.Records(t, l, 0)) != 1 {
		t.Fatal("not there")
	}
}

// tree is every file under dir and its content.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		all[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestAFolderThatIsNotOursIsLeftAlone(t *testing.T) {
	old := streamstest.New(t)
	streamstest.Append(t, old, streamstest.Envelope("s", 1))
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		files map[string]string
		want  error
	}{
		"others' files":     {map[string]string{"notes.txt": "mine"}, streams.ErrForeign},
		"broken identity":   {map[string]string{"identity.json": "{"}, streams.ErrForeign},
		"other's identity":  {map[string]string{"identity.json": `{"name":"x"}`}, streams.ErrForeign},
		"stream, no name":   {map[string]string{"jetstream/x": "1"}, streams.ErrForeign},
		"a newer version":   {map[string]string{"identity.json": `{"format":"cmem log","version":99,"log":"x"}`}, streams.ErrNewer},
		"nameless identity": {map[string]string{"identity.json": `{"format":"cmem log","version":1}`}, streams.ErrForeign},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range c.files {
				path := filepath.Join(dir, name)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			before := tree(t, dir)
			if _, err := streams.Open(t.Context(), streams.Config{Dir: dir}); !errors.Is(err, c.want) {
				t.Fatalf("open: %v, want %v", err, c.want)
			}
			if after := tree(t, dir); fmt.Sprint(after) != fmt.Sprint(before) {
				t.Fatalf("the folder was changed: %v", after)
			}
		})
	}
}

func TestAMissingStreamIsAnAlarmAndNeverMade(t *testing.T) {
	for name, remove := range map[string]string{
		"whole store":   "jetstream",
		"stream folder": "jetstream/$G/streams/cmem",
	} {
		t.Run(name, func(t *testing.T) {
			l := streamstest.New(t)
			streamstest.Append(t, l, streamstest.Envelopes("s", 5)...)
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if err := os.RemoveAll(filepath.Join(l.Dir(), filepath.FromSlash(remove))); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if _, err := streams.Open(t.Context(), streams.Config{Dir: l.Dir()}); !errors.Is(err, streams.ErrMissing) {
					t.Fatalf("open: %v", err)
				}
			}
		})
	}
}

func TestATimeKeepsItsNanoseconds(t *testing.T) {
	l := streamstest.New(t)
	e := streamstest.Envelope("s", 1)
	e.Time = time.Date(2026, 5, 6, 7, 8, 9, 123456789, time.FixedZone("", 3600))
	streamstest.Append(t, l, e)
	if got := streamstest.Records(t, l, 0)[0].Envelope.Time; !got.Equal(e.Time) {
		t.Fatalf("got %v, want %v", got, e.Time)
	}
}

// The folder of the stream is there before the stream: a first start that died
// in between has lost nothing.
func TestAFirstStartThatDiedBeforeItsStreamStartsAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	l, err := streams.Open(t.Context(), streams.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	identity := filepath.Join(dir, "identity.json")
	data, err := os.ReadFile(identity)
	if err != nil {
		t.Fatal(err)
	}
	data = bytes.Replace(data, []byte(`"stream": true`), []byte(`"stream": false`), 1)
	if err := os.WriteFile(identity, data, 0o600); err != nil {
		t.Fatal(err)
	}
	stream := filepath.Join(dir, "jetstream/$G/streams/cmem")
	for _, gone := range []string{filepath.Join(dir, "clean"), stream} {
		if err := os.RemoveAll(gone); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(stream, "msgs"), 0o700); err != nil {
		t.Fatal(err)
	}
	if l, err = streams.Open(t.Context(), streams.Config{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	streamstest.Append(t, l, streamstest.Envelopes("s", 3)...)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// A tail may begin anywhere, also in the middle of a value: that is no damage.
func TestReadingFromWithinAValueNamesNoGap(t *testing.T) {
	l := streamstest.New(t)
	envs := streamstest.Envelopes("s", 2)
	envs[0].Body = noise(1 << 20)
	at := streamstest.Append(t, l, envs...)
	for after := streams.Position(1); after < at[0]; after++ {
		if got := streamstest.Records(t, l, after); len(got) != 1 || got[0].Position != at[1] {
			t.Errorf("after %d: %d records", after, len(got))
		}
	}
	if gaps := l.Gaps(); len(gaps) > 0 {
		t.Errorf("%v", gaps)
	}
}

func TestAFolderThatWasDeletedTakesNothingMore(t *testing.T) {
	l := streamstest.New(t)
	streamstest.Append(t, l, streamstest.Envelope("s", 1))
	if err := os.RemoveAll(l.Dir()); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(t.Context(), streamstest.Envelope("s", 2)); !errors.Is(err, streams.ErrExchanged) {
		t.Errorf("append: %v", err)
	}
	other, err := streams.Open(t.Context(), streams.Config{Dir: l.Dir(), Reserve: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := l.Append(t.Context(), streamstest.Envelope("s", 2)); !errors.Is(err, streams.ErrExchanged) {
		t.Errorf("append with another log there: %v", err)
	}
}
