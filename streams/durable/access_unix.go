//go:build linux || darwin

package durable

import "syscall"

// mayUse asks with the rights to read, write and search. A read-only mount is
// EROFS to whoever has the rights, also to root.
func mayUse(dir string) error { return syscall.Access(dir, 4|2|1) }
