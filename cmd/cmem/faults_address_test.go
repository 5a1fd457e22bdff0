package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cmem/cmd/internal/api"
	"cmem/cmd/internal/client"
	"cmem/ingest/home"
)

func otherUsersAreRefused(t *testing.T) {
	p := newPlace(t)
	p.run("start")
	port := p.stats().Worker.Port
	token, err := os.ReadFile(filepath.Join(p.dir, "run/token"))
	if err != nil {
		t.Fatal(err)
	}
	ask := func(change func(*http.Request)) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/api/stats", port), nil)
		if err != nil {
			t.Fatal(err)
		}
		change(r)
		res, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var e api.Error
		if err := json.NewDecoder(res.Body).Decode(&e); err != nil {
			t.Errorf("status %d is no JSON: %v", res.StatusCode, err)
		}
		if res.StatusCode >= 400 && (e.Message == "" || e.Code == "") {
			t.Errorf("status %d without a sentence", res.StatusCode)
		}
		return res.StatusCode
	}
	bearer := "Bearer " + strings.TrimSpace(string(token))
	for name, c := range map[string]struct {
		want   int
		change func(*http.Request)
	}{
		"no token":      {401, func(*http.Request) {}},
		"another token": {401, func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+strings.Repeat("0", 64)) }},
		"our token":     {200, func(r *http.Request) { r.Header.Set("Authorization", bearer) }},
		"a foreign origin": {403, func(r *http.Request) {
			r.Header.Set("Authorization", bearer)
			r.Header.Set("Origin", "https://evil.example")
		}},
		"a foreign name": {403, func(r *http.Request) { r.Header.Set("Authorization", bearer); r.Host = "evil.example" }},
		"a rebound name": {403, func(r *http.Request) { r.Header.Set("Authorization", bearer); r.Host = "localhost.evil.example:80" }},
		"another site": {403, func(r *http.Request) {
			r.Header.Set("Authorization", bearer)
			r.Header.Set("Sec-Fetch-Site", "cross-site")
		}},
	} {
		if got := ask(c.change); got != c.want {
			t.Errorf("%s: status %d, want %d", name, got, c.want)
		}
	}
	// Two folders on one machine: neither takes the other's worker for its own.
	q := newPlace(t)
	q.run("start")
	if p.stats().Worker.Instance == q.stats().Worker.Instance {
		t.Error("two folders are served by one worker")
	}
	state, err := os.ReadFile(filepath.Join(p.dir, "run/state.json"))
	if err == nil {
		q.kill()
		err = os.WriteFile(filepath.Join(q.dir, "run/state.json"), state, 0o600)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(q.dir, "run/token"), token, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Dial(context.Background(), home.Dir(q.dir)); !errors.Is(err, client.ErrNoWorker) {
		t.Errorf("another folder's worker was trusted: %v", err)
	}
}

func mutePortIsPassedBy(t *testing.T) {
	p := newPlace(t)
	mute := listen(t)
	p.env = append(p.env, fmt.Sprintf("CMEM_PORT=%d", mute))
	p.hook("UserPromptSubmit", prompt("port-1", "before the worker"))
	p.run("start")
	if s := p.stats(); s.Worker.Port == mute || s.Worker.Port == 0 || s.Log.Head < 1 {
		t.Errorf("worker on %+v, head %d", s.Worker, s.Log.Head)
	}
	var state struct{ Port int }
	b, err := os.ReadFile(filepath.Join(p.dir, "run/state.json"))
	if err != nil || json.Unmarshal(b, &state) != nil || state.Port != p.stats().Worker.Port {
		t.Errorf("state.json says %s, %v", b, err)
	}
}

func noProxyIsAsked(t *testing.T) {
	p := newPlace(t)
	mute := listen(t)
	proxy := fmt.Sprintf("http://127.0.0.1:%d", mute)
	p.env = append(p.env, "HTTP_PROXY="+proxy, "http_proxy="+proxy, "HTTPS_PROXY="+proxy, "ALL_PROXY="+proxy, "NO_PROXY=")
	p.run("start")
	if !p.stats().Worker.Running {
		t.Error("the worker was not reached")
	}
	// Also where there is no socket and TCP is the only way.
	if err := os.Remove(filepath.Join(p.dir, "run/cmem.sock")); err != nil {
		t.Fatal(err)
	}
	if !p.stats().Worker.Running {
		t.Error("the worker was not reached over TCP")
	}
}
