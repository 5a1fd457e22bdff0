package home

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// maxSocket is below what every system takes as a socket's path (macOS 104
// bytes with the final zero, Linux 108).
const maxSocket = 100

// Socket is the worker's unix socket: run/cmem.sock, or, if that path is too
// long for a socket, a file named by hash in the user's runtime folder. The
// answer does not depend on the environment, so that a hook started by an
// editor and a worker started by a shell agree. It is "" when the runtime
// folder belongs to somebody else.
func (d Dir) Socket() string {
	path := d.join("run", "cmem.sock")
	if len(path) <= maxSocket {
		return path
	}
	dir := runtimeDir()
	if info, err := os.Lstat(dir); err == nil && !private(info) {
		return ""
	}
	sum := sha256.Sum256([]byte(d))
	return filepath.Join(dir, "cmem-"+hex.EncodeToString(sum[:8])+".sock")
}

// runtimeDir is /run/user/UID where the system keeps one, else a folder of our
// own below the temporary folder.
func runtimeDir() string {
	uid := strconv.Itoa(os.Getuid())
	system := filepath.Join("/run/user", uid)
	if info, err := os.Stat(system); err == nil && private(info) {
		return system
	}
	return filepath.Join(tempDir, "cmem-"+uid)
}

// private says that info is a folder (no link) of this user that nobody else
// can write to or look into.
func private(info os.FileInfo) bool {
	return info.IsDir() && ownedByUs(info) && (!hasModes || info.Mode().Perm()&0o077 == 0)
}

func (d Dir) makeSocketDir() error {
	if len(d.join("run", "cmem.sock")) <= maxSocket {
		return nil
	}
	dir := runtimeDir()
	if err := os.Mkdir(dir, 0o700); err != nil && !os.IsExist(err) {
		return fmt.Errorf("runtime folder: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("runtime folder: %w", err)
	}
	if !private(info) {
		return fmt.Errorf("runtime folder %s is not this user's alone", dir)
	}
	return nil
}
