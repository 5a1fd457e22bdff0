//go:build race

package acceptance

// raceEnabled: the race detector makes everything about ten times slower, so
// exhaustive tests take a sample; `make test` also runs them whole without it.
const raceEnabled = true
