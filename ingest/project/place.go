package project

import (
	"path/filepath"
	"strings"
)

// Place is the folder that a host's cwd means to a process that the host runs in
// dir: dir itself where cwd is empty, or is dir with the bytes that are no UTF-8
// lost on the way; below dir where cwd is relative. An empty dir changes nothing.
func Place(cwd, dir string) string {
	switch {
	case dir == "":
		return cwd
	case cwd == "" || strings.Contains(cwd, "\uFFFD") && lossy(cwd) == lossy(dir):
		return dir
	case relative(cwd):
		return filepath.Join(dir, cwd)
	}
	return cwd
}

// relative: also what is absolute on another system is not.
func relative(cwd string) bool {
	return !filepath.IsAbs(cwd) && !strings.HasPrefix(cwd, "/") && !strings.HasPrefix(cwd, `\`) && !driveLetter(cwd)
}

// lossy is a path as a host may have written it that knows no bytes but UTF-8:
// readers differ in how many U+FFFD stand for a row of them.
func lossy(p string) string {
	const lost = "\uFFFD"
	p = strings.ToValidUTF8(p, lost)
	for strings.Contains(p, lost+lost) {
		p = strings.ReplaceAll(p, lost+lost, lost)
	}
	return p
}
