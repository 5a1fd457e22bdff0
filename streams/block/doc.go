// Package block reads the message blocks of the log's store without its server,
// says to the byte what is damaged in one, and writes it anew with everything
// that is whole.
//
// # Promise
//
// Scan never changes a file and never fails on what it finds there: every record
// whose checksum holds is given, in order, also those behind damage, and every
// other byte belongs to one Damage. Mend gives the same records to the byte, with
// an erased record for each sequence that none of them has; no sequence moves.
//
// # Bytes
//
// The layout is private to nats-server (server/filestore.go, measured with
// 2.15.3), so a block of that version is kept in testdata and must scan whole. A
// block <n>.blk is records one after the other, all integers little-endian:
//
//	4  length of all of it; bit 31: there is a header
//	8  sequence; bit 63: erased, bit 62: a tombstone of another block's message
//	8  time, ns since 1970
//	2  length of the subject
//	…  subject, then if there is a header its length in 4 bytes and it, then the data
//	8  HighwayHash-64 of sequence, time, subject, header and data,
//	   keyed with SHA-256("<stream>-<n>")
package block
