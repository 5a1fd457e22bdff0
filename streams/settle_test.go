package streams

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"cmem/streams/envelope"
)

var errInjected = errors.New("injected: no answer in time")

// opened gives a log whose steps fail as fault says.
func opened(t *testing.T, dir string, fault func(string) error) *Log {
	t.Helper()
	l, err := Open(t.Context(), Config{Dir: dir, Reserve: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	l.fault = fault
	return l
}

// failAt fails the given calls of a step, 1 for the first.
func failAt(step string, calls ...int) func(string) error {
	n := 0
	return func(name string) error {
		if name != step {
			return nil
		}
		n++
		for _, c := range calls {
			if c == n {
				return errInjected
			}
		}
		return nil
	}
}

func numbered(from, to int) []envelope.Envelope {
	var envs []envelope.Envelope
	for i := from; i < to; i++ {
		envs = append(envs, envelope.Envelope{ID: fmt.Sprint("id-", i), Type: envelope.HookReceived, Source: "test",
			Subject: "s", Time: time.Unix(int64(i), 0), Body: fmt.Appendf(nil, `{"n":%d}`, i)})
	}
	return envs
}

// holds checks that the log has exactly the first n envelopes, once, in order.
func holds(t *testing.T, l *Log, n int) {
	t.Helper()
	i := 0
	for r, err := range l.Read(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprint("id-", i); r.Envelope.ID != want {
			t.Fatalf("record %d is %q, want %q", i, r.Envelope.ID, want)
		}
		i++
	}
	if i != n {
		t.Fatalf("%d records, want %d", i, n)
	}
	report, err := l.Verify(t.Context(), nil)
	if err != nil || !report.OK() {
		t.Fatalf("verify: %+v, %v", report, err)
	}
}

func TestAnAppendWithoutAnswerIsSettledBySequenceChainAndIDs(t *testing.T) {
	for _, step := range []string{"append.send", "append.commit", "append.acked"} {
		for _, n := range []int{1, 2, 5, 50} {
			if step == "append.commit" && n <= singles {
				continue
			}
			t.Run(fmt.Sprintf("%s of %d", step, n), func(t *testing.T) {
				l := opened(t, t.TempDir(), nil)
				if _, err := l.Append(t.Context(), numbered(0, 3)...); err != nil {
					t.Fatal(err)
				}
				l.fault = failAt(step, 1)
				at, err := l.Append(t.Context(), numbered(3, 3+n)...)
				if err != nil || len(at) != n || at[0] != 4 {
					t.Fatalf("append gave %v, %v", at, err)
				}
				if _, err := l.Append(t.Context(), numbered(3+n, 5+n)...); err != nil {
					t.Fatal(err)
				}
				holds(t, l, 5+n)
			})
		}
	}
}

func TestAnAppendThatIsLostTwiceIsNotSaved(t *testing.T) {
	l := opened(t, t.TempDir(), failAt("append.send", 1, 2))
	at, err := l.Append(t.Context(), numbered(0, 5)...)
	if !errors.Is(err, ErrNotSaved) || errors.Is(err, ErrUnknown) || len(at) != 0 {
		t.Fatalf("append gave %v, %v", at, err)
	}
	holds(t, l, 0)
	if _, err := l.Append(t.Context(), numbered(0, 5)...); err != nil {
		t.Fatal(err)
	}
	holds(t, l, 5)
}

// While there is no room the server must not be started again, so what became of
// the append stays unknown; sent again later, it is there once.
func TestAnUnknownAppendIsSavedOnceWhenItIsSentAgain(t *testing.T) {
	for _, step := range []string{"append.send", "append.acked"} {
		t.Run(step, func(t *testing.T) {
			l := opened(t, t.TempDir(), nil)
			l.fault = func(name string) error {
				if name == step {
					l.config.Reserve = 1 << 60 // the disk is full now
					return errInjected
				}
				return nil
			}
			at, err := l.Append(t.Context(), numbered(0, 5)...)
			if !errors.Is(err, ErrUnknown) || !errors.Is(err, ErrDiskFull) || len(at) != 0 {
				t.Fatalf("append gave %v, %v", at, err)
			}
			if _, err := l.Append(t.Context(), numbered(0, 5)...); !errors.Is(err, ErrDiskFull) {
				t.Fatalf("append while still full: %v", err)
			}
			l.fault, l.config.Reserve = nil, -1
			at, err = l.Append(t.Context(), numbered(0, 7)...)
			if err != nil || fmt.Sprint(at) != "[1 2 3 4 5 6 7]" {
				t.Fatalf("append gave %v, %v", at, err)
			}
			holds(t, l, 7)
		})
	}
}

func TestAnUnknownAppendMakesTheStopUnclean(t *testing.T) {
	dir := t.TempDir()
	l := opened(t, dir, nil)
	l.fault = func(name string) error {
		if name == "append.acked" {
			l.config.Reserve = 1 << 60
			return errInjected
		}
		return nil
	}
	if _, err := l.Append(t.Context(), numbered(0, 2)...); !errors.Is(err, ErrUnknown) {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = opened(t, dir, nil)
	if l.Opening().Clean {
		t.Fatal("a stop in doubt was called clean")
	}
	holds(t, l, 2)
}

// A reader that is under way when the server is started again goes on.
func TestReadersSurviveARestartOfTheServer(t *testing.T) {
	l := opened(t, t.TempDir(), nil)
	const n = 5000
	if _, err := l.Append(t.Context(), numbered(0, n)...); err != nil {
		t.Fatal(err)
	}
	i := 0
	for r, err := range l.Read(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprint("id-", i); r.Envelope.ID != want {
			t.Fatalf("record %d is %q, want %q", i, r.Envelope.ID, want)
		}
		if i++; i%1000 == 500 {
			l.committer.doubt = nil
			if err := l.restart(l.committer.last); err != nil {
				t.Fatal(err)
			}
		}
	}
	if i != n || len(l.Gaps()) > 0 {
		t.Fatalf("%d records, gaps %v", i, l.Gaps())
	}
}

// Parts without an end, as a kill in mid-run leaves them, are passed over.
func TestARunOfPartsWithoutEndIsPassedOver(t *testing.T) {
	dir := t.TempDir()
	l := opened(t, dir, nil)
	if _, err := l.Append(t.Context(), numbered(0, 1)...); err != nil {
		t.Fatal(err)
	}
	big := numbered(1, 2)[0]
	big.Body = make([]byte, 5*partSize)
	for i := range big.Body {
		big.Body[i] = byte(i * i >> 3)
	}
	v := l.prepareRaw(t, big)
	if len(v.messages) != 5 {
		t.Fatalf("%d parts", len(v.messages))
	}
	s := l.session.Load()
	for i := range v.messages[:3] {
		if err := l.committer.publishOne(s, &v.messages[i], l.committer.last+uint64(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = opened(t, dir, nil)
	if l.Head().Position != 1 {
		t.Fatalf("head is %d", l.Head().Position)
	}
	holds(t, l, 1)
	if _, err := l.Append(t.Context(), big); err != nil {
		t.Fatal(err)
	}
	holds(t, l, 2)
	if r, err := l.Verify(t.Context(), nil); err != nil || r.Abandoned != 3 || len(l.Gaps()) > 0 {
		t.Fatalf("verify: %+v, %v, gaps %v", r, err, l.Gaps())
	}
}

// prepareRaw makes a value without compressing it.
func (l *Log) prepareRaw(t *testing.T, e envelope.Envelope) value {
	t.Helper()
	h, body := envelope.Headers(e)
	n := newNonce()
	h[headerNonce] = []string{text.EncodeToString(n[:])}
	v := value{id: e.ID, messages: cut(subject(&e), h, body)}
	end := &v.messages[len(v.messages)-1]
	end.last, end.inner = true, inner(n, &e)
	return v
}
