// Package transcript gives the values of a growing file.
//
// Hosts write their sessions as JSON values, mostly one a line, and append while
// we read. The package promises, whatever the bytes are:
//
//   - A file is read as bytes, a byte order mark is dropped, lines end at \n and
//     hold JSON values until they are used up: two glued objects are two values.
//   - A line may be of any length. A value over MaxValue is named and skipped
//     while streaming; memory follows the largest value that is kept.
//   - What is no JSON object is named by offset and size, counted, and does not
//     reach past its line; what follows is used. Raw control bytes, odd escapes
//     and bad UTF-8 inside strings do not spoil a value: its bytes are given as
//     they stand.
//   - The end of a record whose beginning is in another file, as a rotation in
//     mid-line leaves it, is named; an object inside it is not taken for a record.
//   - A file in UTF-16 or UTF-32 is refused by that name (ErrEncoding).
//   - A value that is not whole at the very end of the file is not yet written:
//     its start is where the next reading begins, whether the cut is inside a
//     string, an escape or a multibyte character.
//
// A Mark remembers how far a file was read. It names the file by its content
// (the head, and the bytes before the offset), so a moved file goes on and a
// replaced one is read from its beginning. Losing a Mark costs a second reading
// and nothing else: ids decide what is new (package ingest).
//
// A Watcher tells which files below some directories changed. It watches
// directories, sweeps them by size and time at intervals for file systems that
// tell nothing, and goes on polling when the system grants no watches.
package transcript
