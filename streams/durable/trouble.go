package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// Trouble is a kind of refusal that lies with the disk, or the rights to it, and
// not with what was asked of it: asked again once that is mended, it works.
type Trouble string

// The kinds. Their texts are stable.
const (
	NoTrouble Trouble = ""
	Full      Trouble = "full"     // no space, or a used-up quota
	ReadOnly  Trouble = "readonly" // the file system was mounted, or became, read-only
	Denied    Trouble = "denied"   // the rights of a file or folder
	Broken    Trouble = "io"       // the device gave an input/output error
)

// String says the kind in words that go behind a path.
func (t Trouble) String() string {
	switch t {
	case Full:
		return "the disk is full"
	case ReadOnly:
		return "the file system is read-only"
	case Denied:
		return "permission denied"
	case Broken:
		return "the disk gives input/output errors"
	}
	return "no trouble"
}

// TroubleOf says which trouble err tells of, NoTrouble if of none of them.
func TroubleOf(err error) Trouble {
	switch {
	case err == nil:
		return NoTrouble
	case IsFull(err):
		return Full
	case errors.Is(err, syscall.EROFS):
		return ReadOnly
	case errors.Is(err, syscall.EIO):
		return Broken
	case errors.Is(err, fs.ErrPermission):
		return Denied
	}
	return NoTrouble
}

// TroubleIn is TroubleOf for what a library tells as text only.
func TroubleIn(text string) Trouble {
	for _, e := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EIO, syscall.EACCES, syscall.EPERM} {
		if strings.Contains(text, e.Error()) {
			return TroubleOf(e)
		}
	}
	return NoTrouble
}

// Probe finds out whether files can be made, written, synced and listed in dir, by
// doing it: the file is gone again when it returns. The error has the path and the
// system's reason.
func Probe(dir string) (err error) {
	if err := CheckAccess(dir); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, TempPattern+"probe-*")
	if err != nil {
		return err
	}
	_, err = f.Write([]byte("x"))
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

// CheckAccess says whether files of dir may be read, made and removed by this
// process, without touching any: the mount and the rights are asked. What it
// cannot see (a device that fails) only Probe does.
func CheckAccess(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s: not a folder", dir)
	}
	if err := mayUse(dir); err != nil {
		return &fs.PathError{Op: "access", Path: dir, Err: err}
	}
	return nil
}
