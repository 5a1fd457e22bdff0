// Package replay does things again: a transcript into the log, the log into the
// read models.
//
// Both are safe to repeat at any time. Transcript goes the way every event goes
// (package ingest), under ids that name what was said, so a second replay, or
// one after the hooks told the same, adds nothing. Rebuild uses the log alone:
// no network, no model, no transcript, no clock; what it makes is equal, digest
// for digest, to what was there.
//
// The package stores nothing of its own and reads no clock; times come from the
// transcripts.
package replay
