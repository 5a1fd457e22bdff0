package hook

import (
	"net"
	"time"
)

// dial connects to the unix socket at path. All reads and writes of the
// connection end at the deadline.
func dial(path string, deadline time.Time) (net.Conn, error) {
	c, err := net.DialTimeout("unix", path, time.Until(deadline))
	if err != nil {
		return nil, err
	}
	return c, c.SetDeadline(deadline)
}
