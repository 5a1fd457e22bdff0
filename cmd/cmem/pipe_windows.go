package main

import (
	"errors"
	"syscall"
)

// noData is ERROR_NO_DATA, "the pipe is being closed".
const noData = syscall.Errno(232)

// readerGone: the other end of the pipe is closed.
func readerGone(err error) bool {
	return errors.Is(err, syscall.ERROR_BROKEN_PIPE) || errors.Is(err, noData) || errors.Is(err, syscall.EPIPE)
}
