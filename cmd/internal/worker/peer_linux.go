package worker

import (
	"net"
	"syscall"
)

// peerUID gives the user at the other end of a unix socket.
func peerUID(c *net.UnixConn) (int, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return -1, err
	}
	var cred *syscall.Ucred
	var inner error
	err = raw.Control(func(fd uintptr) {
		cred, inner = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
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
