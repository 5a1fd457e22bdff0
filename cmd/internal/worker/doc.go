// Package worker composes the rooms: what comes in, the log, what is read.
//
// A Node is the composition. Open gives one to a command when no worker runs; it
// answers the same API in process and is closed again. Serve is a Node that
// stays: it alone holds the data folder, listens, and keeps everything at the
// head of the log.
//
//	spool ─ Drainer ─→ Ingester ─→ log ─→ records ─→ search
//	                                         └────→ contextcache
//
// It promises that one worker serves a data folder (run/worker.lock, then the
// log's own lock, both gone with the process); that nothing is listened on, and
// no old socket replaced, before the lock is ours; that a read model which
// cannot be used, or is found damaged while it is read, is built again beside and
// said so, whatever is wrong with it but that another process holds it; and that Close returns when
// everything it started is gone: listeners, drains, projectors, read models, the
// log, in this order, under one deadline.
//
//	run/worker.lock  held while a worker runs; its text names the process
//	run/state.json   where it listens: {data, instance, version, pid, socket, port, started}
//	run/token        32 random bytes in hex, 0600: the bearer token for TCP
package worker
