//go:build failpoint

package durable

import (
	"os"
	"sync"
)

var reached struct {
	mu     sync.Mutex
	counts map[string]int
}

// Reached notes that a branch of recovery was taken: in this process, see
// ReachedCounts, and as a line of the file that the environment names
// (CMEM_REACHED), which processes share that may be killed at any moment.
func Reached(branch string) {
	reached.mu.Lock()
	defer reached.mu.Unlock()
	if reached.counts == nil {
		reached.counts = make(map[string]int)
	}
	reached.counts[branch]++
	path := os.Getenv("CMEM_REACHED")
	if path == "" {
		return
	}
	// One write of one short line to a file opened for appending: lines of several
	// processes do not mix.
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return // a full disk must not change what the branch does
	}
	defer f.Close()
	_, _ = f.WriteString(branch + "\n")
}

// ReachedCounts says how often each branch was taken in this process.
func ReachedCounts() map[string]int {
	reached.mu.Lock()
	defer reached.mu.Unlock()
	all := make(map[string]int, len(reached.counts))
	for branch, n := range reached.counts {
		all[branch] = n
	}
	return all
}
