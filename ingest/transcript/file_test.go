package transcript

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// memory is a store of marks that tests can lose.
type memory struct{ marks map[string]Mark }

func (m *memory) Load() (all []Mark, err error) {
	for _, one := range m.marks {
		all = append(all, one)
	}
	return all, nil
}

func (m *memory) Save(one Mark) error {
	if m.marks == nil {
		m.marks = map[string]Mark{}
	}
	m.marks[one.Path] = one
	return nil
}

func (m *memory) Drop(path string) error { delete(m.marks, path); return nil }

// read opens path as a new process would, and gives the objects that are new.
func read(t testing.TB, store Marks, path string) []string {
	t.Helper()
	book, err := NewBook(store)
	if err != nil {
		t.Fatal(err)
	}
	f, err := book.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var got []string
	next := f.Start().Offset
	for v, err := range f.Values() {
		if err != nil {
			t.Fatal(err)
		}
		if v.Bad == OK {
			got = append(got, string(v.Raw))
		}
		next = v.Next
	}
	if err := book.Save(f, next, nil); err != nil {
		t.Fatal(err)
	}
	return got
}

func write(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func appendTo(t testing.TB, path string, data []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

func input(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../../testdata/faults/inputs", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func lineStrings(data []byte) (all []string) {
	for line := range bytes.Lines(data) {
		all = append(all, string(bytes.TrimSpace(line)))
	}
	return all
}

func equal(t testing.TB, what string, got, want []string) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("%s: got %d values, want %d:\n%.300v\n%.300v", what, len(got), len(want), got, want)
	}
}

func TestFaults(t *testing.T) {
	t.Run("tr-01", splitAtEveryByte)
	t.Run("tr-02", movedToAnArchive)
	t.Run("tr-05", unknownParents)
	t.Run("tr-06", badLinesAreNamed)
	t.Run("tr-13", largeLine)
	t.Run("tr-22", noiseBetweenRecords)
	t.Run("fs-01", noWatchesLeft)
	t.Run("fs-04", replacedByRename)
	t.Run("fs-05", sourceThatNeverFires)
	t.Run("fs-07", foldersMadeAtOnce)
}

func splitAtEveryByte(t *testing.T) {
	whole := input(t, "tr-01.whole.jsonl")
	if both := append(input(t, "tr-01.part1.bin"), input(t, "tr-01.part2.bin")...); !bytes.Equal(bytes.TrimSpace(both), bytes.TrimSpace(whole)) {
		t.Fatal("the parts are not the whole")
	}
	whole = append(whole, []byte("{\"text\":\"Z\u00fcrich \u6771\u4eac \U0001f3ed \\u00fc\\\\\"}\n")...)
	want := lineStrings(whole)
	path := filepath.Join(t.TempDir(), "a.jsonl")
	for at := range len(whole) + 1 {
		store := &memory{}
		write(t, path, whole[:at])
		got := read(t, store, path)
		if offset := store.marks[path].Offset; offset > int64(at) || offset > 0 && whole[offset-1] != '\n' && whole[offset-1] != '}' {
			t.Fatalf("cut at %d: offset %d is inside a value", at, offset)
		}
		appendTo(t, path, whole[at:])
		equal(t, fmt.Sprintf("cut at %d", at), append(got, read(t, store, path)...), want)
		equal(t, "third reading", read(t, store, path), nil)
	}
}

func movedToAnArchive(t *testing.T) {
	data, dir, store := input(t, "dup-03.jsonl"), t.TempDir(), &memory{}
	old, now := filepath.Join(dir, "a.jsonl"), filepath.Join(dir, "archive", "b.jsonl")
	write(t, old, data)
	read(t, store, old)
	if err := errors.Join(os.Mkdir(filepath.Dir(now), 0o700), os.Rename(old, now)); err != nil {
		t.Fatal(err)
	}
	appendTo(t, now, []byte("{\"new\":1}\n"))
	equal(t, "moved and appended", read(t, store, now), []string{`{"new":1}`})
	if _, ok := store.marks[old]; ok || len(store.marks) != 1 {
		t.Errorf("marks left: %v", store.marks)
	}
}

func TestAFileThatIsNoLongerTheSameIsReadAgain(t *testing.T) {
	data := input(t, "dup-03.jsonl")
	lines := bytes.SplitAfter(data, []byte("\n"))
	tests := map[string][]byte{
		"cut shorter":       bytes.Join(lines[:4], nil),
		"another head":      append([]byte("{\"other\":1}\n"), data...),
		"changed in middle": bytes.Replace(data, []byte(`"text 10"`), []byte(`"text 99"`), 1),
	}
	for name, changed := range tests {
		t.Run(name, func(t *testing.T) {
			store, path := &memory{}, filepath.Join(t.TempDir(), "a.jsonl")
			write(t, path, data)
			read(t, store, path)
			write(t, path, changed)
			equal(t, name, read(t, store, path), lineStrings(changed))
		})
	}
}

