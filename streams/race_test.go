//go:build race

package streams_test

// raceEnabled: with the race detector the tables of damage take minutes and find
// no more; `make test` goes through them without it.
const raceEnabled = true
