package api

import (
	"fmt"
	"slices"
)

// Severity of a finding, in order.
type Severity int

// The severities.
const (
	Note    Severity = iota // nothing to do
	Warning                 // somebody ought to look at it
	Broken                  // something is lost or does not work
)

var severities = []string{"note", "warning", "broken"}

func (s Severity) String() string { return severities[s] }

// MarshalText writes the severity as a word.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the word.
func (s *Severity) UnmarshalText(b []byte) error {
	at := slices.Index(severities, string(b))
	if at < 0 {
		return fmt.Errorf("no severity: %q", b)
	}
	*s = Severity(at)
	return nil
}

// Finding is one thing that a doctor found.
type Finding struct {
	Code     string   `json:"code"` // stable, for scripts
	Severity Severity `json:"severity"`
	What     string   `json:"what"` // one sentence
	Evidence []string `json:"evidence,omitempty"`
	Next     string   `json:"next"` // the safe next step
}

// Diagnosis is all that a doctor found.
type Diagnosis struct {
	Findings     []Finding `json:"findings"`
	Deep         bool      `json:"deep"`
	Healthy      bool      `json:"healthy"` // nothing worse than a note
	Disk         DiskStats `json:"disk"`
	Milliseconds int64     `json:"milliseconds"`
}

// Worst is the severity of the worst finding.
func (d *Diagnosis) Worst() (worst Severity) {
	for _, f := range d.Findings {
		worst = max(worst, f.Severity)
	}
	return worst
}

// DoctorRequest asks for a diagnosis.
type DoctorRequest struct {
	Deep bool `json:"deep,omitempty"` // read the whole log and compare the read models with it
}
