package streams

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"sync"
)

// maxGaps bounds what is remembered; more are still logged.
const maxGaps = 1000

// Gap is a run of sequences whose message is gone or cannot be read, and which
// nothing explains.
type Gap struct {
	First, Last Position
	Reason      string
}

func (g Gap) String() string {
	if g.First == g.Last {
		return fmt.Sprintf("position %d: %s", g.First, g.Reason)
	}
	return fmt.Sprintf("positions %d to %d: %s", g.First, g.Last, g.Reason)
}

// gaps remembers what reads came upon, each once.
type gaps struct {
	log  *slog.Logger
	mu   sync.Mutex
	seen map[Position]Gap // by First
	told explained        // set before anything reads
}

// explain says whether findings tell of everything in the gap.
func (g *gaps) explains(gap Gap) bool {
	for at := gap.First; at <= gap.Last; at++ {
		if !g.told.has(uint64(at)) {
			return false
		}
	}
	return true
}

func (g *gaps) found(gap Gap) {
	if g.explains(gap) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if old, ok := g.seen[gap.First]; ok && old.Last >= gap.Last {
		return
	}
	if g.seen == nil {
		g.seen = make(map[Position]Gap)
	}
	if len(g.seen) < maxGaps {
		g.seen[gap.First] = gap
	}
	g.log.Error("log is damaged", "first", gap.First, "last", gap.Last, "reason", gap.Reason)
}

func (g *gaps) list() []Gap {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := make([]Gap, 0, len(g.seen))
	for _, gap := range g.seen {
		all = append(all, gap)
	}
	slices.SortFunc(all, func(a, b Gap) int { return cmp.Compare(a.First, b.First) })
	return all
}
