//go:build linux || darwin

package durable

import (
	"errors"
	"syscall"
)

// Free returns how many bytes a user may still write to the file system of dir.
func Free(dir string) (int64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * int64(s.Bsize), nil
}

// IsFull says whether err is that of a full disk or of a used-up quota.
func IsFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
