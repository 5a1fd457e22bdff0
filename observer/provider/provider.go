// Package provider asks models. A Provider sends one Request and gives one Reply,
// or an *Error that says what happened to it and whether it was paid for.
//
// # Promise
//
// One Ask is at most one request that can cost money: no package below this one
// tries again by itself. What went wrong is told by structure alone (status, headers,
// codes, finish reasons, counters, exit codes), never by words in free text. A reply
// is what the model said, unread; package reply makes sense of it.
package provider

import (
	"context"
	"fmt"
	"time"

	"cmem/streams/event"
)

// Provider is one way to a model. Ask is safe for concurrent use and returns when ctx
// ends; what it started is gone by then.
type Provider interface {
	// Ask sends one request. The error is an *Error, always.
	Ask(ctx context.Context, r Request) (Reply, error)
}

// Role says who speaks.
type Role string

// The roles.
const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// Message is one part of a conversation.
type Message struct {
	Role Role
	Text string
}

// Request is what a model is asked. Messages begin and end with the user's.
type Request struct {
	Model     string
	System    string
	Messages  []Message
	MaxTokens int    // of the answer; 0: what the provider sets
	Schema    []byte // a JSON schema the answer is to follow where the endpoint can; nil: free text
}

// Finish is why a reply ended.
type Finish string

// The finishes.
const (
	Stop    Finish = "stop"    // the model was done
	Length  Finish = "length"  // cut: the answer is not whole
	Refused Finish = "refused" // the model or its filter would not
)

// Reply is what a model answered.
type Reply struct {
	Text       string
	Structured bool // Text follows the request's Schema, as the endpoint promised
	Finish     Finish
	Model      string // that answered, "" if it was not told
	RequestID  string // the provider's name of the request, "" if it was not told
	Usage      *event.Usage
}

// Class is a kind of failure, which decides what is done about it.
type Class string

// The classes.
const (
	Transient   Class = "transient"    // 5xx, connection refused, a name not found: later
	RateLimited Class = "rate_limited" // 429 of a moment: after RetryAfter
	Quota       Class = "quota"        // the account has no more to spend
	Auth        Class = "auth"         // the credential is missing or not good
	Overflow    Class = "overflow"     // the request is too large for the model
	RefusedBy   Class = "refused"      // the request was understood and will never be served
	Unusable    Class = "unusable"     // an answer came that is none
	Ambiguous   Class = "ambiguous"    // whether the request was served is not known
)

// Error is a failed Ask.
type Error struct {
	Class      Class
	Paid       bool // it may have cost money: false only where that is certain
	Status     int  // of HTTP, 0 if none came
	Code       string
	RetryAfter time.Duration // as the endpoint asked, 0 if it did not
	RequestID  string
	Usage      *event.Usage // of an answer that is none, where it was told
	Raw        string       // the answer that is none, cut
	Err        error        // for a person; holds no credential
}

func (e *Error) Error() string {
	s := string(e.Class)
	if e.Status != 0 {
		s = fmt.Sprintf("%s (HTTP %d)", s, e.Status)
	}
	if e.Err == nil {
		return s
	}
	return s + ": " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }
