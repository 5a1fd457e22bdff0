package worker

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
)

// ownUser lets only connections of our own OS user through; others are closed
// before a byte is read.
type ownUser struct {
	*net.UnixListener
	log *slog.Logger
}

// Accept waits for the next connection of our own user.
func (l ownUser) Accept() (net.Conn, error) {
	for {
		c, err := l.AcceptUnix()
		if err != nil {
			return nil, err
		}
		uid, err := peerUID(c)
		if err == nil && uid == os.Getuid() {
			return c, nil
		}
		l.log.Warn("connection of another user refused", "uid", uid, "err", err)
		_ = c.Close()
	}
}

// listenUnix puts a socket at path, in place of a stale one. Call it only while
// the data folder's lock is ours: then whoever left the old file is gone.
func listenUnix(path string, log *slog.Logger) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	if info, err := os.Lstat(path); err == nil {
		if info.Mode().Type() != os.ModeSocket {
			return nil, fmt.Errorf("%s is in the way: it is not a socket", path)
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return ownUser{l, log}, nil
}

// portsTried is how far the worker looks for a free port.
const portsTried = 100

// listenTCP listens on the loopback address at first or the next free port; 0
// takes any.
func listenTCP(first int) (net.Listener, error) {
	if first == 0 {
		return net.Listen("tcp4", "127.0.0.1:0")
	}
	var last error
	for port := first; port < first+portsTried && port < 1<<16; port++ {
		l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			return l, nil
		}
		last = err
	}
	return nil, fmt.Errorf("no free port from %d on: %w", first, last)
}

// defaultPort is the port a user's worker tries first.
func defaultPort() int { return 38700 + max(os.Getuid(), 0)%100 }
