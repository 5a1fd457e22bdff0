package transcript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func collect(t testing.TB, r io.Reader, from int64) ([]Value, Report) {
	t.Helper()
	var all []Value
	var report Report
	for v, err := range Values(r, from, &report) {
		if err != nil {
			t.Fatal(err)
		}
		v.Raw = bytes.Clone(v.Raw)
		all = append(all, v)
	}
	return all, report
}

// say writes values as "offset:reason:raw".
func say(values []Value) string {
	var b strings.Builder
	for _, v := range values {
		fmt.Fprintf(&b, "%d>%d:%s:%s\n", v.Offset, v.Next, v.Bad, v.Raw)
	}
	return b.String()
}

func TestValuesOfALine(t *testing.T) {
	tests := map[string]struct{ in, want string }{
		"one":                          {"{\"a\":1}\n", "0>8::{\"a\":1}\n"},
		"no line end":                  {`{"a":1}`, "0>7::{\"a\":1}\n"},
		"glued":                        {"{\"a\":1}{\"b\":2}\n", "0>7::{\"a\":1}\n7>15::{\"b\":2}\n"},
		"byte order mark, CR":          {"\xef\xbb\xbf{\"a\":1}\r\n\r\n", "3>12::{\"a\":1}\n"},
		"text":                         {"=== x {\"a\":1}\n{\"b\":2}\n", "0>5:noise:=== x\n6>14::{\"a\":1}\n14>22::{\"b\":2}\n"},
		"no objects":                   {"[1,{\"a\":2}] null\n", "0>11:noise:[1,{\"a\":2}]\n12>17:noise:null\n"},
		"cut, then a line":             {"{\"a\":\"x\n{\"b\":2}\n", "0>8:broken:{\"a\":\"x\n8>16::{\"b\":2}\n"},
		"cut at the end":               {"{\"a\":1}\n{\"a\":\"x", "0>8::{\"a\":1}\n8>8:unfinished:{\"a\":\"x\n"},
		"cut after a glued one":        {"{\"a\":1}{\"a\":", "0>7::{\"a\":1}\n7>7:unfinished:{\"a\":\n"},
		"half with the next one glued": {"{\"a\":1}\n{\"a\":{\"b\":\"x{\"a\":\"}\"}\n", "0>8::{\"a\":1}\n8>20:broken:{\"a\":{\"b\":\"x\n20>30::{\"a\":\"}\"}\n"},
		"an inner object is none":      {"{\"a\":1}\n{\"x\":{\"b\":2}\n", "0>8::{\"a\":1}\n8>21:broken:{\"x\":{\"b\":2}\n"},
		"the end of a torn one first":  {"ut\":{\"stdout\":\"x\"},\"b\":2}\n{\"a\":1}\n", "0>26:broken:ut\":{\"stdout\":\"x\"},\"b\":2}\n26>34::{\"a\":1}\n"},
		"one that ends with an object": {"ut\":{\"stdout\":\"x\"}}\n{\"a\":1}\n", "0>20:broken:ut\":{\"stdout\":\"x\"}}\n20>28::{\"a\":1}\n"},
		"one that begins with one":     {"{\"b\":\"x\"},\"c\":2}\n{\"a\":1}\n", "0>17:broken:{\"b\":\"x\"},\"c\":2}\n17>25::{\"a\":1}\n"},
		"one that begins with a text":  {"\"x\":{\"b\":[{\"c\":1}]}}\n{\"a\":1}\n", "0>3:noise:\"x\"\n3>21:broken::{\"b\":[{\"c\":1}]}}\n21>29::{\"a\":1}\n"},
		"one with a record glued":      {"{\"a\":0}\nut\":{\"b\":\"x\"}}{\"a\":1}{\"a\":2}\n", "0>8::{\"a\":0}\n8>22:broken:ut\":{\"b\":\"x\"}}\n22>29::{\"a\":1}\n29>37::{\"a\":2}\n"},
		"one cut again":                {"{\"a\":0}\nut\":{\"b\":\"x\"}\n", "0>8::{\"a\":0}\n8>22:broken:ut\":{\"b\":\"x\"}\n"},
		"an array, a record a line":    {"{\"a\":0},\n{\"a\":1}\n", "0>7::{\"a\":0}\n7>9:noise:,\n9>17::{\"a\":1}\n"},
		"bad syntax":                   {"{\"a\" 1}\n{\"b\":2}\n", "0>8:broken:{\"a\" 1}\n8>16::{\"b\":2}\n"},
		"zero bytes":                   {"{\"a\":\"\x00\x00\"}\n{\"b\":2}\n", "0>11:broken:{\"a\":\"\x00\x00\"}\n11>19::{\"b\":2}\n"},
		"raw control and bad UTF-8":    {"{\"a\":\"\x01\xff\t\"}\n", "0>12::{\"a\":\"\x01\xff\t\"}\n"},
		"escapes":                      {`{"a\\":"\"}","b":"\\"}` + "\n", "0>23::" + `{"a\\":"\"}","b":"\\"}` + "\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(tt.in), iotest.OneByteReader(strings.NewReader(tt.in))} {
				if got, _ := collect(t, r, 0); say(got) != tt.want {
					t.Errorf("got\n%swant\n%s", say(got), tt.want)
				}
			}
		})
	}
}

