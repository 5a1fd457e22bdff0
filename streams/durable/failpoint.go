//go:build !failpoint

package durable

// Failpoint does nothing: this build has no failpoints. Built with the tag
// "failpoint" it fails or kills the process where CMEM_FAILPOINTS says so.
func Failpoint(name string) error { return nil }

// Failpoints reports whether this build has them.
const Failpoints = false

// Reached notes that a branch of recovery was taken. It does nothing in this build;
// built with the tag "failpoint" the branches are counted.
func Reached(branch string) {}