func TestASmallFileThatGrowsKeepsItsMark(t *testing.T) {
	store, path := &memory{}, filepath.Join(t.TempDir(), "a.jsonl")
	write(t, path, nil)
	for i := range 300 {
		line := fmt.Sprintf(`{"n":%d,"text":"some more words"}`, i)
		appendTo(t, path, []byte(line+"\n"))
		equal(t, "appended", read(t, store, path), []string{line})
	}
}

func TestACompressedFileGoesOnWhereThePlainOneWas(t *testing.T) {
	store, path := &memory{}, filepath.Join(t.TempDir(), "a.jsonl")
	data := input(t, "dup-03.jsonl")
	write(t, path, data)
	read(t, store, path)
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path+Compressed, enc.EncodeAll(append(data, "{\"new\":1}\n"...), nil))
	equal(t, "plain one wins", read(t, store, path+Compressed), nil)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	equal(t, "compressed", read(t, store, path+Compressed), []string{`{"new":1}`})
	equal(t, "no marks", read(t, &memory{}, path+Compressed), append(lineStrings(data), `{"new":1}`))
}

func TestDirKeepsMarks(t *testing.T) {
	dir := Dir(filepath.Join(t.TempDir(), "marks"))
	if all, err := dir.Load(); len(all) != 0 || err != nil {
		t.Fatalf("empty: %v, %v", all, err)
	}
	a, b := Mark{Path: "/a", Head: "1", Offset: 5, State: []byte("s")}, Mark{Path: "/b", Head: "2"}
	for _, m := range []Mark{a, b, {Path: "/a", Head: "1", Offset: 9}} {
		if err := dir.Save(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(dir.Drop("/b"), dir.Drop("/none")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(string(dir), "x.mark"), []byte("{"))
	all, err := dir.Load()
	if len(all) != 1 || all[0].Offset != 9 || err == nil {
		t.Errorf("got %+v, error %v; want /a at 9 and an error that names x.mark", all, err)
	}
}

func unknownParents(t *testing.T) {
	data := input(t, "tr-05.jsonl")
	got, report := collect(t, bytes.NewReader(data), 0)
	if report.Values != 6 || len(got) != 6 {
		t.Errorf("got %+v, want 6 values in file order", report)
	}
}

func badLinesAreNamed(t *testing.T) {
	data := input(t, "tr-06.jsonl")
	got, report := collect(t, bytes.NewReader(data), 0)
	want := Report{Lines: 6, Empty: 1, Values: 5, Glued: 1, Broken: 1}
	if report != want {
		t.Errorf("got %+v, want %+v", report, want)
	}
	if second := int64(bytes.IndexByte(data, '\n') + 1); got[1].Bad != Broken || got[1].Offset != second {
		t.Errorf("second value is %q at %d, want broken at %d", got[1].Bad, got[1].Offset, second)
	}
}

func largeLine(t *testing.T) {
	lines := lineStrings(input(t, "dup-03.jsonl"))
	path := filepath.Join(t.TempDir(), "a.jsonl")
	big := append([]byte(`{"toolUseResult":{"context":"`), bytes.Repeat([]byte("x"), 20_000_000)...)
	big = append(big, `"}}`...)
	write(t, path, bytes.Join([][]byte{[]byte(lines[0]), big, []byte(lines[2]), nil}, []byte("\n")))
	equal(t, "all three", read(t, &memory{}, path), []string{lines[0], string(big), lines[2]})
}

func noiseBetweenRecords(t *testing.T) {
	_, report := collect(t, bytes.NewReader(input(t, "tr-22.jsonl")), 0)
	want := Report{Lines: 9, Values: 3, Noise: 6}
	if report != want {
		t.Errorf("got %+v, want %+v", report, want)
	}
}

func TestWhatIsNoFileIsRefusedAtOnce(t *testing.T) {
	if _, err := Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a folder: %v", err)
	}
	if _, err := Open(os.DevNull); err == nil {
		t.Error("a device was opened")
	}
}

// TestOpenNamesAnEncodingItDoesNotRead: nothing of such a file would be found,
// and the user must know why.
func TestOpenNamesAnEncodingItDoesNotRead(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"UTF-16, little":          {"\xff\xfe{\x00\"\x00", "is UTF-16"},
		"UTF-16, big":             {"\xfe\xff\x00{\x00\"", "is UTF-16"},
		"UTF-16, little, no mark": {"{\x00\"\x00", "is UTF-16"},
		"UTF-16, big, no mark":    {"\x00{\x00\"", "is UTF-16"},
		"UTF-32, little":          {"\xff\xfe\x00\x00{\x00\x00\x00", "is UTF-32"},
		"UTF-32, big":             {"\x00\x00\xfe\xff\x00\x00\x00{", "is UTF-32"},
		"UTF-8 with a mark":       {"\xef\xbb\xbf{}", ""},
		"zeros of a power cut":    {"\x00\x00\x00\x00{}", ""},
		"empty":                   {"", ""},
	} {
		path := filepath.Join(t.TempDir(), "x.jsonl")
		if err := os.WriteFile(path, []byte(c.in), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := Open(path)
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			f.Close()
		} else if !errors.Is(err, ErrEncoding) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error %v, want one that says %q and names the file", name, err, c.want)
		}
	}
}
