package claudecode

import (
	"strings"
	"testing"

	"cmem/ingest/host/adapter"
)

func TestAnswers(t *testing.T) {
	var out strings.Builder
	for _, event := range events() {
		for _, r := range []struct {
			what  string
			reply adapter.Reply
		}{
			{"nothing", adapter.Reply{}},
			{"context", adapter.Reply{Context: "# Memory\n- \"a\" <b> & 東京"}},
			{"notice", adapter.Reply{Notice: "cmem is not running."}},
			{"both", adapter.Reply{Context: "c", Notice: "n"}},
			{"blank", adapter.Reply{Context: " \n", Notice: "\x1b[0m"}},
		} {
			if got := string(answer(event, r.reply)); got != "" {
				out.WriteString(event + " " + r.what + ": " + got)
			}
		}
	}
	golden(t, "answers", out.String())
}
