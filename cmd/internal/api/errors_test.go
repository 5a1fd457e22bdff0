package api

import (
	"errors"
	"strings"
	"testing"
)

// A worker's log can be read, a command in process has none.
func TestDetailsAreToldWhereTheyCanBeRead(t *testing.T) {
	err := errors.New("bucket 7 is torn")
	if e := asError(err, false); strings.Contains(e.Message, "torn") || !strings.Contains(e.Message, "logs/worker.log") {
		t.Errorf("a worker says %q", e.Message)
	}
	if e := asError(err, true); !strings.Contains(e.Message, "torn") || strings.Contains(e.Message, "log") {
		t.Errorf("in process it says %q", e.Message)
	}
}
