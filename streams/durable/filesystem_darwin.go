package durable

import (
	"os"
	"syscall"
)

func fsType(path string) (string, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return "", &os.PathError{Op: "statfs", Path: path, Err: err}
	}
	var name []byte
	for _, c := range s.Fstypename {
		if c == 0 {
			break
		}
		name = append(name, byte(c))
	}
	return string(name), nil
}
