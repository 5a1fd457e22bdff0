package home

import (
	"io/fs"
	"os"
	"path/filepath"
)

// Readable lists what of the folder others than the owner may read or change, as
// paths below it. Where modes say nothing about that, it lists nothing.
func (d Dir) Readable() (all []string, err error) {
	root, err := os.Stat(string(d))
	if err != nil || !hasModes || root.Mode().Perm()&0o077 == 0 {
		return nil, err // nobody gets in, whatever lies there
	}
	err = filepath.WalkDir(string(d), func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // it went away meanwhile
		}
		info, err := e.Info()
		if err != nil || info.Mode()&(fs.ModeSymlink|fs.ModeSocket) != 0 || info.Mode().Perm()&0o077 == 0 {
			return nil
		}
		name, err := filepath.Rel(string(d), path)
		all = append(all, name)
		return err
	})
	return all, err
}
