package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

func TestTheKindOfATrouble(t *testing.T) {
	for _, c := range []struct {
		err  error
		want Trouble
	}{
		{nil, NoTrouble},
		{errors.New("anything"), NoTrouble},
		{os.ErrNotExist, NoTrouble},
		{&fs.PathError{Op: "open", Path: "/x", Err: syscall.EACCES}, Denied},
		{fmt.Errorf("open log: %w", os.ErrPermission), Denied},
	} {
		if got := TroubleOf(c.err); got != c.want {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
	if runtime.GOOS == "windows" {
		return // its numbers are others
	}
	for errno, want := range map[syscall.Errno]Trouble{
		syscall.ENOSPC: Full, syscall.EDQUOT: Full, syscall.EROFS: ReadOnly, syscall.EIO: Broken, syscall.EPERM: Denied,
	} {
		if got := TroubleOf(fmt.Errorf("write: %w", errno)); got != want {
			t.Errorf("%v: %q, want %q", errno, got, want)
		}
		if got := TroubleIn("scorch said: " + errno.Error()); got != want {
			t.Errorf("text of %v: %q, want %q", errno, got, want)
		}
		if want.String() == NoTrouble.String() {
			t.Errorf("%q has no words", want)
		}
	}
}

func TestAProbeLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	if err := Probe(dir); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Probe(file); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("of a file: %v", err)
	}
	if err := Probe(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of nothing: %v", err)
	}
	if err := Resync(file); err != nil {
		t.Error(err)
	}
}

func TestWhoSharesAFileSystem(t *testing.T) {
	for want, names := range map[Sharing][]string{
		Own:     {"", "ext4", "xfs", "btrfs", "tmpfs", "overlay", "apfs", "hfs", "zfs", "fuseblk", "something new"},
		Passed:  {"fuse", "fuse.gocryptfs", "fuse.grpcfuse", "fakeowner", "virtiofs", "macfuse", "gfs2", "ceph", "lustre"},
		Network: {"nfs", "NFS", "nfs4", "cifs", "smb2", "smbfs", "afpfs", "webdav", "9p", "vboxsf", "fuse.sshfs", "fuse.rclone", "remote"},
	} {
		for _, name := range names {
			if got := SharingOf(name); got != want {
				t.Errorf("%q: %d, want %d", name, got, want)
			}
		}
	}
}

func TestAFolderThatIsNotThereYetIsOnItsParentsDisk(t *testing.T) {
	dir := t.TempDir()
	here, err := FileSystem(dir)
	if err != nil {
		t.Fatal(err)
	}
	if there, err := FileSystem(filepath.Join(dir, "a", "b", "c")); err != nil || there != here {
		t.Errorf("%q, %v; the folder above is on %q", there, err, here)
	}
	if err := RequireOwn(filepath.Join(dir, "a"), dir); err != nil {
		t.Error(err)
	}
	if err := NetworkError("/home/x", "nfs"); !errors.Is(err, ErrNetwork) || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
}
