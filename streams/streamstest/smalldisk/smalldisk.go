//go:build linux

// Package smalldisk gives tests a disk that is small enough to be filled: a tmpfs,
// mounted by root, or in a user namespace of its own.
package smalldisk

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"cmem/streams/durable"
)

// inside says to a test process that it runs in a user namespace of its own.
const inside = "CMEM_TEST_NAMESPACE"

// Run gives f a test that may mount disks: this one, or the same one in a process
// of its own with a user namespace. Where the system grants neither, the test is
// skipped.
func Run(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	if err := try(t); err == nil {
		f(t)
		return
	} else if os.Getenv(inside) != "" {
		t.Fatalf("no tmpfs can be mounted in a user namespace: %v", err)
	}
	unshare, err := exec.LookPath("unshare")
	if err != nil || exec.Command(unshare, "-rm", "true").Run() != nil {
		t.Skip("no tmpfs can be mounted: that needs root, or user namespaces")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(unshare, "-rm", self, "-test.run", "^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$", "-test.v")
	c.Env = append(os.Environ(), inside+"=1")
	out, err := c.CombinedOutput()
	t.Logf("in a user namespace:\n%s", out)
	if err != nil {
		t.Fatal(err)
	}
}

func try(t *testing.T) error {
	dir, err := os.MkdirTemp("", "cm")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=1m"); err != nil {
		return err
	}
	return syscall.Unmount(dir, syscall.MNT_DETACH)
}

// Disk is a mounted tmpfs.
type Disk struct{ Dir string }

// Mount mounts one of size MB at dir, which must be there, until the test ends.
func Mount(t testing.TB, dir string, mb int) Disk {
	t.Helper()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "mode=0700,size="+strconv.Itoa(mb)+"m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return Disk{dir}
}

// New is Mount in a new folder whose path is short enough for a socket.
func New(t testing.TB, mb int) Disk {
	t.Helper()
	dir, err := os.MkdirTemp("", "cm")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return Mount(t, dir, mb)
}

func (d Disk) filler() string { return filepath.Join(d.Dir, ".filler") }

// Fill takes all space but leave bytes, rounded to pages.
func (d Disk) Fill(t testing.TB, leave int64) {
	t.Helper()
	f, err := os.OpenFile(d.filler(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	page := make([]byte, 64<<10)
	for {
		free, err := durable.Free(d.Dir)
		if err != nil {
			t.Fatal(err)
		}
		if free <= leave {
			return
		}
		if _, err := f.Write(page[:min(int64(len(page)), free-leave)]); errors.Is(err, syscall.ENOSPC) {
			return // somebody else took the rest
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// Clear gives the space back.
func (d Disk) Clear(t testing.TB) {
	t.Helper()
	if err := os.Remove(d.filler()); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
}

// ReadOnly mounts it again, for reading only or for writing too. Nothing on it may
// be open for writing.
func (d Disk) ReadOnly(t testing.TB, on bool) {
	t.Helper()
	flags := uintptr(syscall.MS_REMOUNT)
	if on {
		flags |= syscall.MS_RDONLY
	}
	if err := syscall.Mount("none", d.Dir, "tmpfs", flags, ""); err != nil {
		t.Fatal(err)
	}
}
