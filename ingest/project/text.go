package project

import (
	"fmt"
	"path"
	"strings"
	"unicode/utf8"
)

// FromText gives the origin of a folder known by its name only: from another
// machine, another system, or gone. It looks at no file. branch may be "".
func FromText(cwd, branch string) Origin {
	if nowhere(cwd) {
		return Origin{}
	}
	o := Origin{Cwd: bounded(cwd), Branch: line(branch)}
	folder := slashed(o.Cwd)
	if isHome(folder) {
		o.Main, o.Name, o.Scope = folder, "home", "home"
		return o
	}
	if i := worktreeMark(folder); i > 0 {
		o.Main, o.ParentOf = folder[:i], true
		_, rest, _ := strings.Cut(folder[i+1:], "worktrees/")
		o.Worktree, _, _ = strings.Cut(rest, "/")
	} else {
		o.Main = folder
	}
	o.Name = folderName(o.Main)
	return o
}

// bounded bounds a path.
func bounded(cwd string) string { return exact(cwd[:min(len(cwd), maxPath)]) }

// nowhere says that a path leads from a folder that is not told to that folder or
// out of it: everybody's "." is another one.
func nowhere(cwd string) bool {
	cwd = path.Clean(slashed(cwd))
	return cwd == "." || cwd == ".." || strings.HasPrefix(cwd, "../")
}

// exact writes bytes that are no UTF-8 as U+FFFD and their two digits, since JSON
// has no way to say them and would make two folders one.
func exact(p string) string {
	if utf8.ValidString(p) {
		return p
	}
	var b strings.Builder
	for i, r := range p {
		b.WriteRune(r)
		if r == utf8.RuneError && !strings.HasPrefix(p[i:], "\uFFFD") {
			fmt.Fprintf(&b, "%02x", p[i])
		}
	}
	return b.String()
}

// worktreeMark gives where a path leaves a repository for a work tree that
// agents keep inside it, -1 if it does not.
func worktreeMark(folder string) int {
	for _, mark := range []string{"/.claude/worktrees/", "/.worktrees/"} {
		if i := strings.Index(folder, mark); i >= 0 {
			return i
		}
	}
	return -1
}

// agentWorktree says that a path below a repository's root is a work tree that
// was to be and has no repository of its own.
func agentWorktree(below string) bool {
	return worktreeMark(below+"/") == 0 && strings.Trim(strings.TrimPrefix(strings.TrimPrefix(below, "/.claude/worktrees"), "/.worktrees"), "/") != ""
}

// isHome knows the usual places of home folders.
func isHome(folder string) bool {
	if folder == "/root" || folder == "/var/root" {
		return true
	}
	if driveLetter(folder) {
		folder = strings.ToLower(folder[2:])
	}
	dir, name := path.Split(folder)
	return name != "" && (dir == "/home/" || dir == "/Users/" || dir == "/users/")
}

// slashed makes paths of all systems one form: slashes, no dots, a drive's
// letter upper case.
func slashed(p string) string {
	if driveLetter(p) || strings.HasPrefix(p, `\\`) {
		p = strings.ReplaceAll(p, `\`, "/")
	}
	unc := strings.HasPrefix(p, "//")
	p = path.Clean(p)
	if unc && strings.HasPrefix(p, "/") && !strings.HasPrefix(p, "//") {
		p = "/" + p
	}
	if driveLetter(p) {
		p = strings.ToUpper(p[:1]) + p[1:]
		if len(p) == 2 {
			p += "/"
		}
	}
	return p
}

// folderName is the name of a project that has no remote.
func folderName(folder string) string {
	switch name := baseName(folder); {
	case name == "/" || name == "":
		return "root"
	case driveLetter(name):
		return "drive-" + name[:1]
	default:
		return line(name)
	}
}
