package streams

import (
	"errors"
	"fmt"

	"cmem/streams/durable"
)

var (
	// ErrLocked: another process has the log open. The error is a
	// *durable.LockedError and names it.
	ErrLocked = durable.ErrLocked
	// ErrForeign: the folder holds something that is not a log of cmem.
	ErrForeign = errors.New("not a log of cmem")
	// ErrNewer: the log was written by a newer version.
	ErrNewer = errors.New("written by a newer version of cmem")
	// ErrMissing: the log was here and its stream is not. Nothing was created;
	// what the server found is in net/.
	ErrMissing = errors.New("the log's stream is missing")
	// ErrDamaged: the log's files are damaged and this version must not mend them.
	// Nothing was changed; a copy is kept.
	ErrDamaged = errors.New("the log's files are damaged")
	// ErrHalted: the log is not what was seen of it before, and takes nothing in. The
	// error is a *Halt.
	ErrHalted = errors.New("the log is not what was seen of it and takes nothing in")
	// ErrUnknown: whether the append was saved is not known now. The log finds
	// out before the next append; sending the same envelopes again is safe.
	ErrUnknown = errors.New("not known whether it was saved")
	// ErrNotSaved: the server refused or lost the append, and the log's end was
	// read to be sure.
	ErrNotSaved = errors.New("not saved")
	// ErrDiskFull: less than the reserve is free.
	ErrDiskFull = errors.New("not enough free disk")
	// ErrStorage: the disk did not let the log write, or gave errors. Nothing that
	// was acknowledged is lost; the log goes on once the disk does.
	ErrStorage = errors.New("the disk does not take it")
	// ErrNetwork: the folder is on a network file system. Nothing was touched.
	ErrNetwork = durable.ErrNetwork
	// ErrExchanged: the log's folder was deleted or exchanged while it was open.
	// Nothing is appended any more: it would go to files that nobody can open.
	ErrExchanged = durable.ErrExchanged
	// ErrTooLarge: a body is over MaxBody or its attributes are over MaxAttributes.
	ErrTooLarge = errors.New("too large for the log")
	// ErrNotFound: no value is at this position.
	ErrNotFound = errors.New("no value at this position")
	// ErrClosed: the log was closed.
	ErrClosed = errors.New("log is closed")
)

// LineError says which line of an export is not what the log wrote, and why.
type LineError struct {
	Line     int64    // 1 for the first
	Position Position // as the line says; 0 where that cannot be read
	Reason   error
}

func (e *LineError) Error() string {
	return fmt.Sprintf("line %d (position %d): %v", e.Line, e.Position, e.Reason)
}

func (e *LineError) Unwrap() error { return e.Reason }
