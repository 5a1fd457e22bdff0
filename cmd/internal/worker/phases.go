package worker

import (
	"context"
	"sync"

	"cmem/cmd/internal/api"
)

// phases remembers every step of a start, for those who come late, and wakes
// those who wait for the next.
type phases struct {
	mu    sync.Mutex
	steps []api.Progress
	more  chan struct{} // closed and replaced at every step
}

func newPhases() *phases {
	return &phases{steps: []api.Progress{{Phase: api.PhaseStarting}}, more: make(chan struct{})}
}

// set records a step. A step that repeats the last one's phase replaces its
// message; nothing follows failed.
func (p *phases) set(s api.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if last := p.steps[len(p.steps)-1]; last == s || last.Phase == api.PhaseFailed {
		return
	}
	p.steps = append(p.steps, s)
	close(p.more)
	p.more = make(chan struct{})
}

// now is the last step.
func (p *phases) now() api.Progress {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.steps[len(p.steps)-1]
}

// watch tells every step from the first on, until ready, failed or ctx is done.
func (p *phases) watch(ctx context.Context, tell func(api.Progress) error) error {
	for n := 0; ; {
		p.mu.Lock()
		steps, more := p.steps[n:], p.more
		p.mu.Unlock()
		for _, s := range steps {
			n++
			if err := tell(s); err != nil {
				return err
			}
			if s.Phase == api.PhaseReady || s.Phase == api.PhaseFailed {
				return nil
			}
		}
		select {
		case <-more:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
