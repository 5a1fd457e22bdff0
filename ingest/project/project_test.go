package project

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// git runs the real git, to make the repositories that Find reads without it.
func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{
		"-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main",
		"-c", "protocol.file.allow=always", "-c", "commit.gpgsign=false",
	}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func revision(t *testing.T, dir string) string {
	t.Helper()
	out, err := exec.Command("git", "-C", dir, "rev-parse", "HEAD").Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out[:12])
}

// folder gives a temporary folder without links in its path.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func mkdir(t *testing.T, parts ...string) string {
	t.Helper()
	dir := filepath.Join(parts...)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// newRepo makes a repository with one commit.
func newRepo(t *testing.T, parts ...string) string {
	t.Helper()
	dir := mkdir(t, parts...)
	git(t, dir, "init", "-q")
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "first")
	return dir
}

func check[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestFaults(t *testing.T) {
	t.Run("proj-01", func(t *testing.T) {
		dir := folder(t)
		var in struct {
			Setup     []string
			Same      [][]string
			Different [][]string
		}
		data, err := os.ReadFile("../../testdata/faults/inputs/proj-01.json")
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(strings.ReplaceAll(string(data), "/T/", dir+"/")), &in); err != nil {
			t.Fatal(err)
		}
		for _, step := range in.Setup {
			words := strings.Fields(step)
			switch {
			case words[0] == "mkdir":
				mkdir(t, words[1])
			case words[1] == "init":
				newRepo(t, words[2])
			default:
				git(t, words[2], words[3:]...)
			}
		}
		for _, same := range in.Same {
			for _, p := range same {
				check(t, "key of "+p, Find(p).Key(), Find(same[0]).Key())
			}
		}
		for _, different := range in.Different {
			seen := map[string]string{}
			for _, p := range different {
				if other, ok := seen[Find(p).Key()]; ok {
					t.Errorf("%s and %s are one project", p, other)
				}
				seen[Find(p).Key()] = p
			}
		}
		check(t, "display of the work tree", Find(filepath.Join(dir, "wt-hotfix")).Display(), "api/wt-hotfix")
	})
	t.Run("proj-03", func(t *testing.T) {
		dir := folder(t)
		home := mkdir(t, dir, "Home", "Dev")
		t.Setenv("HOME", home)
		real := mkdir(t, home, "work")
		o := Find(home)
		check(t, "scope", o.Scope, "home")
		check(t, "key", o.Key(), "home")
		check(t, "key with a slash", Find(home+"/").Key(), "home")
		check(t, "key from text", FromText("/home/dev", "").Key(), "home")
		check(t, "key from text, Windows", FromText(`C:\Users\dev`, "").Key(), "home")
		check(t, "a folder in it", Find(real).Key(), filepath.ToSlash(real))
		// Dotfiles under version control do not make all of home one project.
		git(t, home, "init", "-q")
		check(t, "home as a repository", Find(home).Key(), "home")
		check(t, "a folder in that", Find(real).Key(), filepath.ToSlash(real))
	})
	t.Run("proj-08", func(t *testing.T) {
		repo := newRepo(t, folder(t), "repo")
		empty := mkdir(t, repo, ".claude", "worktrees", "x")
		o := Find(empty)
		check(t, "key", o.Key(), Find(repo).Key())
		check(t, "parentOf", o.ParentOf, true)
		check(t, "parentOf of a plain sub-folder", Find(mkdir(t, repo, "sub")).ParentOf, false)

		gone := filepath.Join(repo, "a", "b")
		check(t, "deleted: key", Find(gone).Key(), Find(repo).Key())
		check(t, "deleted: parentOf", Find(gone).ParentOf, true)

		lost := mkdir(t, folder(t), "lost", "deep")
		before := Find(lost)
		if err := os.RemoveAll(filepath.Dir(lost)); err != nil {
			t.Fatal(err)
		}
		check(t, "no repository, deleted: key", Find(lost).Key(), before.Key())
		check(t, "no repository, deleted: name", Find(lost).Name, "deep")
	})
}

