package claudecode

import (
	"time"

	"cmem/ingest/host/jsonscan"
)

// copiedPrompt is the type of a prompt that a fork's file repeats, see fork.
const copiedPrompt = "user:copied"

// fork watches the beginning of a file for copied prompts that lost their
// identity. A fork repeats the old session's records under their uuids. Up to
// 2.1.144 at least they are otherwise equal; 2.1.332 writes the promptId of the
// fork's own first prompt on all of them, so that a copy would be taken for that
// prompt. Such a copy is told by its time: it stands in the file after the queue
// operation that brought the fork's own first prompt, and is older. It gets a
// type of its own: the prompt is the old session's, told by the old file.
type fork struct {
	queued time.Time // newest queue operation before any own message
	own    bool      // an own message came: no copies after it
}

// copies says whether r is such a prompt.
func (f *fork) copies(r *record, at time.Time) bool {
	if f.own {
		return false
	}
	switch string(r.typ) {
	case `"queue-operation"`:
		if at.After(f.queued) {
			f.queued = at
		}
	case `"user"`, `"assistant"`:
		f.own = !at.Before(f.queued)
	}
	return !f.own && string(r.typ) == `"user"` && r.promptID != nil &&
		r.result == nil && !r.meta && !r.compact && atLeast(jsonscan.Text(r.version), 2, 1, 197)
}
