package api_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cmem/cmd/internal/api"
	"cmem/cmd/internal/config"
	"cmem/cmd/internal/worker"
	"cmem/ingest/home"
	"cmem/ingest/hook"
	"cmem/streams/streamstest"
)

const testdata = "../../../testdata"

// handler answers for a data folder that has one recorded session and a note.
func handler(t *testing.T) http.Handler {
	t.Helper()
	dir := home.Dir(filepath.Join(t.TempDir(), "d"))
	files, err := filepath.Glob(testdata + "/hooks/claude-code/a-print/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no payloads", err)
	}
	at := time.Date(2026, 1, 24, 10, 0, 0, 0, time.UTC)
	for _, f := range files {
		payload, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		_, event, _ := strings.Cut(strings.TrimSuffix(filepath.Base(f), ".json"), "-")
		at = at.Add(3 * time.Second)
		hook.Run(hook.Config{Args: []string{"--data", string(dir), "claude-code", event}, Stdin: bytes.NewReader(payload),
			Stdout: io.Discard, Stderr: io.Discard, Env: []string{"CMEM_AUTOSTART=false", "HOME=/nowhere"}, Now: func() time.Time { return at }})
	}
	cfg := config.Default()
	cfg.ReserveMB, cfg.Zone = -1, "UTC"
	n, err := worker.Open(t.Context(), dir, cfg, streamstest.Logger(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	h := n.Handler()
	if code, body := ask(t, h, "POST", "/api/memory/save", `{"text":"Manual memory about giraffes and bbolt buckets.","title":"Giraffe note","project":"peerproj","metadata":{"source":"test"}}`); code != 200 {
		t.Fatalf("save: %d %s", code, body)
	}
	return h
}

func ask(t *testing.T, h http.Handler, method, target, body string) (int, string) {
	t.Helper()
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Host = "localhost"
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// recorded is a pair of claude-mem's worker.
type recorded struct {
	Status int `json:"status"`
	Body   any `json:"body_json"`
}

func peer(t *testing.T, name string) recorded {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(testdata, "claude-mem-http", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var r recorded
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// bookkeeping are names of the peer's own, which nobody reads.
var bookkeeping = map[string]bool{
	"discovery_tokens": true, "content_hash": true, "generated_by_model": true, "relevance_count": true, "agent_type": true, "metadata": true,
	"synced_at": true, "origin_device_id": true, "origin_local_id": true, "sync_rev": true,
	"workerPath": true, "managed": true, "hasIpc": true, "ai": true, "dependencies": true, "rateLimits": true, "uptime": true, "version": true,
}

// covers says where got lacks a field that want has, or has it in another form.
func covers(path string, want, got any) []string {
	switch want := want.(type) {
	case map[string]any:
		m, ok := got.(map[string]any)
		if !ok {
			return []string{path + " is no object"}
		}
		var missing []string
		for k, v := range want {
			if g, ok := m[k]; ok {
				missing = append(missing, covers(path+"."+k, v, g)...)
			} else if !bookkeeping[k] && !(path == ".projectsBySource") {
				missing = append(missing, path+"."+k+" is missing")
			}
		}
		return missing
	case []any:
		l, ok := got.([]any)
		if !ok || len(want) > 0 && len(l) == 0 {
			return []string{path + " is no list, or an empty one"}
		}
		if len(want) == 0 {
			return nil
		}
		return covers(path+"[0]", want[0], l[0])
	case nil:
		return nil
	case string:
		if _, ok := got.(string); !ok && got != nil {
			return []string{path + " is no text"}
		}
	case float64:
		if _, ok := got.(float64); !ok && got != nil {
			return []string{path + " is no number"}
		}
	case bool:
		if _, ok := got.(bool); !ok {
			return []string{path + " is neither true nor false"}
		}
	}
	return nil
}

func TestAnswersHaveThePeersFields(t *testing.T) {
	h := handler(t)
	first := func(route, list string) string {
		_, body := ask(t, h, "GET", route, "")
		var m map[string][]struct{ ID json.Number }
		dec := json.NewDecoder(strings.NewReader(body))
		dec.UseNumber()
		var raw map[string]json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			t.Fatal(err)
		}
		var items []struct{ ID json.Number }
		if err := json.Unmarshal(raw[list], &items); err != nil || len(items) == 0 {
			t.Fatalf("%s has no %s: %s %v", route, list, body, m)
		}
		return items[0].ID.String()
	}
	observation, prompt, summary := first("/api/observations", "items"), first("/api/prompts", "items"), first("/api/summaries", "items")
	for _, c := range []struct{ name, method, target, body string }{
		{"observations", "GET", "/api/observations?offset=0&limit=3", ""},
		{"observations-project", "GET", "/api/observations?project=peerproj&limit=2", ""},
		{"summaries", "GET", "/api/summaries?offset=0&limit=3", ""},
		{"prompts", "GET", "/api/prompts?offset=0&limit=3", ""},
		{"search-json", "GET", "/api/search?query=reserve&type=observations&format=json&limit=2", ""},
		{"search-sessions", "GET", "/api/search?query=reserve&type=sessions&format=json&limit=2", ""},
		{"search-prompts", "GET", "/api/search?query=reserve&type=prompts&format=json&limit=2", ""},
		{"search-query", "GET", "/api/search?query=reserve", ""},
		{"search-noquery", "GET", "/api/search?project=peerproj&limit=3", ""},
		{"search-noresult", "GET", "/api/search?query=nonexistentterm", ""},
		{"search-special-chars", "GET", "/api/search?query=foo%22bar%20AND%20%28x%2A%20-", ""},
		{"search-all-params", "GET", "/api/search?query=reserve&type=observations&obs_type=change,bugfix,discovery&concepts=what-changed&files=stock.py&dateStart=2026-01-01&dateEnd=2027-01-01&orderBy=date_desc&limit=5&offset=0", ""},
		{"search-observations", "GET", "/api/search/observations?query=reserve&limit=2", ""},
		{"search-by-file", "GET", "/api/search/by-file?filePath=stock.py&limit=5", ""},
		{"search-nothing", "GET", "/api/search", ""},
		{"timeline-anchor", "GET", "/api/timeline?anchor=" + observation + "&depth_before=2&depth_after=2", ""},
		{"timeline-anchor-S", "GET", "/api/timeline?anchor=S" + summary + "&depth_before=2&depth_after=2", ""},
		{"timeline-date", "GET", "/api/timeline?anchor=2026-01-24T10:00:37Z&depth_before=1&depth_after=1", ""},
		{"timeline-query", "GET", "/api/timeline?query=zebra&depth_before=2&depth_after=2", ""},
		{"timeline-by-query", "GET", "/api/timeline/by-query?query=zebra&depth_before=1&depth_after=1", ""},
		{"observations-batch", "POST", "/api/observations/batch", `{"ids":[` + observation + `]}`},
		{"observations-batch-opts", "POST", "/api/observations/batch", `{"ids":"` + observation + `,999999","orderBy":"date_asc","limit":2}`},
		{"observations-batch-empty", "POST", "/api/observations/batch", `{"ids":[]}`},
		{"observations-by-file", "GET", "/api/observations/by-file?path=%2Ftmp%2Fdemo%2Facme-inventory%2Finventory%2Fstock.py&path=inventory%2Fstock.py&limit=5", ""},
		{"observation-1", "GET", "/api/observation/" + observation, ""},
		{"prompt-1", "GET", "/api/prompt/" + prompt, ""},
		{"session-1", "GET", "/api/session/" + summary, ""},
		{"observation-404", "GET", "/api/observation/999999", ""},
		{"observation-badid", "GET", "/api/observation/abc", ""},
		{"memory-save", "POST", "/api/memory/save", `{"text":"another","project":"peerproj"}`},
		{"projects", "GET", "/api/projects", ""},
		{"projects-claude", "GET", "/api/projects?platformSource=claude", ""},
		{"api-health", "GET", "/api/health", ""},
		{"api-readiness", "GET", "/api/readiness", ""},
		{"api-version", "GET", "/api/version", ""},
		{"api-stats", "GET", "/api/stats", ""},
		{"processing-status", "GET", "/api/processing-status", ""},
		{"healthz", "GET", "/healthz", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := peer(t, c.name)
			code, body := ask(t, h, c.method, c.target, c.body)
			if code != want.Status {
				t.Fatalf("status %d, the peer's is %d: %s", code, want.Status, body)
			}
			var got any
			if err := json.Unmarshal([]byte(body), &got); err != nil {
				t.Fatalf("%v in %s", err, body)
			}
			for _, m := range covers("", want.Body, got) {
				t.Errorf("%s\n%s", m, body)
			}
		})
	}
}

// TestFailuresHaveOneShape: where the peer answers HTML, text with
// 200, or three shapes of errors, there is one.
func TestFailuresHaveOneShape(t *testing.T) {
	h := handler(t)
	for _, c := range []struct {
		method, target, body string
		status               int
		code                 api.Code
	}{
		{"GET", "/no/such/route", "", 404, api.NotFound},
		{"DELETE", "/api/search", "", 405, api.BadMethod},
		{"GET", "/api/memory/save", "", 405, api.BadMethod},
		{"GET", "/api/search", "", 400, api.Invalid},
		{"GET", "/api/search?query=x&limit=0", "", 400, api.Invalid},
		{"GET", "/api/search?query=x&limit=ten", "", 400, api.Invalid},
		{"GET", "/api/search?query=x&offset=-1", "", 400, api.Invalid},
		{"GET", "/api/search?query=x&orderBy=best", "", 400, api.Invalid},
		{"GET", "/api/search?query=x&dateStart=garbage", "", 400, api.Invalid},
		{"GET", "/api/search?query=x&dateStart=2026-02-01&dateEnd=2026-01-01", "", 400, api.Invalid},
		{"GET", "/api/search?query=x&zone=Mars/Olympus", "", 400, api.Invalid},
		{"GET", "/api/search?query=x&type=prompts&obs_type=bugfix", "", 400, api.Invalid},
		{"GET", "/api/search?query=x&project=nobody", "", 404, api.NotFound},
		{"GET", "/api/timeline", "", 400, api.Invalid},
		{"GET", "/api/timeline?anchor=1&query=x", "", 400, api.Invalid},
		{"GET", "/api/timeline?anchor=999999", "", 404, api.NotFound},
		{"GET", "/api/timeline?anchor=whenever", "", 400, api.Invalid},
		{"GET", "/api/observation/-1", "", 400, api.Invalid},
		{"GET", "/api/prompt/99", "", 404, api.NotFound},
		{"GET", "/api/session/no-such", "", 404, api.NotFound},
		{"GET", "/api/observations?limit=x", "", 400, api.Invalid},
		{"GET", "/api/observations/by-file", "", 400, api.Invalid},
		{"GET", "/api/context/inject", "", 400, api.Invalid},
		{"POST", "/api/observations/batch", "{}", 400, api.Invalid},
		{"POST", "/api/observations/batch", `{"ids":["x"]}`, 400, api.Invalid},
		{"POST", "/api/observations/batch", "not json", 400, api.Invalid},
		{"POST", "/api/memory/save", `{"text":""}`, 400, api.Invalid},
		{"POST", "/api/memory/save", `{"text":"` + strings.Repeat("x", 6<<20) + `"}`, 413, api.TooLarge},
		{"POST", "/api/project/move", `{"to":"x"}`, 400, api.Invalid},
		{"POST", "/api/replay", `{}`, 400, api.Invalid},
		{"POST", "/api/rebuild", `{"only":"all of it"}`, 400, api.Invalid},
		{"POST", "/api/admin/shutdown", "", 400, api.Invalid},
	} {
		status, body := ask(t, h, c.method, c.target, c.body)
		var e api.Error
		if err := json.Unmarshal([]byte(body), &e); err != nil || status != c.status || e.Code != c.code || e.Message == "" {
			t.Errorf("%s %.60s: %d %s, want %d %s with a sentence", c.method, c.target, status, body, c.status, c.code)
		}
		if strings.Contains(e.Message, "\n") || strings.Contains(e.Message, "<") {
			t.Errorf("%s %.60s: not one plain sentence: %q", c.method, c.target, e.Message)
		}
	}
}

func TestDaysAreTheZonesOfTheCaller(t *testing.T) {
	h := handler(t)
	for zone, day := range map[string]string{"UTC": "Jan 24, 2026", "Asia/Tokyo": "Jan 24, 2026", "Pacific/Kiritimati": "Jan 25, 2026", "-11:00": "Jan 23, 2026"} {
		_, body := ask(t, h, "GET", "/api/search?query=reserve&type=prompts&zone="+strings.ReplaceAll(zone, "+", "%2B"), "")
		if !strings.Contains(body, day) {
			t.Errorf("zone %s: %s, want %s", zone, body, day)
		}
	}
}

func TestSavedProjectIsFoundByItsName(t *testing.T) {
	h := handler(t)
	_, body := ask(t, h, "GET", "/api/search?query=giraffes&project=peerproj&format=json", "")
	var a api.SearchAnswer
	if err := json.Unmarshal([]byte(body), &a); err != nil || len(a.Observations) != 1 || a.Observations[0].Title != "Giraffe note" || a.Observations[0].Origin != "person" {
		t.Errorf("%v: %s", err, body)
	}
}