func TestFind(t *testing.T) {
	t.Run("branch and commit, loose and packed and detached", func(t *testing.T) {
		repo := newRepo(t, folder(t), "r")
		git(t, repo, "checkout", "-q", "-b", "feature/x")
		want := revision(t, repo)
		check(t, "branch", Find(repo).Branch, "feature/x")
		check(t, "commit", Find(repo).Commit, want)
		git(t, repo, "pack-refs", "--all")
		check(t, "packed commit", Find(repo).Commit, want)
		git(t, repo, "checkout", "-q", "--detach")
		check(t, "detached branch", Find(repo).Branch, "")
		check(t, "detached commit", Find(repo).Commit, want)
	})
	t.Run("a remote makes clones one project", func(t *testing.T) {
		dir := folder(t)
		a, b := newRepo(t, dir, "a"), newRepo(t, dir, "b")
		git(t, a, "remote", "add", "origin", "https://me:secret@github.com/Acme/Inventory.git")
		git(t, b, "remote", "add", "origin", "git@github.com:acme/inventory")
		check(t, "key", Find(a).Key(), Find(b).Key())
		check(t, "name", Find(a).Name, "Inventory")
		if text := Find(a).String(); strings.Contains(text, "secret") || strings.Contains(text, "github") {
			t.Errorf("origin holds the remote's URL: %s", text)
		}
	})
	t.Run("a work tree whose parent pruned it still names its parent", func(t *testing.T) {
		dir := folder(t)
		repo, tree := newRepo(t, dir, "repo"), filepath.Join(dir, "tree")
		git(t, repo, "worktree", "add", "-q", tree)
		check(t, "branch", Find(tree).Branch, "tree")
		if err := os.RemoveAll(filepath.Join(repo, ".git", "worktrees")); err != nil {
			t.Fatal(err)
		}
		check(t, "key", Find(tree).Key(), Find(repo).Key())
		check(t, "display", Find(tree).Display(), "repo/tree")
	})
	t.Run("work trees of a bare repository", func(t *testing.T) {
		dir := folder(t)
		bareRepo := filepath.Join(dir, "proj", ".bare")
		git(t, dir, "clone", "-q", "--bare", newRepo(t, dir, "src"), bareRepo)
		git(t, bareRepo, "remote", "remove", "origin")
		tree := filepath.Join(dir, "proj", "fix")
		git(t, bareRepo, "worktree", "add", "-q", tree)
		check(t, "key", Find(tree).Key(), Find(bareRepo).Key())
		check(t, "display", Find(tree).Display(), "proj/fix")
	})
	t.Run("a submodule is its own project and knows its parent", func(t *testing.T) {
		dir := folder(t)
		super := newRepo(t, dir, "super")
		git(t, super, "submodule", "--quiet", "add", newRepo(t, dir, "lib"), "vendored/lib")
		o := Find(filepath.Join(super, "vendored", "lib"))
		check(t, "parent", o.Parent, Find(super).Key())
		if o.Key() == Find(super).Key() {
			t.Error("submodule and parent are one project")
		}
		check(t, "root", o.Root, filepath.ToSlash(filepath.Join(super, "vendored", "lib")))
	})
	t.Run("links lead to one project", func(t *testing.T) {
		dir := folder(t)
		repo := newRepo(t, dir, "repo")
		link := filepath.Join(dir, "link")
		if err := os.Symlink(repo, link); err != nil {
			t.Fatal(err)
		}
		check(t, "key", Find(link).Key(), Find(repo).Key())
		check(t, "cwd", Find(link).Cwd, link)
	})
	t.Run("what cannot be read leaves the folder", func(t *testing.T) {
		dir := folder(t)
		for name, content := range map[string]string{"text": "hello", "nowhere": "gitdir: /nonexistent/x", "empty": ""} {
			root := mkdir(t, dir, name)
			if err := os.WriteFile(filepath.Join(root, ".git"), []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
			check(t, name, Find(mkdir(t, root, "sub")).Key(), filepath.ToSlash(root))
		}
		closed := newRepo(t, dir, "closed")
		if err := os.Chmod(filepath.Join(closed, ".git"), 0); err != nil {
			t.Fatal(err)
		}
		defer os.Chmod(filepath.Join(closed, ".git"), 0o755)
		check(t, "closed", Find(closed).Key(), filepath.ToSlash(closed))
	})
	t.Run("HEAD of a stranger's repository leads nowhere else", func(t *testing.T) {
		dir := folder(t)
		repo := newRepo(t, dir, "repo")
		secret := filepath.Join(dir, "secret")
		if err := os.WriteFile(secret, []byte(strings.Repeat("a", 40)), 0o644); err != nil {
			t.Fatal(err)
		}
		head := filepath.Join(repo, ".git", "HEAD")
		for _, ref := range []string{"refs/../../../secret", "../../secret", secret} {
			if err := os.WriteFile(head, []byte("ref: "+ref+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			check(t, ref, Find(repo).Commit, "")
		}
	})
}

func TestFromText(t *testing.T) {
	for _, c := range []struct{ cwd, key, display string }{
		{`D:\oh-my-posh`, "D:/oh-my-posh", "oh-my-posh"},
		{`d:\oh-my-posh\`, "D:/oh-my-posh", "oh-my-posh"},
		{`C:\`, "C:/", "drive-C"},
		{"/", "/", "root"},
		{`\\server\share\x`, "//server/share/x", "x"},
		{"/Users/dev/wks/cli", "/Users/dev/wks/cli", "cli"},
		{"/Users/dev/ws/cli/.worktrees/hot/fix", "/Users/dev/ws/cli", "cli/hot"},
		{"/srv/r/.claude/worktrees/x/sub", "/srv/r", "r/x"},
		{"", "", ""},
	} {
		o := FromText(c.cwd, "main")
		check(t, "key of "+c.cwd, o.Key(), c.key)
		check(t, "display of "+c.cwd, o.Display(), c.display)
		if runtime.GOOS != "windows" && strings.Contains(c.cwd, `\`) {
			check(t, "found "+c.cwd, Find(c.cwd).Key(), c.key)
		}
	}
}

// A folder found live and the same folder known by name only are one project
// where the package comment says so.
func TestTextAndLiveAgree(t *testing.T) {
	dir := folder(t)
	repo, plain := newRepo(t, dir, "repo"), mkdir(t, dir, "plain")
	for _, p := range []string{repo, plain} {
		check(t, p, FromText(p, "main").Key(), Find(p).Key())
		check(t, p+" past", FindPast(p, "old").Key(), Find(p).Key())
	}
	check(t, "branch of the past", FindPast(repo, "old").Branch, "old")
	check(t, "commit of the past", FindPast(repo, "old").Commit, "")
}

func TestNormalRemote(t *testing.T) {
	same := []string{
		"https://github.com/acme/inv.git", "https://github.com/acme/inv", "https://github.com/Acme/Inv/", "http://github.com/acme/inv",
		"git@github.com:acme/inv.git", "github.com:acme/inv", "ssh://git@github.com/acme/inv.git", "ssh://git@GitHub.com:22/acme/inv",
		"git://github.com/acme/inv", "https://user:pa%40ss@github.com/acme/inv.git", "https://x:p@w@github.com/acme/inv", "https://u:a/b@github.com/acme/inv",
		"git+ssh://git@www.github.com/acme/inv.git",
	}
	for _, url := range same {
		where, _ := normalRemote(url, "/r")
		check(t, url, where, "github.com/acme/inv")
	}
	for url, want := range map[string]string{
		"/srv/git/x.git": "/srv/git/x", "file:///srv/git/x.git": "/srv/git/x", "../x.git": "/x",
		"https://git.example.com/Team/App.git": "git.example.com/Team/App", `C:\git\x.git`: "/C:/git/x", "": "",
		"ssh://git@host:2222/~me/x.git": "host/~me/x",
	} {
		where, _ := normalRemote(url, "/r")
		check(t, url, where, want)
	}
}

func TestStoredForm(t *testing.T) {
	dir := folder(t)
	repo := newRepo(t, dir, "repo")
	git(t, repo, "remote", "add", "origin", "git@github.com:acme/other-name.git")
	tree := filepath.Join(dir, "tree")
	git(t, repo, "worktree", "add", "-q", tree)
	for _, o := range []Origin{Find(repo), Find(mkdir(t, repo, "sub")), Find(tree), Find(mkdir(t, dir, "plain")), FromText(`D:\x`, "b"), FromText("/home/u", "")} {
		back, err := Parse(o.String())
		if err != nil {
			t.Fatal(err)
		}
		check(t, "origin "+o.String(), back, o)
	}
	usual := Origin{
		Cwd: "/Users/dev/Code/agents-md-evaluator", Root: "/Users/dev/Code/agents-md-evaluator", Main: "/Users/dev/Code/agents-md-evaluator",
		Branch: "main", Commit: "0123456789ab", Remote: "0123456789abcdef", Name: "agents-md-evaluator", Machine: "01234567",
	}
	if n := len(usual.String()); n > 160 {
		t.Errorf("a usual origin takes %d bytes, more than 160: %s", n, usual)
	}
	if _, err := Parse("{"); err == nil {
		t.Error("Parse takes half a JSON")
	}
}

// Whatever a host calls a folder, Find and FromText answer, and the stored form
// gives the same key back.
func TestAnyText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cwd := rapid.OneOf(rapid.String(), rapid.StringMatching(`[/\\A-Z:a-z.~ ]{0,40}`)).Draw(t, "cwd")
		for _, o := range []Origin{FromText(cwd, rapid.String().Draw(t, "branch")), Find(cwd)} {
			back, err := Parse(o.String())
			if err != nil {
				t.Fatal(err)
			}
			if back.Key() != o.Key() || back.Display() != o.Display() {
				t.Fatalf("%q: stored as %s: got %q %q, want %q %q", cwd, o, back.Key(), back.Display(), o.Key(), o.Display())
			}
		}
	})
}

func BenchmarkFind(b *testing.B) {
	wd, err := os.Getwd()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		Find(wd)
	}
}
