//go:build unix

package home

import (
	"os"
	"syscall"
)

// hasModes: permission bits mean something here.
const hasModes = true

// tempDir is fixed: $TMPDIR differs between a user's processes.
const tempDir = "/tmp"

func ownedByUs(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Getuid()
}
