package hook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf16"

	"cmem/ingest/host"
	"cmem/ingest/internal/cut"
)

func TestInput(t *testing.T) {
	for _, c := range []struct{ name, in, value, rest string }{
		{"an object", `{"a":1}`, `{"a":1}`, ""},
		{"with space and more behind", " \n{\"a\":1}\n{\"b\":2}", `{"a":1}`, ""},
		{"a byte order mark", "\xef\xbb\xbf{\"a\":1}", `{"a":1}`, ""},
		{"noise before", "Welcome to zsh {x} [1]\n{\"a\":{\"b\":[1,2]}}", `{"a":{"b":[1,2]}}`, ""},
		{"an open brace in the noise", "prompt {\n{\"a\":1}", `{"a":1}`, ""},
		{"braces and quotes in strings", `{"a":"}\"{","b":"\\"}`, `{"a":"}\"{","b":"\\"}`, ""},
		{"control bytes in a string", "{\"a\":\"x\ny\tz\x01\x1b\"}", `{"a":"x\ny\tz\u0001\u001b"}`, ""},
		{"control bytes between", "{\"a\":\x00 1}", `{"a":  1}`, ""},
		{"a lone surrogate", `{"a":"\ud800"}`, `{"a":"\ud800"}`, ""},
		{"no escape", `{"a":"C:\Users\x"}`, `{"a":"C:\\Users\\x"}`, ""},
		{"cut off", `{"a":"b`, "", `{"a":"b`},
		{"no object", "hello", "", "hello"},
		{"nothing", "", "", ""},
		{"a newline", "\n", "", ""},
		{"a mark alone", "\xef\xbb\xbf", "", ""},
		{"zeros", "\x00\x00", "", ""},
		{"braces only", strings.Repeat("{", 10000), "", strings.Repeat("{", 10000)},
		{"closed braces only", strings.Repeat("{", 5000) + strings.Repeat("}", 5000), "", strings.Repeat("{", 5000) + strings.Repeat("}", 5000)},
	} {
		for how, r := range map[string]io.Reader{
			"at once": strings.NewReader(c.in), "byte by byte": iotest.OneByteReader(strings.NewReader(c.in)),
			"with an error": io.MultiReader(strings.NewReader(c.in), iotest.ErrReader(io.ErrUnexpectedEOF)),
		} {
			got := readInput(r, patience{time.Minute, time.Hour}, maxPayload, nil)
			if string(got.value) != c.value || string(got.rest) != c.rest {
				t.Errorf("%s, %s: got %.80q, %.80q", c.name, how, got.value, got.rest)
			}
			if got.value != nil && !json.Valid(got.value) {
				t.Errorf("%s: %q is not valid", c.name, got.value)
			}
		}
	}
}

func TestInputUTF16(t *testing.T) {
	for _, order := range []bool{true, false} {
		var b bytes.Buffer
		for _, u := range utf16.Encode([]rune("\ufeff" + `{"a":"ü"}`)) {
			if order {
				b.Write([]byte{byte(u), byte(u >> 8)})
			} else {
				b.Write([]byte{byte(u >> 8), byte(u)})
			}
		}
		if got := readInput(&b, patience{time.Minute, time.Hour}, maxPayload, nil); string(got.value) != `{"a":"ü"}` {
			t.Errorf("little %v: got %q, %q", order, got.value, got.rest)
		}
	}
}

// TestInputDoesNotWaitForTheEnd: a host that keeps the pipe open.
func TestInputDoesNotWaitForTheEnd(t *testing.T) {
	r, w := io.Pipe()
	defer r.Close()
	go w.Write([]byte(`{"a":1}`))
	if got := readInput(r, patience{time.Hour, time.Hour}, maxPayload, nil); string(got.value) != `{"a":1}` {
		t.Errorf("got %q", got.value)
	}
}

// TestInputThatNeverComes: a host that opens the pipe and writes half or nothing.
func TestInputThatNeverComes(t *testing.T) {
	for _, half := range []string{"", `{"a":`} {
		r, w := io.Pipe()
		if half != "" {
			go w.Write([]byte(half))
		}
		if got := readInput(r, patience{50 * time.Millisecond, time.Hour}, maxPayload, nil); got.value != nil || string(got.rest) != half {
			t.Errorf("%q: got %q, %q", half, got.value, got.rest)
		}
		r.Close()
	}
}

// TestInputThatDripsEndsInTime: the next byte always comes soon, the end never.
func TestInputThatDripsEndsInTime(t *testing.T) {
	for _, limit := range []int{maxPayload, 8} {
		r, w := io.Pipe()
		go func() {
			for _, err := w.Write([]byte(`{"a":"`)); err == nil; {
				_, err = w.Write([]byte("x"))
			}
		}()
		got := readInput(r, patience{time.Hour, 50 * time.Millisecond}, limit, nil)
		if got.value != nil || !strings.HasPrefix(string(got.rest), `{"a":"`) || got.late == got.large {
			t.Errorf("limit %d: got %q, late %v, large %v", limit, got.rest, got.late, got.large)
		}
		r.Close()
	}
}

