package streams

import (
	"errors"

	"cmem/streams/durable"
)

var (
	// ErrLocked: another process has the log open; the error names it.
	ErrLocked = durable.ErrLocked
	// ErrForeign: the folder holds something that is not a log of cmem.
	ErrForeign = errors.New("not a log of cmem")
	// ErrNewer: the log was written by a newer version.
	ErrNewer = errors.New("written by a newer version of cmem")
	// ErrMissing: the log was there and its stream is not; nothing was created.
	ErrMissing = errors.New("the log's stream is missing")
	// ErrUnknown: whether the last append was saved is not known now; it will be
	// found out before the next one.
	ErrUnknown = errors.New("not known whether it was saved")
	// ErrDiskFull: less than the reserve is free.
	ErrDiskFull = errors.New("not enough free disk")
	// ErrTooLarge: a body or its attributes are over the limit.
	ErrTooLarge = errors.New("too large for the log")
	// ErrNotFound: no value is at this position.
	ErrNotFound = errors.New("no value at this position")
	// ErrClosed: the log was closed.
	ErrClosed = errors.New("log is closed")
)
