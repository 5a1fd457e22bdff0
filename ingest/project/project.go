// Package project says which project a folder belongs to. It reads a few small
// files and never runs git: a rebuild may not look at git, so what is worth
// knowing is looked up once, at capture, and stored with the envelope as a
// short JSON text (Origin.String).
//
// The project's key is, in this order: "home" for the user's home folder, the
// hash of the repository's remote, the path of the main work tree (or bare
// repository), the folder itself. So clones on two machines are one project,
// two folders of one name are two, and a linked work tree is its parent's.
//
// A folder known by name only (FromText) has no remote. Its key is equal to that
// of a live look-up where there is no remote, where the folder is the root of
// its work tree and where no link leads to it; else the two differ, and who can
// look at the folder should (FindPast).
//
// The work is bounded: one look per path element, a few files with a cap on
// their size; nothing that is no plain file is opened; paths of other systems
// and of network shares are taken as text. Standard library only.
package project

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"
)

// Origin is where something was said. Paths have slashes on every system.
type Origin struct {
	Cwd      string // as the host gave it
	Root     string // work tree or bare repository around Cwd, links resolved; "" none
	Main     string // what stands for the project: main work tree, bare repository or folder
	Branch   string
	Commit   string // its first 12 digits
	Remote   string // hash of the remote's URL without scheme, user and password; "" none
	Name     string // of the repository or folder
	Worktree string // name of a linked work tree, "" for the main one
	Parent   string // key of the repository that this submodule is part of
	Machine  string // hash of the machine's id, "" where only text is known
	ParentOf bool   // Cwd is gone or not set up; a folder above it answered
	Scope    string // "home": the user's home folder, which is no project
}

// Key names the project, "" if nothing is known.
func (o Origin) Key() string {
	switch {
	case o.Scope != "":
		return o.Scope
	case o.Remote != "":
		return o.Remote
	}
	return o.Main
}

// Display is the name for people: the repository's, or parent/worktree.
func (o Origin) Display() string {
	name := o.Name
	if name == "" && o.Main != "" {
		name = path.Base(o.Main) // as Parse reads it
	}
	if o.Worktree != "" {
		return name + "/" + o.Worktree
	}
	return name
}

// stored is the compact form. What follows from another member is left out:
// readers take main, else root, else cwd for the project's folder, scope, else
// remote, else that folder for its key, and the folder's last part for its name.
type stored struct {
	Cwd      string `json:"cwd,omitempty"`
	Root     string `json:"root,omitempty"`
	Main     string `json:"main,omitempty"`
	Branch   string `json:"branch,omitempty"`
	Commit   string `json:"commit,omitempty"`
	Remote   string `json:"remote,omitempty"`
	Name     string `json:"name,omitempty"`
	Worktree string `json:"worktree,omitempty"`
	Parent   string `json:"parent,omitempty"`
	Machine  string `json:"machine,omitempty"`
	ParentOf bool   `json:"parentOf,omitempty"`
	Scope    string `json:"scope,omitempty"`
}

// String is the stored form, JSON; "" for an empty origin.
func (o Origin) String() string {
	if o == (Origin{}) {
		return ""
	}
	s := stored(o)
	if s.Root == s.Cwd && s.Commit+s.Remote != "" {
		s.Root = ""
	}
	folder := s.Cwd
	if o.Root != "" {
		folder = o.Root
	}
	if s.Main == folder {
		s.Main = ""
	} else {
		folder = s.Main
	}
	if s.Name == path.Base(folder) {
		s.Name = ""
	}
	text, err := json.Marshal(s)
	if err != nil { // strings and a bool only
		return ""
	}
	return string(text)
}

// Parse reads String's form.
func Parse(text string) (Origin, error) {
	var s stored
	if text == "" {
		return Origin{}, nil
	}
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return Origin{}, fmt.Errorf("origin: %w", err)
	}
	if s.Root == "" && s.Commit+s.Remote != "" {
		s.Root = s.Cwd
	}
	if s.Main == "" {
		s.Main = s.Root
	}
	if s.Main == "" {
		s.Main = s.Cwd
	}
	if s.Name == "" {
		s.Name = path.Base(s.Main)
	}
	return Origin(s), nil
}

// baseName is the last part of a path, without the ending of bare repositories.
func baseName(p string) string {
	base := path.Base(p)
	switch base {
	case ".git", ".bare", "bare":
		base = path.Base(path.Dir(p))
	case ".", "":
		return ""
	}
	if shorter := strings.TrimSuffix(base, ".git"); shorter != "" {
		base = shorter
	}
	return base
}
