//go:build linux && (amd64 || arm64 || riscv64 || loong64)

package durable

import (
	"os"
	"syscall"
)

// dontNeed is POSIX_FADV_DONTNEED.
const dontNeed = 4

// forgetPages makes the next read of f come from the disk: pages that a failed
// sync left in memory and called clean are dropped.
func forgetPages(f *os.File) error {
	_, _, errno := syscall.Syscall6(syscall.SYS_FADVISE64, f.Fd(), 0, 0, dontNeed, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
