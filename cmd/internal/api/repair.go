package api

import "time"

// Step is one thing that a repair does, or leaves to a person.
type Step struct {
	Code   string `json:"code"`             // of the finding
	What   string `json:"what"`             // the finding's sentence
	Action string `json:"action,omitempty"` // see the actions; "" is for a person to do
	Says   string `json:"says"`             // the action in one sentence, or what a person can do
	Done   string `json:"done,omitempty"`   // what came of it
	Failed string `json:"failed,omitempty"` // why it did not succeed
}

// Repaired is what a repair did, or would do.
type Repaired struct {
	Steps   []Step    `json:"steps"`
	Applied bool      `json:"applied"`          // to the data folder itself
	Tried   bool      `json:"tried"`            // on a copy of it
	Copies  string    `json:"copies,omitempty"` // folder with what was there before
	Left    []Finding `json:"left,omitempty"`   // what a doctor still finds
	Healthy bool      `json:"healthy"`          // nothing worse than a note is left
	At      time.Time `json:"at,omitzero"`
}
