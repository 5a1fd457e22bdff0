// Package crashfs says what a disk may hold after a crash.
//
// # Promise
//
// A Disk is fed the calls by which real processes changed a folder, as strace
// wrote them down (ReadTrace), and gives at any moment the folder as it would be
// found after a crash at that moment. Nothing is guessed: a call on the folder that
// the model does not know is an error, never passed over.
//
// # Model
//
// A file has the bytes that were written and the bytes of its last fsync; a folder
// has its names now and its names at its last fsync. fsync of a file (and each write
// to one opened with O_SYNC) keeps its bytes and, as ext4 does, the name of a file
// that had no lasting name yet, with the folders above it that are new. A rename
// lasts only with fsync of the folder. Four things may be found after a crash:
//
//	Killed       all bytes, all names: the process was killed, the machine goes on
//	PowerCut     only what fsync promised, bytes and names
//	NamesFirst   all names, but only the bytes of the last fsync of each file
//	BytesFirst   all bytes, but only the names of the last fsync of each folder
//
// Standard library only.
package crashfs
