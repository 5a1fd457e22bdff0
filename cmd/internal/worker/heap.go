package worker

import (
	"runtime"
	"runtime/debug"
	"sync"
)

// jobGCPercent is how far the heap may grow between collections while a job goes
// through the log or through transcripts: a tenth of such a job's CPU time was
// collection at 100 percent. A memory limit that the user set still holds.
const jobGCPercent = 200

// jobThreads is how many more threads may run Go while a job does: a job keeps one
// busy for each processor, and a request that comes meanwhile would wait until one
// of them is taken away from it. The system shares processors more finely than
// that, and lets those go first who have slept.
const jobThreads = 2

// heap is the process's: its settings have no other owner while jobs run.
var heap struct {
	mu      sync.Mutex
	jobs    int
	usual   int
	threads int
}

// widen lets the heap grow further, and requests run beside the job, until the
// returned function is called.
func widen() (narrow func()) {
	heap.mu.Lock()
	defer heap.mu.Unlock()
	if heap.jobs++; heap.jobs == 1 {
		heap.usual = debug.SetGCPercent(jobGCPercent)
		if heap.usual < 0 || heap.usual > jobGCPercent {
			debug.SetGCPercent(heap.usual)
		}
		heap.threads = runtime.GOMAXPROCS(0)
		runtime.GOMAXPROCS(heap.threads + jobThreads)
	}
	return func() {
		heap.mu.Lock()
		defer heap.mu.Unlock()
		if heap.jobs--; heap.jobs == 0 {
			debug.SetGCPercent(heap.usual)
			runtime.GOMAXPROCS(heap.threads)
		}
	}
}
