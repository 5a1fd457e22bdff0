package worker

import (
	"sync"

	"cmem/ingest/redact"
)

// cleaner redacts what a person saves: a note must not bring in what a hook
// would have left out.
type cleaner struct {
	once sync.Once
	r    *redact.Redactor
}

func (n *Node) clean(text string) string {
	out, _ := n.redactor().Text(text)
	return out
}

// redactor is made once, when it is needed first.
func (n *Node) redactor() *redact.Redactor {
	n.cleaner.once.Do(func() {
		var problems []error
		n.cleaner.r, problems = redact.New(n.cfg.Hook.Settings)
		for _, p := range problems {
			n.log.Warn("a pattern of the setting redact cannot be used", "err", p)
		}
	})
	return n.cleaner.r
}
