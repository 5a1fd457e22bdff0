package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"cmem/streams/durable"
)

// Code is the stable name of an error; callers branch on it, never on the
// sentence.
type Code string

// The codes, with the status each travels under.
const (
	Invalid      Code = "invalid_request"    // 400: a parameter or a body is wrong
	Unauthorized Code = "unauthorized"       // 401: the token is missing or wrong
	Forbidden    Code = "forbidden"          // 403: this caller, host name or page may not
	NotFound     Code = "not_found"          // 404: no such thing, no such route
	BadMethod    Code = "method_not_allowed" // 405
	Ambiguous    Code = "ambiguous_project"  // 409: a name that several projects share
	TooLarge     Code = "too_large"          // 413: the body is over the limit
	LongHeaders  Code = "headers_too_long"   // 431: the address and the headers are over the limit
	Starting     Code = "starting"           // 503: the worker is not ready yet
	Rebuilding   Code = "rebuilding"         // 503: a read model is being built again
	Internal     Code = "internal"           // 500: our fault; the log has the details
	Locked       Code = "locked"             // 423: another process holds what is needed
	NoSpace      Code = "no_space"           // 507: the disk is full
	Storage      Code = "storage"            // 503: the disk, or the rights to it, refuse
	Network      Code = "network_folder"     // of a failed start: the folder is on a network file system
	Foreign      Code = "foreign_folder"     // of a failed start: the folder is not cmem's
	Newer        Code = "newer_version"      // of a failed start: a newer version wrote the folder
	Halted       Code = "log_halted"         // 409: the log is not what was seen of it and takes nothing in
	LogDamaged   Code = "log_damaged"        // of a failed start: the log's files are gone or cannot be mended
	OtherKey     Code = "other_key"          // 409: id.key is not the key the log was written with
)

var statuses = map[Code]int{
	Invalid: http.StatusBadRequest, Unauthorized: http.StatusUnauthorized, Forbidden: http.StatusForbidden,
	NotFound: http.StatusNotFound, BadMethod: http.StatusMethodNotAllowed, Ambiguous: http.StatusConflict,
	TooLarge: http.StatusRequestEntityTooLarge, LongHeaders: http.StatusRequestHeaderFieldsTooLarge, Starting: http.StatusServiceUnavailable,
	Rebuilding: http.StatusServiceUnavailable, Internal: http.StatusInternalServerError,
	Locked: http.StatusLocked, OtherKey: http.StatusConflict, Halted: http.StatusConflict, NoSpace: http.StatusInsufficientStorage,
	Storage: http.StatusServiceUnavailable,
}

// Error is the one shape every failed request answers with.
type Error struct {
	Message    string   `json:"error"` // one sentence for a person
	Code       Code     `json:"code"`
	Candidates []string `json:"candidates,omitempty"` // Ambiguous: what the name may mean
}

// Errorf makes an Error of one sentence.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Error gives the sentence, with the candidates where there are some.
func (e *Error) Error() string { return e.Message }

// Status is the HTTP status the error travels under.
func (e *Error) Status() int {
	if s, ok := statuses[e.Code]; ok {
		return s
	}
	return http.StatusInternalServerError
}

// asError gives the Error in err's chain. Otherwise it is our fault: a worker
// keeps the details for its log and tells the caller none of them; in process the
// caller is the person who can use them, and there is no log.
func asError(err error, inProcess bool) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return Errorf(TooLarge, "the body is over %d bytes", tooLarge.Limit)
	}
	if durable.IsFull(err) {
		return Errorf(NoSpace, "the disk is full; nothing that was accepted is lost, free some space")
	}
	if t := durable.TroubleOf(err); t != durable.NoTrouble {
		return Errorf(Storage, "%s; nothing that was accepted is lost, see cmem doctor", t)
	}
	if inProcess {
		return Errorf(Internal, "something went wrong inside: %v", err)
	}
	return Errorf(Internal, "something went wrong inside; the worker's log (logs/worker.log) has the details")
}

func writeError(w http.ResponseWriter, e *Error) {
	writeJSON(w, e.Status(), e)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		status, b = http.StatusInternalServerError, []byte(`{"error":"the answer could not be written as JSON","code":"internal"}`)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n'))
}
