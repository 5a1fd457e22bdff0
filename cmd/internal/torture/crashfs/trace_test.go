package crashfs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// x writes text as strace -xx does.
func x(s string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, `\x%02x`, s[i])
	}
	return b.String()
}

// left replays lines and gives the files that a crash at the end leaves.
func left(t *testing.T, c Crash, lines ...string) map[string]string {
	t.Helper()
	to := t.TempDir()
	err := ReadTrace(strings.NewReader(strings.Join(lines, "\n")+"\n"), "/d", func(d *Disk, m Moment) error {
		if m.Call != "" {
			return nil
		}
		return d.Restore(c, to)
	})
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	err = filepath.WalkDir(to, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			text, _ := os.ReadFile(path)
			rel, _ := filepath.Rel(to, path)
			files[rel] = string(text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func made(path, flags, text string) []string {
	fd := "3<" + x(path) + ">"
	return []string{
		fmt.Sprintf(`7 openat(AT_FDCWD<%s>, "%s", O_WRONLY|O_CREAT%s, 0600) = %s`, x("/"), x(path), flags, fd),
		fmt.Sprintf(`7 write(%s, "%s", %d) = %d`, fd, x(text), len(text), len(text)),
	}
}

func synced(path string) string { return fmt.Sprintf(`7 fsync(3<%s>) = 0`, x(path)) }

func renamed(from, to string) string {
	return fmt.Sprintf(`7 renameat(AT_FDCWD<%s>, "%s", AT_FDCWD<%s>, "%s") = 0`, x("/"), x(from), x("/"), x(to))
}

func TestWhatLastsIsWhatWasSynced(t *testing.T) {
	file := made("/d/a", "", "text")
	all := append(append([]string{}, file...), synced("/d/a"), renamed("/d/a", "/d/b"))
	for name, try := range map[string]struct {
		crash Crash
		lines []string
		want  map[string]string
	}{
		"nothing synced, power cut":       {PowerCut, file, map[string]string{}},
		"nothing synced, killed":          {Killed, file, map[string]string{"a": "text"}},
		"nothing synced, names first":     {NamesFirst, file, map[string]string{"a": ""}},
		"the file synced":                 {PowerCut, all[:3], map[string]string{"a": "text"}},
		"renamed, the folder not synced":  {PowerCut, all, map[string]string{"a": "text"}},
		"renamed, bytes first":            {BytesFirst, all, map[string]string{"a": "text"}},
		"renamed, the folder synced":      {PowerCut, append(all[:4:4], synced("/d")), map[string]string{"b": "text"}},
		"the folder synced, not the file": {PowerCut, append(file[:2:2], synced("/d")), map[string]string{"a": ""}},
		"opened with O_SYNC":              {PowerCut, made("/d/a", "|O_SYNC", "text"), map[string]string{"a": "text"}},
		"beside the folder":               {Killed, made("/data", "", "text"), map[string]string{}},
	} {
		if got := left(t, try.crash, try.lines...); fmt.Sprint(got) != fmt.Sprint(try.want) {
			t.Errorf("%s: %v, want %v", name, got, try.want)
		}
	}
}

func TestCallsThatOthersInterruptAreJoined(t *testing.T) {
	lines := made("/d/a", "", "text")
	begin, end, _ := strings.Cut(lines[1], ") = ")
	got := left(t, Killed, lines[0], begin+" <unfinished ...>", "8 +++ exited with 0 +++", "7 <... write resumed>) = "+end)
	if got["a"] != "text" {
		t.Errorf("%v", got)
	}
}

func TestACallThatIsNotModelledIsAnError(t *testing.T) {
	for _, call := range []string{
		fmt.Sprintf(`7 fallocate(3<%s>, 0, 0, 4096) = 0`, x("/d/a")),
		fmt.Sprintf(`7 mmap(NULL, 4096, PROT_READ|PROT_WRITE, MAP_SHARED, 3<%s>, 0) = 0x7f00`, x("/d/a")),
	} {
		text := strings.Join(append(made("/d/a", "", "text"), call), "\n")
		if err := ReadTrace(strings.NewReader(text), "/d", func(*Disk, Moment) error { return nil }); err == nil {
			t.Errorf("%.40s was passed over", call)
		}
	}
}

func TestMomentsKnowWhatWasSaidBefore(t *testing.T) {
	lines := append(made("/d/a", "", "text"), synced("/d/a"))
	lines = append(lines, made("/d.said", "|O_APPEND", "one ")...)
	lines = append(lines, synced("/d"))
	var said []string
	err := ReadTrace(strings.NewReader(strings.Join(lines, "\n")+"\n"), "/d", func(_ *Disk, m Moment) error {
		said = append(said, m.Said)
		return nil
	})
	if err != nil || fmt.Sprintf("%q", said) != `["" "one " "one "]` {
		t.Errorf("%q %v", said, err)
	}
}
