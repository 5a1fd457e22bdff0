package filter

import (
	"path"
	"path/filepath"
	"runtime"
	"strings"
)

// glob is one pattern of excluded_projects. '*' and '?' stop at '/', '**' does
// not, '[' is an ordinary character, a leading '~' is the user's home.
//
//	/srv/secret, ~/work/acme   that folder and all below
//	work/*-private             such a folder anywhere, and all below
//	secret                     a project of that name; a folder of that name
//	                           below the user's home, or anywhere outside of it
type glob struct {
	pattern string
	home    string // names count below it only; "" unknown
	fold    bool
}

// foldCase: these systems find a file by any letter case.
const foldCase = runtime.GOOS == "darwin" || runtime.GOOS == "windows"

// newGlobs gives the pattern, and a second one where it names a folder through
// a link: hosts report either path.
func newGlobs(pattern, userHome string) []glob {
	p := strings.TrimSpace(pattern)
	userHome = clean(userHome)
	if p == "~" || strings.HasPrefix(p, "~/") || strings.HasPrefix(p, `~\`) {
		if userHome == "" {
			return nil
		}
		p = userHome + p[1:]
	}
	p = clean(p)
	for {
		shorter := strings.TrimSuffix(p, "/**")
		if shorter == p {
			break
		}
		p = shorter
	}
	if p == "" || p == "." {
		return nil
	}
	var out []glob
	for _, p := range resolved(p) {
		g := glob{pattern: p, home: userHome, fold: foldCase || isDrive(p)}
		if g.fold {
			g.pattern, g.home = strings.ToLower(g.pattern), strings.ToLower(g.home)
		}
		out = append(out, g)
	}
	return out
}

// resolved gives a path and, where links make another of it, that one too.
func resolved(p string) []string {
	if isAbs(p) && !strings.ContainsAny(p, "*?") {
		if real, err := filepath.EvalSymlinks(p); err == nil && clean(real) != p {
			return []string{p, clean(real)}
		}
	}
	return []string{p}
}

// name says that the pattern is a bare name and fits a project's.
func (g glob) name(project string) bool {
	if project == "" || strings.Contains(g.pattern, "/") {
		return false
	}
	if g.fold {
		project = strings.ToLower(project)
	}
	// A work tree is called parent/name and belongs to its parent.
	parent, _, _ := strings.Cut(project, "/")
	return match(g.pattern, project) || match(g.pattern, parent)
}

// covers says that the pattern fits a folder or one above it.
func (g glob) covers(p string) bool {
	if p == "" {
		return false
	}
	if g.fold || isDrive(p) {
		p = strings.ToLower(p)
	}
	pattern := g.pattern
	if isDrive(p) {
		pattern = strings.ToLower(pattern)
	}
	if isAbs(pattern) || strings.HasPrefix(pattern, "**") {
		return matchAbove(pattern, p)
	}
	if g.home != "" && inside(p, g.home) {
		// The names above the home are the machine's, not the user's: "dev" must
		// not hide all of /home/dev.
		p = p[len(g.home):]
	}
	return matchAbove("**/"+pattern, p)
}

// matchAbove tries the path and every folder above it.
func matchAbove(pattern, p string) bool {
	for p != "" {
		if match(pattern, p) {
			return true
		}
		i := strings.LastIndexByte(p, '/')
		if i < 0 || p == "/" {
			return false
		}
		p = p[:i]
	}
	return pattern == "/"
}

// match fits pattern to the whole of s. It goes back to the last '*' or '**'
// only, so its time is at most that of the product of the lengths.
func match(pattern, s string) bool {
	type mark struct{ p, s int }
	star, deep := mark{-1, 0}, mark{-1, 0}
	p, i := 0, 0
	for i < len(s) || p < len(pattern) {
		if p < len(pattern) {
			switch c := pattern[p]; {
			case c == '*' && strings.HasPrefix(pattern[p:], "**"):
				for p < len(pattern) && pattern[p] == '*' {
					p++
				}
				if p < len(pattern) && pattern[p] == '/' && i == 0 && !strings.HasPrefix(s, "/") {
					p++ // "**/x" fits "x"
				}
				deep, star = mark{p, i}, mark{-1, 0}
				continue
			case c == '*':
				p++
				star = mark{p, i}
				continue
			case i < len(s) && (c == '?' && s[i] != '/' || c == s[i]):
				p++
				i++
				continue
			}
		}
		if star.p >= 0 && star.s < len(s) && s[star.s] != '/' {
			star.s++
			p, i = star.p, star.s
			continue
		}
		if deep.p >= 0 && deep.s < len(s) {
			deep.s++
			p, i = deep.p, deep.s
			star = mark{-1, 0}
			continue
		}
		return false
	}
	return true
}

// maxPath: no system has longer paths; a host's payload may.
const maxPath = 4096

// clean makes paths of all systems comparable: slashes, no trailing one, no dots.
func clean(p string) string {
	if p == "" {
		return ""
	}
	p = p[:min(len(p), maxPath)]
	if runtime.GOOS == "windows" || isDrive(p) || strings.HasPrefix(p, `\\`) {
		p = strings.ReplaceAll(p, `\`, "/")
	}
	return path.Clean(p)
}

func isDrive(p string) bool {
	return len(p) >= 2 && p[1] == ':' && (p[0]|0x20 >= 'a' && p[0]|0x20 <= 'z') && (len(p) == 2 || p[2] == '/' || p[2] == '\\')
}

func isAbs(p string) bool { return strings.HasPrefix(p, "/") || isDrive(p) }

// inside says that p is dir or below it.
func inside(p, dir string) bool {
	if foldCase || isDrive(p) {
		p, dir = strings.ToLower(p), strings.ToLower(dir)
	}
	return p != "" && dir != "" && (p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/"))
}
