package home

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("CMEM_TEST_COUNT"); dir != "" {
		for range 200 {
			if err := Dir(dir).Count("hook:lost/ü", 2); err != nil {
				os.Stderr.WriteString(err.Error())
				os.Exit(1)
			}
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func made(t testing.TB) Dir {
	t.Helper()
	d := Dir(filepath.Join(t.TempDir(), "data"))
	if err := d.Make(); err != nil {
		t.Fatal(err)
	}
	return d
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestResolve(t *testing.T) {
	for _, c := range []struct {
		flag string
		env  func(string) string
		want string
	}{
		{"/a/b", env("CMEM_DATA_DIR", "/c", "HOME", "/h"), "/a/b"},
		{"", env("CMEM_DATA_DIR", "/c/", "HOME", "/h"), "/c"},
		{"", env("HOME", "/h"), "/h/.cmem"},
		{"", env("CMEM_DATA_DIR", "a/b", "HOME", "/h"), "/h/a/b"},
		{"", env("CMEM_DATA_DIR", "./a", "HOME", "/h"), "/h/a"},
		{"", env("CMEM_DATA_DIR", "../a", "HOME", "/h"), "/a"},
		{"~/x", env("HOME", "/h"), "/h/x"},
		{"", env("USERPROFILE", "/u"), "/u/.cmem"},
	} {
		got, err := Resolve(c.flag, c.env)
		if err != nil || string(got) != c.want {
			t.Errorf("%q: got %q %v, want %q", c.flag, got, err, c.want)
		}
	}
	if _, err := Resolve("", env()); err == nil || !strings.Contains(err.Error(), "HOME") {
		t.Errorf("without a home: %v", err)
	}
}

func TestMakeIsPrivate(t *testing.T) {
	d := made(t)
	if err := os.Chmod(d.Log(), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := d.Make(); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(string(d), func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestForeignFolderIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"log", "lib"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := Dir(dir).Make(); !errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), "lib") {
		t.Fatalf("got %v, want ErrForeign that names lib", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("the folder now holds %v %v", entries, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "log")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("log has mode %v %v", info.Mode(), err)
	}
}

func TestContextFileHoldsNoText(t *testing.T) {
	d := Dir("/d")
	a, b := d.ContextFile("../../etc/passwd", "x"), d.ContextFile("../../etc/passwd", "y")
	if a == b || filepath.Dir(a) != d.Context() || strings.Contains(a, "passwd") {
		t.Errorf("%q %q", a, b)
	}
}

func TestSocketOfALongPath(t *testing.T) {
	short, long := Dir("/tmp/x"), Dir("/tmp/"+strings.Repeat("long/", 30)+"x")
	if got := short.Socket(); got != filepath.Join(short.Run(), "cmem.sock") {
		t.Errorf("short: %s", got)
	}
	got := long.Socket()
	if len(got) > maxSocket || got == "" || got == Dir(string(long)+"y").Socket() {
		t.Errorf("long: %q", got)
	}
	if filepath.Dir(got) == long.Run() {
		t.Errorf("long: %q is in the data folder", got)
	}
}

func TestCountersOfManyProcesses(t *testing.T) {
	d := made(t)
	before := time.Now()
	var cmds []*exec.Cmd
	for range 4 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "CMEM_TEST_COUNT="+string(d))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		cmds = append(cmds, cmd)
	}
	for _, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	all, err := d.Counters()
	if err != nil || len(all) != 1 {
		t.Fatalf("%v %v", all, err)
	}
	c := all[0]
	if c.Name != "hook:lost/ü" || c.N != 4*200*2 || c.First.Before(before) || c.Last.Before(c.First) {
		t.Errorf("got %+v, want 1600 of hook:lost/ü after %v", c, before)
	}
}

func TestFoldCounters(t *testing.T) {
	d := made(t)
	file := func(day string) string { return filepath.Join(d.CounterDir(), "x."+day) }
	write(t, file("20260101"), "1767225600000000000 3\n1767225601000000000 4\ntorn 5 6\n")
	write(t, file("20260102"), "1767312000000000000 10\n")
	now := time.Date(2026, 1, 3, 12, 0, 0, 0, time.UTC)
	want := Counter{"x", 17, time.Unix(1767225600, 0), time.Unix(1767312000, 0)}
	for i := range 3 {
		all, err := d.Counters()
		if err != nil || len(all) != 1 || !reflect.DeepEqual(all[0], want) {
			t.Fatalf("round %d: got %+v %v, want %+v", i, all, err, want)
		}
		if err := d.FoldCounters(now); err != nil {
			t.Fatal(err)
		}
		// As if the process had died before it removed the folded day.
		write(t, file("20260101"), "1767225600000000000 3\n1767225601000000000 4\n")
	}
	if _, err := os.Stat(file("20260102")); err != nil {
		t.Errorf("yesterday is folded: somebody may still count there: %v", err)
	}
}

func TestFaults(t *testing.T) {
	t.Run("enc-01", func(t *testing.T) {
		var v struct {
			Log      string `json:"log_level"`
			Observer struct{ Model string }
		}
		unknown, err := ReadJSON("../../testdata/faults/inputs/enc-01.settings.json", &v)
		if err != nil || len(unknown) > 0 || v.Log != "info" || v.Observer.Model != "m" {
			t.Errorf("got %+v, unknown %v, %v", v, unknown, err)
		}
		d := made(t)
		write(t, d.Config(), "\xef\xbb\xbf{\"skip_tools\":[\"Bash\"]}")
		s, err := LoadSettings(d, env())
		if err != nil || !reflect.DeepEqual(s.SkipTools, []string{"Bash"}) {
			t.Errorf("settings with a byte order mark: %+v %v", s, err)
		}
	})
}

func TestReadJSONSaysWhatAndWhere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.json")
	for _, c := range []struct{ content, want string }{
		{"{\n  \"autostart\": flase\n}", path + ":2:17: "},
		{"{\n  \"autostart\": true,\n}", path + ":3:1: "},
		{"{\"autostart\":\n \"yes\"}", path + `:2:6: "autostart" wants true or false, not string`},
		{"{\"redact\":[{\"kind\":7}]}", `"redact.kind" wants a text, not number`},
		{"[]", path + ":1:1: "},
	} {
		write(t, path, c.content)
		s := Defaults()
		if _, err := ReadJSON(path, &s); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v, want %s", c.content, err, c.want)
		}
	}
	write(t, path, `{"autostart":false,"zzz":1,"redact":[],"aaa":{"b":2}}`)
	s := Defaults()
	unknown, err := ReadJSON(path, &s)
	if err != nil || s.Autostart || !reflect.DeepEqual(unknown, []string{"aaa", "zzz"}) {
		t.Errorf("unknown keys: %v %v, autostart %v", unknown, err, s.Autostart)
	}
	write(t, path, "")
	if _, err := ReadJSON(path, &s); err != nil {
		t.Errorf("an empty file: %v", err)
	}
	if _, err := ReadJSON(filepath.Dir(path), &s); err == nil {
		t.Error("a folder is read")
	}
}

