package project

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestPlaceIsAFolderOfThisProcess(t *testing.T) {
	for _, c := range []struct{ cwd, dir, want string }{
		{"", "/srv/a", "/srv/a"},
		{".", "/srv/a", "/srv/a"},
		{"./b", "/srv/a", "/srv/a/b"},
		{"..", "/srv/a", "/srv"},
		{"/srv/b", "/srv/a", "/srv/b"},
		{`C:\work`, "/srv/a", `C:\work`},
		{`\\server\share`, "/srv/a", `\\server\share`},
		{".", "", "."},
		{"/srv/x\uFFFD\uFFFDy", "/srv/x\xff\xfey", "/srv/x\xff\xfey"},
		{"/srv/x\uFFFDy", "/srv/x\xff\xfey", "/srv/x\xff\xfey"},
		{"/srv/x\uFFFDy", "/srv/z\xffy", "/srv/x\uFFFDy"},
	} {
		if got := Place(c.cwd, c.dir); got != c.want && runtime.GOOS != "windows" {
			t.Errorf("%q in %q: got %q, want %q", c.cwd, c.dir, got, c.want)
		}
	}
}

func TestFoldersThatDifferInNoUTF8AreTwoProjects(t *testing.T) {
	top := t.TempDir()
	keys := map[string]string{}
	for _, name := range []string{"x\xff", "x\xfe", "x\xef", "x\uFFFD", "x", "x\xef\xbf"} {
		dir := filepath.Join(top, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Skipf("this file system has names in UTF-8 only: %v", err)
		}
		for _, o := range []Origin{Find(dir), FromText(dir, "")} {
			back, err := Parse(o.String())
			if err != nil || back.Key() != o.Key() {
				t.Errorf("%q: stored as %q, read as %q, %v", name, o.Key(), back.Key(), err)
			}
			if other, taken := keys[back.Key()]; taken && other != name {
				t.Errorf("%q and %q are one project, %q", name, other, back.Key())
			}
			keys[back.Key()] = name
		}
	}
}

func TestARelativeFolderThatNobodyKnowsIsNoProject(t *testing.T) {
	for _, cwd := range []string{".", "./", "..", "../x", "a/.."} {
		if key := Find(cwd).Key(); key != "" {
			t.Errorf("%q is the project %q", cwd, key)
		}
		if key := FindPast(cwd, "main").Key(); key != "" {
			t.Errorf("%q is the project %q", cwd, key)
		}
	}
}
