package project

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// maxDepth: no real path has more elements.
const maxDepth = 256

// maxPath: no system has longer paths.
const maxPath = 4096

// Find looks the origin of a folder up in files. It always gives an answer: for
// a folder that is gone, by its text and what is left of the folders above it.
func Find(cwd string) Origin {
	o := find(cwd)
	for _, p := range []*string{&o.Cwd, &o.Root, &o.Main, &o.Name, &o.Worktree} {
		*p = exact(*p)
	}
	return o
}

func find(cwd string) Origin {
	if cwd == "" {
		return Origin{}
	}
	if !local(cwd) {
		return FromText(cwd, "")
	}
	folder := filepath.Clean(cwd)
	home := userHome()
	dir, rest := existing(folder)
	if rest == "" && home != "" && (folder == home || dir == resolve(home)) {
		return homeOrigin(cwd)
	}
	o := Origin{Cwd: cwd, Machine: machine()}
	if r, ok := repository(dir); ok && r.root != resolve(home) {
		r.describe(&o)
		o.ParentOf = rest != "" || agentWorktree(strings.TrimPrefix(slashed(dir), slashed(r.root)))
		return o
	}
	if rest != "" {
		o = FromText(cwd, "")
		if !o.ParentOf && o.Scope == "" {
			o.Main = slashed(filepath.Join(dir, rest))
		}
		o.Machine = machine()
		return o
	}
	o.Main = slashed(dir)
	o.Name = folderName(o.Main)
	return o
}

// FindPast is Find for words said some time ago: the project is what the files
// say now, the branch is what was said then, and the commit is not known.
func FindPast(cwd, branch string) Origin {
	o := Find(cwd)
	o.Branch, o.Commit = line(branch), ""
	return o
}

func homeOrigin(cwd string) Origin {
	return Origin{Cwd: cwd, Main: slashed(filepath.Clean(cwd)), Name: "home", Scope: "home", Machine: machine()}
}

// local says that a path may be looked at: absolute, of this system, and on no
// network share (a server that is down would hold the hook up).
func local(cwd string) bool {
	return len(cwd) <= maxPath && filepath.IsAbs(cwd) && !strings.HasPrefix(cwd, `\\`) &&
		!(runtime.GOOS == "windows" && strings.HasPrefix(cwd, "//")) && strings.IndexByte(cwd, 0) < 0
}

// userHome follows the environment, as the hosts do.
func userHome() string {
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Clean(home)
}

func resolve(p string) string {
	if p == "" {
		return ""
	}
	if real, err := filepath.EvalSymlinks(p); err == nil {
		return real
	}
	return p
}

// existing gives the nearest folder above p that is there, links resolved, and
// the part of p below it ("" if p is there).
func existing(p string) (dir, rest string) {
	dir = p
	for range maxDepth {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			if info, err := os.Stat(real); err == nil && info.IsDir() {
				return real, rest
			}
		}
		up := filepath.Dir(dir)
		if up == dir {
			break
		}
		rest = filepath.Join(filepath.Base(dir), rest)
		dir = up
	}
	return dir, rest
}

// repo is a repository found on disk.
type repo struct {
	root   string // work tree, or the bare repository
	gitDir string // HEAD is here; "" if the pointer to it cannot be read
	common string // config and refs are here
	kind   kind
}

type kind byte

const (
	plainRepo kind = iota
	linked         // a work tree of another one's repository
	submodule
	bare
)

// repository finds the repository around dir, the innermost one.
func repository(dir string) (repo, bool) {
	for range maxDepth {
		if info, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			return open(dir, info), true
		} else if os.IsPermission(err) {
			return repo{root: dir}, true
		}
		if isBare(dir) {
			return repo{root: dir, gitDir: dir, common: dir, kind: bare}, true
		}
		up := filepath.Dir(dir)
		if up == dir {
			break
		}
		dir = up
	}
	return repo{}, false
}

// open reads where a work tree's repository is. What cannot be read leaves a
// repository of which only the root is known.
func open(root string, dotGit os.FileInfo) repo {
	pointer := filepath.Join(root, ".git")
	if dotGit.IsDir() {
		return repo{root: root, gitDir: pointer, common: pointer}
	}
	text, ok := strings.CutPrefix(firstLine(pointer), "gitdir:")
	if !ok {
		return repo{root: root}
	}
	r := repo{root: root, gitDir: within(root, strings.TrimSpace(text))}
	r.common = r.gitDir
	switch parent := filepath.Dir(r.gitDir); {
	case firstLine(filepath.Join(r.gitDir, "commondir")) != "":
		r.common = within(r.gitDir, firstLine(filepath.Join(r.gitDir, "commondir")))
		r.kind = linked
	case filepath.Base(parent) == "worktrees": // pruned; the text still tells
		r.common = filepath.Dir(parent)
		r.kind = linked
	case strings.Contains(slashed(r.gitDir), "/modules/"):
		r.kind = submodule
	}
	return r
}

func within(dir, p string) string {
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(dir, p)
}

func isBare(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.IsDir() == (name == "HEAD") {
			return false
		}
	}
	return true
}

// describe fills in what the repository tells.
func (r repo) describe(o *Origin) {
	o.Root, o.Main = slashed(r.root), slashed(r.root)
	var c config
	if r.common != "" {
		c = readConfig(filepath.Join(r.common, "config"))
		o.Branch, o.Commit = r.head()
	}
	if r.kind == linked {
		o.Main = slashed(resolve(r.mainTree(c)))
		o.Worktree = filepath.Base(r.root)
	}
	o.Name = folderName(o.Main)
	if where, name := normalRemote(c.url(), o.Main); where != "" {
		o.Remote = hash(where, 16)
		o.Name = name
	}
	if r.kind == submodule {
		if super, ok := repository(filepath.Dir(r.root)); ok {
			super.kind = keepKind(super.kind)
			var parent Origin
			super.describe(&parent)
			o.Parent = parent.Key()
		}
	}
}

// keepKind ends the chain of submodules at the first parent: one link is kept.
func keepKind(k kind) kind {
	if k == submodule {
		return plainRepo
	}
	return k
}

// mainTree is what stands for the project of a linked work tree.
func (r repo) mainTree(c config) string {
	switch {
	case filepath.Base(r.common) == ".git":
		return filepath.Dir(r.common)
	case c.worktree != "":
		return within(r.common, c.worktree)
	}
	return r.common
}
