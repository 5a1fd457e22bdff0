//go:build !failpoint

package durable

// Failpoint does nothing: this build has no failpoints. Built with the tag
// "failpoint" it fails or kills the process where CMEM_FAILPOINTS says so.
func Failpoint(name string) error { return nil }

// Failpoints reports whether this build has them.
const Failpoints = false
