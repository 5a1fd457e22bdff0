package envelope

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// typical is what a hook of a current host gives.
func typical() Envelope {
	return Envelope{
		ID:      "claude-code/PostToolUse/toolu_01A2b3C4d5E6f7G8h9J0kLmN",
		Type:    HookReceived,
		Source:  "claude-code",
		Subject: "6f1c2b7e-9f7d-4b8e-8a55-0c7f8d2a1b3c",
		Time:    time.Date(2026, 1, 2, 3, 4, 5, 678901234, time.UTC),
		Event:   "PostToolUse",
		Digest:  "0123456789abcdef",
		Body:    []byte(`{"hook_event_name":"PostToolUse"}`),
	}
}

func same(a, b Envelope) error {
	ta, tb := a.Time, b.Time
	a.Time, b.Time = time.Time{}, time.Time{}
	ba, bb := a.Body, b.Body
	a.Body, b.Body = nil, nil
	ea, eb := a.Extra, b.Extra
	a.Extra, b.Extra = nil, nil
	switch {
	case fmt.Sprintf("%#v", a) != fmt.Sprintf("%#v", b):
		return fmt.Errorf("attributes %#v became %#v", a, b)
	case !ta.Equal(tb):
		return fmt.Errorf("time %v became %v", ta, tb)
	case !bytes.Equal(ba, bb):
		return fmt.Errorf("body %q became %q", ba, bb)
	case !maps.Equal(ea, eb):
		return fmt.Errorf("extra %q became %q", ea, eb)
	}
	return nil
}

// throughBoth sends e through both forms.
func throughBoth(e Envelope) error {
	back, err := FromHeaders(Headers(e))
	if err != nil {
		return err
	}
	if err := same(e, back); err != nil {
		return fmt.Errorf("headers: %w", err)
	}
	line, err := MarshalLine(e)
	if err != nil {
		return err
	}
	if bytes.ContainsAny(line, "\r\n") {
		return fmt.Errorf("more than one line: %q", line)
	}
	if back, err = Parse(line); err != nil {
		return fmt.Errorf("%s: %w", line, err)
	}
	if err := same(e, back); err != nil {
		return fmt.Errorf("line: %w", err)
	}
	if !bytes.Equal(Canonical(nil, &e), Canonical(nil, &back)) {
		return errors.New("canonical forms differ")
	}
	return nil
}

func TestEveryEnvelopeComesBackFromBothForms(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "a\r\nce-id: x", "%", "%zz", `"q"`, "\x00\x7f", "日本", "🙂", " s "}))
	body := rapid.OneOf(
		rapid.SliceOf(rapid.Byte()),
		rapid.Map(rapid.SampledFrom([]string{`{}`, `null`, `[1, 2]`, ` 1`, `"x"`, "{\n}", `{"a":"\ud83d"}`, `1e999`, "", "\"\u2028\""}), func(s string) []byte { return []byte(s) }),
	)
	rapid.Check(t, func(t *rapid.T) {
		e := Envelope{
			ID: "x" + text.Draw(t, "id"), Type: "x" + text.Draw(t, "type"), Source: "x" + text.Draw(t, "source"),
			Subject: text.Draw(t, "subject"), Event: text.Draw(t, "event"), Turn: text.Draw(t, "turn"),
			HostVersion: text.Draw(t, "version"), Agent: text.Draw(t, "agent"), Digest: text.Draw(t, "digest"),
			Origin: text.Draw(t, "origin"), Redactions: text.Draw(t, "redactions"), File: text.Draw(t, "file"),
			Offset:      rapid.Int64().Draw(t, "offset"),
			ContentType: rapid.SampledFrom([]string{"", "text/plain", "application/json", "application/x+json; charset=utf-8"}).Draw(t, "content"),
			Body:        body.Draw(t, "body"),
		}
		if rapid.Bool().Draw(t, "timed") {
			e.Time = time.Unix(rapid.Int64Range(-62135596799, 253402300799).Draw(t, "s"), rapid.Int64Range(0, 999999999).Draw(t, "ns"))
		}
		if v := text.Draw(t, "extra"); v != "" {
			e.Extra = map[string]string{"later": v}
		}
		if err := throughBoth(e); err != nil {
			t.Fatal(err)
		}
	})
}

