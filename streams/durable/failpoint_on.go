//go:build failpoint

package durable

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Failpoints reports whether this build has them.
const Failpoints = true

// ErrFailpoint is what an armed failpoint of kind error returns.
var ErrFailpoint = errors.New("failpoint")

// failpoint is one armed name. Guarded by armed.mu.
type failpoint struct {
	kill  bool
	delay time.Duration // it takes longer, and does not fail
	from  int           // first call that fails, 1-based
	once  bool
	hits  int
}

var armed struct {
	mu     sync.Mutex
	read   bool
	points map[string]*failpoint
}

// Failpoint is a named step between two promises. Nothing happens unless
// the environment (CMEM_FAILPOINTS, read at the first call) or Arm armed it:
//
//	name=error     every call returns ErrFailpoint
//	name=error@3   only the third call does
//	name=kill      the process kills itself (SIGKILL)
//	name=kill@3    … at the third call
//	name=delay:5ms every call takes that much longer, and does not fail
//
// Several are separated by ";". A word that cannot be understood panics, so
// that no test passes for want of its failpoint.
func Failpoint(name string) error {
	armed.mu.Lock()
	defer armed.mu.Unlock()
	if !armed.read {
		arm(os.Getenv("CMEM_FAILPOINTS"))
	}
	p := armed.points[name]
	if p == nil {
		return nil
	}
	p.hits++
	if p.hits < p.from || p.once && p.hits > p.from {
		return nil
	}
	Reached("failpoint " + name)
	if p.kill {
		killSelf()
	}
	if p.delay > 0 {
		time.Sleep(p.delay)
		return nil
	}
	return fmt.Errorf("%w %s", ErrFailpoint, name)
}

// Arm replaces what is armed in this process; "" disarms all.
func Arm(spec string) {
	armed.mu.Lock()
	defer armed.mu.Unlock()
	arm(spec)
}

func arm(spec string) {
	armed.read = true
	armed.points = make(map[string]*failpoint)
	for word := range strings.SplitSeq(spec, ";") {
		if word = strings.TrimSpace(word); word == "" {
			continue
		}
		name, kind, _ := strings.Cut(word, "=")
		kind, nth, counted := strings.Cut(kind, "@")
		p := &failpoint{kill: kind == "kill", from: 1, once: counted}
		if counted {
			n, err := strconv.Atoi(nth)
			if err != nil || n < 1 {
				panic("failpoint " + word + ": not a count")
			}
			p.from = n
		}
		if delay, ok := strings.CutPrefix(kind, "delay:"); ok {
			d, err := time.ParseDuration(delay)
			if err != nil || d <= 0 {
				panic("failpoint " + word + ": not a duration")
			}
			p.delay = d
		} else if kind != "kill" && kind != "error" {
			panic("failpoint " + word + ": kind is kill, error or delay:<duration>")
		}
		armed.points[name] = p
	}
}

// killSelf ends the process as kill -9 would: no deferred call, no flush.
func killSelf() {
	p, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = p.Signal(syscall.SIGKILL)
	}
	if err != nil {
		_ = p.Kill()
	}
	select {} // the signal is on its way
}
