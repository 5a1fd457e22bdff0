// Package acceptance holds cmem to its promises with all rooms together: real
// sessions, the real log, real files, real processes. It has tests only.
//
//	sessions_test.go  every fixture gives the counts of EXPECTED.tsv, replayed
//	                  once, twice, and cut anywhere
//	orders_test.go    recorded sessions: hooks and transcript in any order
//	rules_test.go     what rules must find in real sessions
//	rebuild_test.go   the log is enough: equal digests, no socket
//	kill_test.go      processes killed under load
package acceptance