func TestABodyStaysAsItIsOnTheLine(t *testing.T) {
	for body, want := range map[string]string{
		`{"a" : 1.0e5,"b":"\u00e9\/"}`:  `"data":{"a" : 1.0e5,"b":"\u00e9\/"}`,
		`"text"`:                        `"data":"text"`,
		` {}`:                           `"data_base64":"IHt9"`,
		`null`:                          `"data_base64":"bnVsbA=="`,
		"{\n}":                          `"data_base64":"ewp9"`,
		"{}x":                           `"data_base64":"e314"`,
		"\"\xff\"":                      `"data_base64":"Iv8i"`,
		strings.Repeat("[", 1001) + "1": `"data_base64":"`,
		"1" + strings.Repeat("]", 3):    `"data_base64":"`,
	} {
		e := typical()
		e.Body = []byte(body)
		line, err := MarshalLine(e)
		if err != nil || !bytes.Contains(line, []byte(want)) || !json.Valid(line) {
			t.Errorf("%.40q gave %.400s, %v", body, line, err)
		}
		if err := throughBoth(e); err != nil {
			t.Errorf("%.40q: %v", body, err)
		}
	}
}

func TestAttributesAreSmall(t *testing.T) {
	h, _ := Headers(typical())
	n := 0
	for name, values := range h {
		n += len(name) + len(": \r\n") + len(values[0])
	}
	if n > 300 {
		t.Fatalf("%d bytes of attributes, at most 300", n)
	}
}

func TestHeadersAreSafe(t *testing.T) {
	e := typical()
	for r := range rune(0x3000) {
		e.ID += string(r)
	}
	h, _ := Headers(e)
	for name, values := range h {
		if name != strings.ToLower(name) || !strings.HasPrefix(name, "ce-") || len(values) != 1 {
			t.Errorf("header %q has %d values", name, len(values))
		}
		for _, c := range []byte(values[0]) {
			if c <= ' ' || c > '~' || c == '"' {
				t.Errorf("header %q holds byte %#x", name, c)
			}
		}
	}
	if err := throughBoth(e); err != nil {
		t.Fatal(err)
	}
}

func TestParseSaysWhatIsWrong(t *testing.T) {
	const begin = `{"specversion":"1.0","id":"i","type":"t","source":"s"`
	for line, want := range map[string]error{
		begin + `}`:                                nil,
		" \t" + begin + "}\r\n":                    nil,
		"\ufeff" + begin + "}":                     nil,
		begin + `,"subject":null}`:                 nil,
		begin + `,"later":true}`:                   nil,
		begin + `,"cmemversion":"1"}`:              nil,
		``:                                         ErrMalformed,
		`[]`:                                       ErrMalformed,
		begin:                                      ErrMalformed,
		begin + `}{}`:                              ErrMalformed,
		begin + `}x`:                               ErrMalformed,
		begin + `,"id":"j"}`:                       ErrMalformed,
		begin + `,"ID":"j"}`:                       ErrMalformed,
		begin + `,"a_b":"j"}`:                      ErrMalformed,
		begin + `,"later":{}}`:                     ErrMalformed,
		begin + `,"time":"yesterday"}`:             ErrMalformed,
		begin + `,"offset":"x"}`:                   ErrMalformed,
		begin + `,"data":1,"data_base64":""}`:      ErrMalformed,
		begin + `,"data_base64":"*"}`:              ErrMalformed,
		`{"id":"i","type":"t","source":"s"}`:       ErrMalformed,
		`{"specversion":"1.0","id":"i"}`:           ErrMalformed,
		begin + `,"cmemversion":"2"}`:              ErrNewer,
		`{"specversion":"2.0","id":"i"}`:           ErrNewer,
		`{"specversion":"1.1","type":{},"id":"i"}`: ErrNewer,
	} {
		if _, err := Parse([]byte(line)); !errors.Is(err, want) {
			t.Errorf("%q gave %v, want %v", line, err, want)
		}
	}
}

