package streams_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	cloudevents "github.com/cloudevents/sdk-go/v2"

	"cmem/streams"
	"cmem/streams/envelope"
	"cmem/streams/streamstest"
)

func exported(t *testing.T, l *streams.Log, after streams.Position) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := l.Export(t.Context(), &b, after); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// mixed is a log of every kind of body.
func mixed(t *testing.T) (*streams.Log, []envelope.Envelope) {
	t.Helper()
	l := streamstest.New(t)
	envs := streamstest.Envelopes("s", 12)
	envs[1].Body = []byte("not json \xff\x00")
	envs[2].Body = []byte("{\n}")
	envs[3].Body = []byte(` {"a": 1.0e5 , "b":"\ud83d", "b":2}`)
	envs[4].Body = []byte(`{"a": 1.0e5 , "b":"\u00e9é\ud83d", "b":2}`)
	envs[5].Body, envs[5].ContentType = []byte(`"text"`), "text/plain"
	envs[6].Body = nil
	envs[7].Body = bytes.Repeat([]byte(`[`), 10050)
	envs[8].Body = noise(300 << 10)
	envs[9].ID, envs[9].Turn, envs[9].Origin = "a\r\n\x01%é🙂", "\u2028", `{"cwd":"/x y"}`
	envs[10].Offset, envs[10].File = 1<<40, "f.jsonl"
	envs[11].Extra = map[string]string{"later": "kept é"}
	streamstest.Append(t, l, envs...)
	return l, envs
}

func TestAnExportedLineIsACloudEvent(t *testing.T) {
	l, envs := mixed(t)
	lines := bytes.SplitAfter(bytes.TrimSuffix(exported(t, l, 0), []byte("\n")), []byte("\n"))
	if len(lines) != len(envs) {
		t.Fatalf("%d lines, want %d", len(lines), len(envs))
	}
	for i, line := range lines {
		var e cloudevents.Event
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("line %d: %v\n%.500s", i+1, err, line)
		}
		if err := e.Validate(); err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		if e.ID() != envs[i].ID || e.Source() != envs[i].Source || e.Type() != envs[i].Type || !bytes.Equal(e.Data(), envs[i].Body) {
			t.Fatalf("line %d: the SDK reads %q with %.100q, want %q with %.100q", i+1, e.ID(), e.Data(), envs[i].ID, envs[i].Body)
		}
		back, err := envelope.Parse(line)
		if err != nil || !bytes.Equal(back.Body, envs[i].Body) {
			t.Fatalf("line %d: parsed back as %.100q, %v", i+1, back.Body, err)
		}
	}
}

func TestAChangedByteInAnExportIsFound(t *testing.T) {
	l, _ := mixed(t)
	for _, after := range []streams.Position{0, 3} {
		lines := bytes.SplitAfter(exported(t, l, after), []byte("\n"))
		short := lines[:slices.IndexFunc(lines, func(line []byte) bool { return len(line) > 4000 })]
		for i, line := range short {
			flipEach(t, bytes.Join(short, nil), int64(i+1), len(bytes.Join(short[:i], nil)), len(line), 1)
		}
	}
}

func TestAChangedByteInALongLineIsFound(t *testing.T) {
	l, _ := mixed(t)
	whole := exported(t, l, 0)
	begin, line := 0, int64(1)
	for text := range bytes.Lines(whole) {
		if len(text) > 4000 {
			flipEach(t, whole, line, begin, len(text), len(text)/40)
		}
		begin, line = begin+len(text), line+1
	}
}

// flipEach flips one bit in every step-th byte of a line, one at a time.
func flipEach(t *testing.T, export []byte, line int64, begin, length, step int) {
	t.Helper()
	if _, err := streams.VerifyExport(bytes.NewReader(export)); err != nil {
		t.Fatalf("unchanged: %v", err)
	}
	rnd := rand.New(rand.NewPCG(1, uint64(line)))
	for i := begin; i < begin+length; i += step {
		flip := byte(1) << rnd.IntN(8)
		export[i] ^= flip
		n, err := streams.VerifyExport(bytes.NewReader(export))
		var where *streams.LineError
		if !errors.As(err, &where) || where.Line != line || n != line-1 {
			t.Fatalf("byte %d of line %d, now %q: %d good, %v", i-begin, line, export[i], n, err)
		}
		export[i] ^= flip
	}
}

func TestALineTakenOutOrMovedInAnExportIsFound(t *testing.T) {
	l, _ := mixed(t)
	lines := bytes.SplitAfter(exported(t, l, 0), []byte("\n"))
	lines = lines[:len(lines)-1]
	for i := range lines[:len(lines)-1] {
		without := append(append([][]byte{}, lines[:i]...), lines[i+1:]...)
		var where *streams.LineError
		if _, err := streams.VerifyExport(bytes.NewReader(bytes.Join(without, nil))); !errors.As(err, &where) || where.Line != int64(i+1) {
			t.Fatalf("without line %d: %v", i+1, err)
		}
		swapped := append([][]byte{}, lines...)
		swapped[i], swapped[i+1] = swapped[i+1], swapped[i]
		if _, err := streams.VerifyExport(bytes.NewReader(bytes.Join(swapped, nil))); !errors.As(err, &where) || where.Line != int64(i+1) {
			t.Fatalf("line %d moved: %v", i+1, err)
		}
	}
}

func TestAnExportedLineCanBeAppendedAgain(t *testing.T) {
	l, envs := mixed(t)
	var back []envelope.Envelope
	for line := range bytes.Lines(exported(t, l, 0)) {
		e, err := envelope.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		back = append(back, e)
	}
	other := streamstest.New(t)
	streamstest.Append(t, other, back...)
	got := streamstest.Records(t, other, 0)
	sameEnvelopes(t, got, envs)
	for _, r := range got {
		for name := range r.Envelope.Extra {
			if strings.HasPrefix(name, "log") || name == "chain" || name == "nonce" {
				t.Fatalf("%q was stored", name)
			}
		}
	}
	if got[11].Envelope.Extra["later"] != "kept é" {
		t.Fatalf("extra attributes are %v", got[11].Envelope.Extra)
	}
	if n, err := streams.VerifyExport(bytes.NewReader(exported(t, other, 0))); err != nil || n != 12 {
		t.Fatalf("verify: %d, %v", n, err)
	}
}
