//go:build unix

package hook

import (
	"os"
	"strconv"
	"syscall"
)

func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// keepHandles marks every handle that a host left open in us, so that a child
// does not get it: a pipe held by the worker would make the host wait for its
// end.
func keepHandles() {
	dir, err := os.Open("/dev/fd")
	if err != nil {
		return
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // what could be read is still worth marking
	for _, name := range names {
		if fd, err := strconv.Atoi(name); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}
