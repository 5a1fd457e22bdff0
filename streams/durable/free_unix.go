//go:build linux || darwin

package durable

import "syscall"

// Free returns how many bytes a user may still write to the file system of dir.
func Free(dir string) (int64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * int64(s.Bsize), nil
}
