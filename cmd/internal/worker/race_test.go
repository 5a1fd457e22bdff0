//go:build race

package worker

// raceEnabled: with the race detector the tables of damage take minutes and find
// no more; `make test` goes through them without it.
const raceEnabled = true
