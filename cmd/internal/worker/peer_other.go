//go:build !linux && !darwin

package worker

import (
	"errors"
	"net"
)

// unixSockets is false where the peer of one cannot be named: there the worker
// listens on TCP only and every caller brings the token.
const unixSockets = false

func peerUID(*net.UnixConn) (int, error) {
	return -1, errors.New("the user at the other end cannot be named on this system")
}
