// Package streams is the log: one append-only order of envelopes, kept by an
// embedded JetStream server that no one else can reach.
//
// # Promise
//
// A position that Append returned is on the disk (fsynced) and stays: it is read
// back, exactly once and in order, after any kill, and it never changes. What
// was not returned is either there whole or not at all. Damage is never silent:
// a sequence without a message, or a message that cannot be read, is counted and
// named by Gaps and Verify, and reading goes on behind it.
//
// Damage to the files costs what was hit and nothing else. The server would cut a
// damaged file off and give its sequences again; so after an unclean stop every
// file is read before it may open them (package block), after a clean one the
// newest is, and CheckBlocks reads the others while the log is open. What is
// damaged is copied into evidence and written anew with every whole record at its
// sequence; a Finding names what is gone, and TellDamage has the log say it.
//
// # Bytes
//
//	<Dir>/lock           flock of the one process that has the log open; its text is for messages only
//	<Dir>/identity.json  format, version, the log's name, and whether its stream was ever made
//	<Dir>/clean          written by Close, removed before the server starts; absent = killed
//	<Dir>/jetstream/…    the server's: stream "cmem", one file per 8 MB
//	<Dir>/evidence/<time>/  copies of damaged files as they were found, and finding.json
//	<Dir>/net/<n>/…      what the stream's folder was before the n-th start; removed after the next clean one
//
// One message is one envelope in CloudEvents binary mode (package envelope), on
// subject cmem.<type>.<hash of source and session>, and
//
//	ce-nonce          12 random bytes, so that the digest of a short body cannot be guessed
//	ce-chain          SHA-256(previous chain ‖ SHA-256(nonce ‖ canonical attributes ‖ body))
//	content-encoding  "zstd" for a body over 512 bytes that gets smaller by it
//
// The chain begins with 32 zero bytes; body means the body as it was given,
// uncompressed and joined.
//
// A stored body over 256 KiB is cut into parts, one message each, with headers
// cmem-part "2/7" and cmem-sha256 over the joined parts. Attributes, nonce and
// chain are on the last part only, and its sequence is the value's position: the
// one link covers the whole body, the sha256 the joining. Earlier parts are
// neither positions nor gaps. A run of parts that does not end was never
// acknowledged; it is passed over, and its value was sent again whole.
//
// # What it does not do
//
// It does not look for equal ids: who appends decides with its own table. (One
// exception: after ErrUnknown, an envelope found to have been saved is not saved
// again when it is sent again.)
package streams
