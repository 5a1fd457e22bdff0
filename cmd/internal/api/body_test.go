package api_test

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"cmem/cmd/internal/api"
)

// TestBodiesAreNamedInPlainWords: what is wrong with a body, without the words
// of the language it is read in.
func TestBodiesAreNamedInPlainWords(t *testing.T) {
	h := handler(t)
	for _, c := range []struct{ route, body, want string }{
		{"/api/memory/save", `[1]`, "the body is a list; this route expects a JSON object"},
		{"/api/memory/save", `"x"`, "the body is a text; this route expects a JSON object"},
		{"/api/memory/save", `null`, "the body is null; this route expects a JSON object"},
		{"/api/memory/save", `12`, "the body is the number 12; this route expects a JSON object"},
		{"/api/memory/save", ``, "the body is empty; this route expects a JSON object"},
		{"/api/memory/save", "\ufeff", "the body is empty; this route expects a JSON object"},
		{"/api/memory/save", `{"text":`, "the body is not JSON: unexpected end of JSON input at byte 8"},
		{"/api/memory/save", `{"text":["x"]}`, "text must be a text, not a list"},
		{"/api/memory/save", `{"text":7}`, "text must be a text, not the number 7"},
		{"/api/memory/save", `{"text":"x","title":{}}`, "title must be a text, not an object"},
		{"/api/memory/save", `{"TEXT":"x"}`, "text must not be empty"},
		{"/api/memory/save", `{"Text":"x","teXt":"y"}`, "text must not be empty"},
		{"/api/memory/save", `{"tex\u0074":""}`, "text must not be empty"},
		{"/api/replay", `{"paths":"x"}`, "paths must be a list of texts, not a text"},
		{"/api/replay", `{"paths":["x",1]}`, "paths must be a list of texts only"},
		{"/api/replay", `{"paths":["x"],"dry_run":"yes"}`, "dry_run must be true or false, not a text"},
		{"/api/observations/batch", `{"ids":[1],"limit":1.5}`, "limit must be a whole number, not the number 1.5"},
		{"/api/observations/batch", `{"ids":[1],"limit":99999999999999999999}`, "limit must be a whole number, not the number 99999999999999999999"},
	} {
		status, body := ask(t, h, "POST", c.route, c.body)
		var e api.Error
		if err := json.Unmarshal([]byte(body), &e); err != nil || status != 400 || e.Code != api.Invalid || e.Message != c.want {
			t.Errorf("%s %s: %d %s, want %q", c.route, c.body, status, body, c.want)
		}
	}
}

// TestAByteOrderMarkBeforeABodyIsNoFault, and a key may be written with escapes.
func TestAByteOrderMarkBeforeABodyIsNoFault(t *testing.T) {
	h := handler(t)
	for _, body := range []string{"\ufeff{\"text\":\"marked\"}", ` {"te\u0078t":"escaped","TEXT":7}`} {
		if status, answer := ask(t, h, "POST", "/api/memory/save", body); status != 200 {
			t.Errorf("%q: %d %s", body, status, answer)
		}
	}
}

// TestLongHeadersAreRefusedAsAllElse: in the one shape of errors.
func TestLongHeadersAreRefusedAsAllElse(t *testing.T) {
	h := handler(t)
	for name, c := range map[string]struct {
		value, query string
		status       int
	}{
		"a header": {strings.Repeat("x", 40<<10), "", 431}, "an address": {"", strings.Repeat("x", 40<<10), 431}, "neither": {strings.Repeat("x", 4<<10), "x", 200},
	} {
		r := httptest.NewRequest("GET", "/api/health?x="+c.query, nil)
		r.Host = "localhost"
		r.Header.Set("X-Long", c.value)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.status {
			t.Fatalf("%s: status %d, want %d: %s", name, w.Code, c.status, w.Body)
		}
		var e api.Error
		if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || c.status == 431 && e.Code != api.LongHeaders {
			t.Errorf("%s: %v in %s", name, err, w.Body)
		}
	}
}
