// Package records is the read model that others read: sessions, prompts, texts
// of the agent, tool uses, turns, observations and summaries, folded from the
// log by a pure reducer into one bbolt file.
//
// It promises that the same log gives the same file whatever the batches,
// restarts and rebuilds (Digest); that a session told by hooks, by its
// transcript or by both in any order gives the same records (Dump without
// positions); that a batch's effect and its checkpoint are one transaction; and
// that Open never deletes or changes a file that it cannot use.
//
// It holds what readers list and filter by, and excerpts; whole tool inputs and
// outputs are in the log at the positions kept here.
//
// Its bytes (schema: see schema; numbers are big-endian in keys, varints in
// values; every value is one type of stored.go):
//
//	meta          "schema", "versions", "build", "log", "checkpoint", "stats", "sizes.*"
//	sessions      session number           → session
//	projects      project number           → project
//	agents        session number, n        → agent
//	turns         id                       → turn
//	prompts       id                       → prompt
//	texts         id                       → text
//	tools         id                       → tool
//	observations  id                       → observation
//	summaries     id                       → summary
//	lists         kind, project, id        → Unix seconds; "latest of a project"
//	              'n', session, turn id    → nothing
//	              'f'|'d'|'c', project, hash, kind, id → nothing; by file name,
//	              by folder name, by concept
//	changes       position, kind, id       → project, the one before, deleted
//	gone          kind, id                 → position of the deletion in changes
//	ids           SHA-256/2 of envelope id → session, position, digest
//	names         SHA-256/2 of a name      → number or id of what it names: "s" host,
//	              session; "sid" session id; "t" session, host's turn; "k" tool
//	              key; "pk" prompt key; "r" session, prompt text; "q" session,
//	              queued text; "ck" command key; "project" key
//	occurrences   SHA-256/2 of an Alt name → counts per channel, documents
//	captures      hash of session, time, position → envelope id
//
// ids, names and occurrences are pairs of buckets, see hashes.go. A document's
// id is the position that first told of it × 1024 + an ordinal; rules
// observations take their turn's first position.
package records
