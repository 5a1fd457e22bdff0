package worker

import (
	"runtime/debug"
	"sync"
)

// jobGCPercent is how far the heap may grow between collections while a job goes
// through the log or through transcripts: a tenth of such a job's CPU time was
// collection at 100 percent. A memory limit that the user set still holds.
const jobGCPercent = 200

// heap is the process's: its setting has no other owner while jobs run.
var heap struct {
	mu    sync.Mutex
	jobs  int
	usual int
}

// widen lets the heap grow further until the returned function is called.
func widen() (narrow func()) {
	heap.mu.Lock()
	defer heap.mu.Unlock()
	if heap.jobs++; heap.jobs == 1 {
		heap.usual = debug.SetGCPercent(jobGCPercent)
		if heap.usual < 0 || heap.usual > jobGCPercent {
			debug.SetGCPercent(heap.usual)
		}
	}
	return func() {
		heap.mu.Lock()
		defer heap.mu.Unlock()
		if heap.jobs--; heap.jobs == 0 {
			debug.SetGCPercent(heap.usual)
		}
	}
}
