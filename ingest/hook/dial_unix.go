//go:build unix

package hook

import (
	"io"
	"os"
	"syscall"
	"time"
)

// conn is a unix socket by system calls alone: package net would add a third to
// the binary and its start.
type conn struct {
	fd       int
	deadline time.Time
}

// dial connects to the unix socket at path. All reads and writes of the
// connection end at the deadline.
func dial(path string, deadline time.Time) (*conn, error) {
	if path == "" {
		return nil, os.ErrNotExist
	}
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, err
	}
	syscall.CloseOnExec(fd)
	c := &conn{fd, deadline}
	err = c.until(syscall.SO_SNDTIMEO, func() error {
		return syscall.Connect(fd, &syscall.SockaddrUnix{Name: path})
	})
	if err != nil && err != syscall.EISCONN { // a signal came, and then it was done
		c.Close()
		return nil, err
	}
	return c, nil
}

// until makes one blocking call that ends at the deadline, again after signals.
func (c *conn) until(option int, call func() error) error {
	for {
		left := time.Until(c.deadline)
		if left <= 0 {
			return os.ErrDeadlineExceeded
		}
		tv := syscall.NsecToTimeval(max(left, time.Millisecond).Nanoseconds())
		if err := syscall.SetsockoptTimeval(c.fd, syscall.SOL_SOCKET, option, &tv); err != nil {
			return err
		}
		if err := call(); err != syscall.EINTR {
			return err
		}
	}
}

func (c *conn) Read(p []byte) (n int, err error) {
	err = c.until(syscall.SO_RCVTIMEO, func() (err error) {
		n, err = syscall.Read(c.fd, p)
		return err
	})
	if err != nil {
		return 0, err
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (c *conn) Write(p []byte) (n int, err error) {
	for n < len(p) {
		var m int
		err = c.until(syscall.SO_SNDTIMEO, func() (err error) {
			m, err = syscall.Write(c.fd, p[n:])
			return err
		})
		if err != nil {
			return n, err
		}
		n += m
	}
	return n, nil
}

func (c *conn) Close() error { return syscall.Close(c.fd) }
