// Package durable holds what must survive a crash: files that appear whole or
// not at all, a lock that dies with its process, and failpoints that let tests
// stop a process at each step between two promises. Standard library only: the
// hook publisher uses it.
//
// A file that WriteFile returned from has its bytes and its name on the disk
// (fsync of the file, then of its folder). A crash before that leaves at most a
// temporary file, which no reader takes for the real one.
package durable

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// TempPattern is how names of temporary files begin when no folder for them is
// given; whoever lists the folder skips them.
const TempPattern = ".tmp-"

// WriteFile puts data at path, whole: written to a temporary file in the same
// folder, synced, renamed, and the folder synced. An older file at path is
// replaced. On an error the older file is as it was, except when only the last
// sync failed: then the new one is there and may not survive a power cut.
func WriteFile(path string, data []byte, perm os.FileMode) error {
	return WriteFileVia(filepath.Dir(path), path, data, perm)
}

// WriteFileVia is WriteFile with the temporary file in another folder of the
// same file system, so that a reader who lists path's folder never sees it.
func WriteFileVia(tempDir, path string, data []byte, perm os.FileMode) error {
	if err := pathpoint("file.create", path); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	temp, err := writeTemp(tempDir, data, perm)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	// A crash from here to the rename costs the temporary file, swept later.
	if err := publish(temp, path); err != nil {
		Reached("file.temporary-removed")
		return fmt.Errorf("write %s: %w", path, errors.Join(err, removeTemp(temp)))
	}
	if err := errors.Join(SyncDir(filepath.Dir(path)), pathpoint("file.done", path)); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// pathpoint is a failpoint of every file that is made here, name, and of this one,
// "name:<its last element>".
func pathpoint(name, path string) error {
	if !Failpoints {
		return nil
	}
	return errors.Join(Failpoint(name), Failpoint(name+":"+filepath.Base(path)))
}

func writeTemp(dir string, data []byte, perm os.FileMode) (name string, err error) {
	f, err := os.CreateTemp(dir, TempPattern+"*")
	if err != nil {
		return "", err
	}
	defer func() {
		if closed := f.Close(); err == nil {
			err = closed
		}
		if err != nil {
			err = errors.Join(err, removeTemp(f.Name()))
		}
	}()
	if err := f.Chmod(perm); err != nil {
		return "", err
	}
	if err := Failpoint("file.write"); err != nil {
		return "", err
	}
	if _, err := f.Write(data); err != nil {
		return "", err
	}
	if err := Failpoint("file.sync"); err != nil {
		return "", err
	}
	return f.Name(), f.Sync()
}

func publish(temp, path string) error {
	if err := Failpoint("file.rename"); err != nil {
		return err
	}
	return os.Rename(temp, path)
}

// removeTemp takes back a file nobody was promised; it may be gone already.
func removeTemp(name string) error {
	if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// SyncDir makes the names in dir durable: files created, renamed or removed
// there before the call survive a power cut after it.
func SyncDir(dir string) error {
	if err := Failpoint("dir.sync"); err != nil {
		return err
	}
	return syncDir(dir)
}

// Remove deletes the file at path and makes that durable. A file that is not
// there is no error.
func Remove(path string) error {
	if err := pathpoint("file.remove", path); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return pathpoint("file.removed", path)
		}
		return err
	}
	return errors.Join(SyncDir(filepath.Dir(path)), pathpoint("file.removed", path))
}