func TestValuesReport(t *testing.T) {
	in := "\xef\xbb\xbf{\"a\":1}{\"a\":2}\n\n  \nbanner\n{\"a\":\n[1]\n{\"a\":3}"
	_, got := collect(t, strings.NewReader(in), 0)
	want := Report{Lines: 7, Empty: 2, Values: 3, Glued: 1, Broken: 1, Noise: 2}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestValuesGivesReadErrors(t *testing.T) {
	r := io.MultiReader(strings.NewReader("{\"a\":1}\n{\"b\":"), iotest.ErrReader(io.ErrUnexpectedEOF))
	var values int
	var last error
	for v, err := range Values(r, 0, nil) {
		if last = err; err == nil && v.Bad == OK {
			values++
		}
	}
	if values != 1 || last != io.ErrUnexpectedEOF {
		t.Errorf("got %d values and error %v, want 1 and %v", values, last, io.ErrUnexpectedEOF)
	}
}

// fixtures gives every real transcript.
func fixtures(t testing.TB) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"../../testdata/transcripts/*/*.jsonl", "../../testdata/faults/inputs/*.jsonl"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no files for %s: %v", pattern, err)
		}
		all = append(all, files...)
	}
	return all
}

// TestValuesAgreesWithEncodingJSON reads every real file once more with the
// standard decoder.
func TestValuesAgreesWithEncodingJSON(t *testing.T) {
	for _, path := range fixtures(t) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var want [][]byte
		for line := range bytes.Lines(data) {
			for d := json.NewDecoder(bytes.NewReader(line)); ; {
				var v json.RawMessage
				if d.Decode(&v) != nil {
					break
				}
				if v[0] == '{' {
					want = append(want, v)
				}
			}
		}
		var got [][]byte
		values, _ := collect(t, bytes.NewReader(data), 0)
		for _, v := range values {
			if v.Bad == OK {
				got = append(got, v.Raw)
			}
		}
		if !slices.EqualFunc(got, want, bytes.Equal) {
			t.Errorf("%s: got %d values, want %d", path, len(got), len(want))
		}
	}
}

func TestValuesAreWhereTheySay(t *testing.T) {
	for _, path := range fixtures(t) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		next := int64(0)
		values, _ := collect(t, bytes.NewReader(data), 0)
		for _, v := range values {
			if v.Offset < next || !bytes.Equal(data[v.Offset:v.Offset+v.Size], v.Raw) {
				t.Fatalf("%s: value at %d (after %d) is not in the file", path, v.Offset, next)
			}
			next = v.Next
		}
		if rest := bytes.TrimSpace(data[next:]); len(rest) > 0 && values[len(values)-1].Bad != Unfinished {
			t.Errorf("%s: %d bytes left over", path, len(rest))
		}
	}
}

// zeros gives n bytes c without holding them.
type filler struct {
	n int64
	c byte
}

func (f *filler) Read(p []byte) (int, error) {
	if f.n == 0 {
		return 0, io.EOF
	}
	n := min(int64(len(p)), f.n)
	for i := range p[:n] {
		p[i] = f.c
	}
	f.n -= n
	return int(n), nil
}