func TestUnknownAttributesAreKept(t *testing.T) {
	e, err := FromHeaders(map[string][]string{"ce-specversion": {"1.0"}, "ce-id": {"i"}, "ce-type": {"t"}, "ce-source": {"s"},
		"ce-later": {"a%20b"}, "ce-chain": {"x"}, "ce-nonce": {"x"}, "Nats-Sequence": {"1"}, "content-encoding": {"zstd"}}, nil)
	if err != nil || len(e.Extra) != 1 || e.Extra["later"] != "a b" {
		t.Fatalf("%+v, %v", e, err)
	}
	if err := throughBoth(e); err != nil {
		t.Fatal(err)
	}
}

func TestHeadersOfOtherWritersAreRead(t *testing.T) {
	for in, want := range map[string]string{`"a \"b\""`: `a "b"`, "%e2%82%AC": "€", "Euro%20%E2%82%AC": "Euro €", "%FF": "\ufffd"} {
		if got, err := Decode(in); err != nil || got != want {
			t.Errorf("%q gave %q, %v; want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"%", "%4", "a%zz", "%4g"} {
		if got, err := Decode(in); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q gave %q, %v", in, got, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, e := range []Envelope{typical(), {ID: "i", Type: "t", Source: "s", Body: []byte("x"), Extra: map[string]string{"later": "\x00"}}} {
		line, err := MarshalLine(e)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(line)
	}
	f.Add([]byte(`{"specversion":"1.0","id":"i","type":"t","source":"s","time":"2026-01-02T03:04:05+23:59","data":"\ud83d"}`))
	f.Add([]byte(`{"specversion":"1.0","id":"\ud83d","type":"t","source":"s","x":1e9,"data":[[[]]] }`))
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := Parse(line)
		if err != nil {
			if !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrNewer) {
				t.Fatalf("an error of no kind: %v", err)
			}
			return
		}
		delete(e.Extra, ChainAttribute)
		delete(e.Extra, NonceAttribute)
		if err := throughBoth(e); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzFromHeaders(f *testing.F) {
	f.Add("i", "t", "s", "2026-01-02T03:04:05.1Z", "later", "%41\"", []byte("{}"))
	f.Add("%", "\"t\"", "s", "", "id", "\r\n", []byte(nil))
	f.Fuzz(func(t *testing.T, id, kind, source, at, name, value string, body []byte) {
		h := map[string][]string{"ce-id": {id}, "ce-type": {kind}, "ce-source": {source}, "ce-" + name: {value}}
		if at != "" {
			h["ce-time"] = []string{at}
		}
		e, err := FromHeaders(h, body)
		if err != nil {
			if !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrNewer) {
				t.Fatalf("an error of no kind: %v", err)
			}
			return
		}
		if err := throughBoth(e); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkMarshalLine(b *testing.B) {
	e := typical()
	e.Body = []byte(`{"a":"` + strings.Repeat("x", 2200) + `"}`)
	b.ReportAllocs()
	var line []byte
	for b.Loop() {
		line, _ = AppendLine(line[:0], e)
	}
	b.SetBytes(int64(len(line)))
}

func BenchmarkParse(b *testing.B) {
	e := typical()
	e.Body = []byte(`{"a":"` + strings.Repeat("x", 2200) + `"}`)
	line, _ := MarshalLine(e)
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(line); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFromHeaders(b *testing.B) {
	h, body := Headers(typical())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := FromHeaders(h, body); err != nil {
			b.Fatal(err)
		}
	}
}
