package streams

import (
	"context"
	"sync"
)

// head is the newest value's place and those who wait for it to move.
type head struct {
	mu    sync.Mutex
	at    Checkpoint
	moved chan struct{} // closed when at moves; nil while nobody waits
}

func (h *head) get() Checkpoint {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.at
}

func (h *head) set(at Checkpoint) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at = at
	if h.moved != nil {
		close(h.moved)
		h.moved = nil
	}
}

// wait returns nil once the head is past after, or the first reason not to wait.
func (h *head) wait(ctx context.Context, after Position, closed <-chan struct{}) error {
	for {
		moved, past := h.watch(after)
		if past {
			return nil
		}
		select {
		case <-moved:
		case <-closed:
			return ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (h *head) watch(after Position) (moved <-chan struct{}, past bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.at.Position > after {
		return nil, true
	}
	if h.moved == nil {
		h.moved = make(chan struct{})
	}
	return h.moved, false
}
