package worker

import (
	"net"

	"golang.org/x/sys/unix"
)

// peerUID gives the user at the other end of a unix socket.
func peerUID(c *net.UnixConn) (int, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return -1, err
	}
	var cred *unix.Xucred
	var inner error
	err = raw.Control(func(fd uintptr) {
		cred, inner = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	})
	if err == nil {
		err = inner
	}
	if err != nil {
		return -1, err
	}
	return int(cred.Uid), nil
}

const unixSockets = true
