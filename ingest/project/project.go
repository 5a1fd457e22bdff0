// Package project says which project a folder belongs to, from files only.
package project

// Origin is where something was said.
type Origin struct {
	Cwd      string // as the host gave it
	Root     string // the git work tree, or "" outside of git
	Branch   string
	Commit   string // first 12 digits
	Remote   string // hash of the normalised origin URL, "" none
	Machine  string // hash
	Main     string // the folder that stands for the project: main work tree, git common dir or folder
	Name     string // repository name
	Worktree string // name of a linked work tree, "" the main one
	ParentOf bool   // the folder itself is gone or no repository; a folder above answered
	Parent   string // key of the repository this one is a submodule of
	Scope    string // "home": the user's home folder, no project
}

// Find looks the origin of a folder up in files; it never runs git.
func Find(cwd string) Origin { return Origin{Cwd: cwd} }

// FromText gives the origin of a folder known by name only.
func FromText(cwd, branch string) Origin { return Origin{Cwd: cwd, Branch: branch} }

// Key names the project.
func (o Origin) Key() string { return "" }

// Display is the name for people: Name, or parent/worktree.
func (o Origin) Display() string { return o.Name }

// String is the compact JSON stored as an attribute.
func (o Origin) String() string { return "" }

// Parse reads String's form.
func Parse(s string) (Origin, error) { return Origin{}, nil }
