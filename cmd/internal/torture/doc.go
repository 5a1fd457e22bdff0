// Package torture breaks cmem on purpose and looks whether its promises hold.
//
// # Promise
//
// What a hook handed over is in the log once and in the read models, whatever
// happens on the way; what cannot be helped is named. `make torture` tries that for
// as long as it is told, prints its seed before it begins, and ends with an error on
// the first finding, whose history it prints and keeps. In order:
//
//	points    each durable step of testdata/points.tsv fails once before its effect,
//	          once after it, and dies in it once, under real processes
//	crash     real processes under strace; the folder as a crash at each fsync would
//	          leave it (package crashfs) is opened and checked
//	slow      a disk on which every fsync takes long
//	model     random histories against a model in memory
//	mutations recoveries broken on purpose (testdata/mutations): each must be caught
//	branches  every branch of recovery (testdata/branches.tsv) was taken
//
// # Bytes
//
//	testdata/points.tsv       durable steps, the points around them, what reaches them
//	testdata/branches.tsv     marks of durable.Reached and what reaches them
//	testdata/mutations/*.txt  file, old text, new text, and who catches it
//	testdata/histories/*.txt  histories that once failed, one operation a line; they
//	                          are run again by every `go test`
//
// Only tests are here: nothing of cmem imports it. Processes die by failpoints, which
// are built in with the tag "failpoint"; without it the tables are compared with the
// source, and the histories are run.
package torture
