package durable

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// ErrNetwork: a folder that one process must have for itself is on a file system
// that other machines reach too.
var ErrNetwork = errors.New("a network file system does not keep two machines apart")

// Sharing says who else may reach a file system, and so whether our lock and the
// mapped files of the read models can be relied on.
type Sharing int

// The verdicts.
const (
	// Own: the system that runs us has it for itself, or is the only one to write.
	Own Sharing = iota
	// Passed: it is passed on by another system on this machine, or by a program,
	// or is a cluster's with coherent locks. It works for one user at a time; who
	// comes from the other side may not see our lock.
	Passed
	// Network: other machines write to it, and locks or mapped pages are not
	// coherent between them, or are not there at all.
	Network
)

// sharings is the table. What is not in it is Own: an unknown local file system is
// far more likely than an unknown network.
//
// Measured or documented, of flock and of the shared, read-only mappings that
// bbolt and the index read through:
//
//   - nfs turns flock into a lock at the server, but "local_lock" and "nolock" keep
//     it on the client and cannot be told from outside; pages are revalidated at
//     open only, so another client reads old ones; a deleted open file comes back
//     under another name.
//   - cifs, smb: byte ranges locked at the server, without a word if the mount says
//     nobrl; no hard links (our net before a start) on most servers.
//   - afs, coda: the last one to close a file wins, whole.
//   - 9p: locks stay on the client unless the server takes them; without a cache it
//     refuses to map. WSL's /mnt/c and shared folders of several VMs are such.
//   - vboxsf, vmhgfs, prl_fs, and afp, webdav, ftp on macOS: no locks between the
//     sides, no hard links.
//   - fuse: it depends on the program behind it, which Linux names after a dot.
//   - virtiofs, and what Docker Desktop mounts (fuse.grpcfuse, osxfs, fakeowner):
//     containers are used with a mounted ~/.cmem, one at a time, and must work; the
//     lock is not seen by the host, so the sign of life in the lock file has to do
//     (Beat), which it does because the names of hosts differ.
//   - gfs2, ocfs2, gpfs, lustre, ceph: homes of clusters; locks and pages are
//     coherent, or locking fails with an error (lustre without flock), which Acquire
//     tells.
//   - overlay, tmpfs, and all disks: the kernel's own locks and pages.
var sharings = map[string]Sharing{
	"nfs": Network, "nfs4": Network, "cifs": Network, "smb": Network, "smb2": Network, "smb3": Network, "smbfs": Network,
	"afs": Network, "afpfs": Network, "coda": Network, "ncpfs": Network, "9p": Network, "webdav": Network, "ftp": Network,
	"vboxsf": Network, "vmhgfs": Network, "prl_fs": Network, "remote": Network,

	"fuse.sshfs": Network, "fuse.rclone": Network, "fuse.s3fs": Network, "fuse.goofys": Network, "fuse.gcsfuse": Network,
	"fuse.davfs": Network, "fuse.davfs2": Network, "fuse.curlftpfs": Network, "fuse.glusterfs": Network,
	"fuse.juicefs": Network, "fuse.vmhgfs-fuse": Network, "fuse.smbnetfs": Network, "fuse.afpfs": Network,
	"fuse.blobfuse": Network, "fuse.blobfuse2": Network, "fuse.mount-s3": Network, "fuse.seaweedfs": Network,

	"fuse": Passed, "fuseblk": Own, "virtiofs": Passed, "fakeowner": Passed, "osxfs": Passed, "macfuse": Passed, "osxfuse": Passed,
	"gfs2": Passed, "ocfs2": Passed, "gpfs": Passed, "lustre": Passed, "ceph": Passed, "beegfs": Passed,
}

// SharingOf judges a file system by its type, as the system names it. It is a pure
// function.
func SharingOf(fsType string) Sharing {
	fsType = strings.ToLower(fsType)
	if s, ok := sharings[fsType]; ok {
		return s
	}
	if strings.HasPrefix(fsType, "fuse.") {
		return Passed
	}
	return Own
}

// FileSystem names the type of the file system that path is on, or would be on if
// it were made: "ext4", "nfs", "fuse.sshfs". "" where the system does not tell.
func FileSystem(path string) (string, error) {
	if Failpoint("disk.network") != nil {
		return "nfs", nil
	}
	for {
		name, err := fsType(path)
		if !errors.Is(err, os.ErrNotExist) {
			return name, err
		}
		up := filepath.Dir(path)
		if up == path {
			return "", err
		}
		path = up
	}
}

// NetworkError says that dir is on a network. It is an ErrNetwork.
func NetworkError(dir, fsType string) error {
	return fmt.Errorf("%s is on a network file system (%s): %w; choose a folder on a disk of this machine (--data, CMEM_DATA_DIR), or, if only one machine ever uses it, set allow_network_fs", dir, fsType, ErrNetwork)
}

// RequireOwn is NetworkError for the first of dirs that is on a network. A file
// system that cannot be told is not refused.
func RequireOwn(dirs ...string) error {
	for _, dir := range dirs {
		if name, err := FileSystem(dir); err == nil && SharingOf(name) == Network {
			Reached("open.network")
			return NetworkError(dir, name)
		}
	}
	return nil
}