func TestALineLargerThanAValueMayBe(t *testing.T) {
	const size = 300_000_000
	r := io.MultiReader(strings.NewReader("{\"a\":1}\n{\"x\":\""), &filler{size, 0}, strings.NewReader("\"}\n{\"b\":2}\n{\"c\":\""), &filler{MaxValue, 'x'})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, report := collect(t, r, 0)
	runtime.ReadMemStats(&after)
	want := fmt.Sprintf("0>8::{\"a\":1}\n8>%d:too large:\n%d>%d::{\"b\":2}\n%d>%[4]d:unfinished:\n",
		8+6+size+3, 8+6+size+3, 8+6+size+3+8, 8+6+size+3+8)
	for i := range got {
		if got[i].Bad == Unfinished {
			got[i].Raw = nil
		}
	}
	if say(got) != want {
		t.Errorf("got\n%swant\n%s", say(got), want)
	}
	if got[1].Size != 6+size+2 || report.TooLarge != 1 || report.Broken != 1 {
		t.Errorf("got size %d and %+v", got[1].Size, report)
	}
	if grown := after.Sys - before.Sys; grown > 5*MaxValue {
		t.Errorf("took %d MiB from the system", grown>>20)
	}
}

func TestManyValuesOnOneLargeLine(t *testing.T) {
	one := `{"a":"` + strings.Repeat("x", 1<<20) + `"}`
	var readers []io.Reader
	for range 80 {
		readers = append(readers, strings.NewReader(one))
	}
	got, report := collect(t, io.MultiReader(readers...), 0)
	if report.Values != 80 || len(got) != 80 || report.Lines != 1 || report.Glued != 79 {
		t.Errorf("got %d values, %+v", len(got), report)
	}
}

func FuzzValues(f *testing.F) {
	for _, s := range []string{"{\"a\":1}\n{\"a\":", "\xef\xbb\xbf{}{}\n[1]", "{\"a\":\"\\\"\n{\"a\":{\"a\":1}}", "x\n{\"b\":[1,2,{\"c\":null}]}\r\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		values, report := collect(t, bytes.NewReader(data), 0)
		next := int64(0)
		for i, v := range values {
			if v.Offset < next || v.Offset+v.Size > int64(len(data)) || v.Next < v.Offset {
				t.Fatalf("value %d: %+v after %d", i, v, next)
			}
			if v.Bad == Unfinished && i != len(values)-1 {
				t.Fatalf("unfinished value %d of %d", i, len(values))
			}
			if v.Bad == OK && bytes.IndexByte(v.Raw, '\n') >= 0 {
				t.Fatalf("value %d spans lines", i)
			}
			next = v.Next
		}
		small, again := collect(t, iotest.OneByteReader(bytes.NewReader(data)), 0)
		if say(values) != say(small) || report != again {
			t.Fatalf("byte by byte differs:\n%s\n%s", say(values), say(small))
		}
		// Every whole object that a strict reader finds alone on a line is found.
		for line := range bytes.Lines(data) {
			if one := bytes.TrimSpace(line); len(one) > 1 && one[0] == '{' && json.Valid(one) {
				if !slices.ContainsFunc(values, func(v Value) bool { return bytes.Equal(v.Raw, one) }) {
					t.Fatalf("%q is missing", one)
				}
			}
		}
	})
}

func BenchmarkValues(b *testing.B) {
	var data []byte
	for _, path := range fixtures(b) {
		more, err := os.ReadFile(path)
		if err != nil {
			b.Fatal(err)
		}
		data = append(append(data, more...), '\n')
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		for _, err := range Values(bytes.NewReader(data), 0, nil) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

// TestJunkBeforeARecordDoesNotSwallowIt: zeros that a power cut leaves, a word,
// a stray brace; the record behind them on the same line is read.
func TestJunkBeforeARecordDoesNotSwallowIt(t *testing.T) {
	for _, junk := range []string{"\x00\x00\x00\x00", "garbage ", "}", "]], ", `"x"`, "123 ", "\x1b[31m"} {
		text := `{"n":1}` + "\n" + junk + `{"n":2}` + "\n" + `{"n":3}` + "\n"
		var got []string
		for v, err := range Values(strings.NewReader(text), 0, nil) {
			if err != nil {
				t.Fatal(err)
			}
			if v.Bad == OK {
				got = append(got, string(v.Raw))
			} else if int(v.Offset+v.Size) > len(text) || v.Next < v.Offset+v.Size {
				t.Errorf("%q: piece %+v", junk, v)
			}
		}
		if want := []string{`{"n":1}`, `{"n":2}`, `{"n":3}`}; !slices.Equal(got, want) {
			t.Errorf("after %q: got %q, want %q", junk, got, want)
		}
	}
}
