//go:build unix

package main

import (
	"errors"
	"syscall"
)

// readerGone: the other end of the pipe is closed.
func readerGone(err error) bool { return errors.Is(err, syscall.EPIPE) }