func TestBrokenSettingsAreUsable(t *testing.T) {
	d := made(t)
	write(t, d.Config(), `{"autostart": "no", "skip_subagents": true, "fail_loud": 7}`)
	s, err := LoadSettings(d, env("CMEM_FAIL_LOUD", "many", "CMEM_TOOL_HOOKS", "off", "CMEM_REDACT", "acme=ACME-\\d+\nwrong"))
	want := Defaults()
	want.SkipSubagents, want.FailLoud, want.ToolHooks = true, 7, false
	want.Redact = []Pattern{{"acme", `ACME-\d+`}}
	if err == nil || !reflect.DeepEqual(s, want) {
		t.Errorf("got %+v %v, want %+v and an error", s, err, want)
	}
	for _, name := range []string{"autostart", "CMEM_FAIL_LOUD", "CMEM_REDACT"} {
		if err != nil && !strings.Contains(err.Error(), name) {
			t.Errorf("the error does not name %s: %v", name, err)
		}
	}
	write(t, d.Config(), `{"skip_subagents": tru`)
	if s, err := LoadSettings(d, env("HOME", "/h", "CMEM_EXCLUDED_PROJECTS", "a, b ,")); err == nil || !s.Autostart || s.UserHome != "/h" || len(s.ExcludedProjects) != 2 {
		t.Errorf("got %+v %v", s, err)
	}
}

// A setting that nobody reads is a promise nobody keeps.
func TestEverySettingIsRead(t *testing.T) {
	unread := map[string]*regexp.Regexp{}
	for f := range reflect.TypeFor[Settings]().Fields() {
		unread[f.Name] = regexp.MustCompile(`\b(s|settings)\.` + f.Name + `\b`)
	}
	for _, root := range []string{"../../ingest", "../../cmd"} {
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || filepath.Base(filepath.Dir(path)) == "home" {
				return err
			}
			data, err := os.ReadFile(path)
			for name, use := range unread {
				if use.Match(data) {
					delete(unread, name)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name := range unread {
		t.Errorf("Settings.%s is read nowhere", name)
	}
}

func BenchmarkMake(b *testing.B) {
	d := made(b)
	for b.Loop() {
		if err := d.Make(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCount(b *testing.B) {
	d := made(b)
	for i := 0; b.Loop(); i++ {
		if err := d.Count("n"+strconv.Itoa(i%8), 1); err != nil {
			b.Fatal(err)
		}
	}
}