func TestAHookEndsBeforeItsHostLosesPatience(t *testing.T) {
	if rest := hostTimeout - forHosts.whole; forHosts.next > forHosts.whole || rest < 3*time.Second {
		t.Errorf("%v of %s leaves %s", forHosts, hostTimeout, rest)
	}
	text, err := os.ReadFile("../../docs/INSTALL.md")
	if err != nil {
		t.Fatal(err)
	}
	given := regexp.MustCompile(`"timeout": (\d+)`).FindAllStringSubmatch(string(text), -1)
	if len(given) < 5 {
		t.Errorf("the installation names %d timeouts", len(given))
	}
	for _, g := range given {
		if n, err := strconv.Atoi(g[1]); err != nil || time.Duration(n)*time.Second < hostTimeout {
			t.Errorf("the installation gives a hook %s s", g[1])
		}
	}
}

func TestInputTooLarge(t *testing.T) {
	const limit = 1 << 20
	payload := func(size int) io.Reader {
		const begin, end = `{"session_id":"s","x":"`, `"}`
		return io.MultiReader(strings.NewReader(begin), io.LimitReader(zeros{}, int64(size-len(begin)-len(end))), strings.NewReader(end))
	}
	if got := readInput(payload(limit), patience{time.Minute, time.Hour}, limit, nil); len(got.value) != limit || got.large {
		t.Errorf("at the limit: value %d, large %v", len(got.value), got.large)
	}
	big := payload(limit + 1 + 3<<20)
	got := readInput(big, patience{time.Minute, time.Hour}, limit, nil)
	if got.value != nil || !got.large || got.more != 1+3<<20 || len(got.rest) != limit || !strings.HasPrefix(string(got.rest), `{"session_id":"s"`) {
		t.Errorf("above: value %d, rest %d, large %v", len(got.value), len(got.rest), got.large)
	}
	if rest, err := io.Copy(io.Discard, big); rest != 0 || err != nil {
		t.Errorf("%d bytes were left in the pipe", rest)
	}
	if maxPayload != 64<<20 {
		t.Errorf("the limit is %d", maxPayload)
	}
}

// TestWhatIsCutOfALargePayloadIsCountedToItsEnd: also what was only read away.
func TestWhatIsCutOfALargePayloadIsCountedToItsEnd(t *testing.T) {
	const begin, size, limit, kept = `{"session_id":"s-1","hook_event_name":"PostToolUse","x":"`, 4 << 20, 1 << 20, cut.MaxUnknown/10*6 + cut.MaxUnknown/10*3
	in := readInput(io.MultiReader(strings.NewReader(begin), io.LimitReader(zeros{}, size-int64(len(begin)))), patience{time.Hour, time.Hour}, limit, nil)
	b := newBench(t)
	r := &run{cfg: Config{Dir: b.project}, captured: b.now, dir: b.dir, event: "PostToolUse"}
	r.host, _ = host.Hook("claude-code")
	r.identify(in)
	if err := r.put(in); err != nil {
		t.Fatal(err)
	}
	all := b.envelopes()
	if len(all) != 1 {
		t.Fatalf("%d envelopes", len(all))
	}
	if want := fmt.Sprintf(`[{"kind":"cut","bytes":%d}]`, size-kept); all[0].Redactions != want || !strings.Contains(string(all[0].Body), fmt.Sprintf("[%d more bytes", size-limit)) {
		t.Errorf("%s, want %s; body ends %q", all[0].Redactions, want, all[0].Body[len(all[0].Body)-100:])
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

// FuzzInput: whatever comes, in whatever pieces, is an object that is valid, or
// the bytes themselves; the pieces make no difference.
func FuzzInput(f *testing.F) {
	for _, s := range []string{`{"a":1}`, "x{\"a\":\"\n\"}", `{"a":"\u12"}`, "{{}}", "\xff\xfe{\x00}\x00", `{"a":"\`, "{\"\xff\":\"\x00\"}", "}{", `{"a":}{"b":1}`} {
		f.Add([]byte(s), uint8(3))
	}
	f.Fuzz(func(t *testing.T, in []byte, piece uint8) {
		whole, parts := find(in, len(in)+1), find(in, int(piece)%7+1)
		if !bytes.Equal(whole.value, parts.value) || !bytes.Equal(whole.rest, parts.rest) {
			t.Fatalf("at once %q %q, in pieces %q %q", whole.value, whole.rest, parts.value, parts.rest)
		}
		if whole.value != nil && (!json.Valid(whole.value) || whole.value[0] != '{') {
			t.Fatalf("%q is no object", whole.value)
		}
		if json.Valid(in) && len(bytes.TrimSpace(in)) > 0 && bytes.TrimSpace(in)[0] == '{' && !bytes.Equal(whole.value, bytes.TrimSpace(in)) {
			t.Fatalf("valid %q became %q", in, whole.value)
		}
		if fixed := repair(in); !bytes.Equal(repair(fixed), fixed) {
			t.Fatalf("repaired twice: %q, %q", fixed, repair(fixed))
		}
	})
}

// find is readInput without the goroutine, which would make coverage random.
func find(in []byte, size int) input {
	f := newFinder(nil)
	for len(in) > 0 {
		n := min(size, len(in))
		if value, ok := f.add(in[:n]); ok {
			return input{value: value}
		}
		in = in[n:]
	}
	return f.input()
}
