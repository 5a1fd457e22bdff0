package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"cmem/cmd/internal/api"
	"cmem/ingest/home"
)

func TestInProcessStreamsAsItComes(t *testing.T) {
	defer goleak.VerifyNone(t)
	read := make(chan struct{})
	c := InProcess(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "{\"stage\":\"one\"}\n")
		<-read // goes on only once the first line has arrived
		_, _ = io.WriteString(w, "{\"result\":{\"n\":7}}\n")
	}), func() error { return nil })
	var out struct{ N int }
	err := c.Run(t.Context(), "/api/job", nil, &out, func(l api.Line) {
		if l.Stage != "one" {
			t.Errorf("got %+v", l)
		}
		close(read)
	})
	if err != nil || out.N != 7 {
		t.Errorf("got %+v, %v", out, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestEndsOfAJob(t *testing.T) {
	for name, c := range map[string]struct {
		body   string
		status int
		check  func(error) bool
	}{
		"cut off":       {"{\"stage\":\"one\"}\n", 200, func(err error) bool { return errors.Is(err, ErrCut) }},
		"half a line":   {"{\"stage\":\"on", 200, func(err error) bool { return errors.Is(err, ErrCut) }},
		"nothing":       {"", 200, func(err error) bool { return errors.Is(err, ErrCut) }},
		"failed inside": {"{\"error\":{\"error\":\"no\",\"code\":\"rebuilding\"}}\n", 200, func(err error) bool { return code(err) == api.Rebuilding }},
		"refused":       {"{\"error\":\"no\",\"code\":\"forbidden\"}", 403, func(err error) bool { return code(err) == api.Forbidden }},
		"not ours":      {"<html>gateway</html>", 502, func(err error) bool { return code(err) == api.Internal }},
	} {
		client := InProcess(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		}), nil)
		var out any
		if err := client.Run(t.Context(), "/x", nil, &out, func(api.Line) {}); !c.check(err) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func code(err error) api.Code {
	var e *api.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

func TestAPanicInProcessIsACutAnswer(t *testing.T) {
	c := InProcess(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "half")
		panic("lost")
	}), nil)
	if text, err := c.Text(t.Context(), "/x", nil); err == nil {
		t.Errorf("got %q and no error", text)
	}
}

// answering serves on the socket of a data folder, as whoever it says it is.
func answering(t *testing.T, dir home.Dir, answer http.HandlerFunc) {
	t.Helper()
	if err := dir.Make(); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", dir.Socket())
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: answer}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
}

func short(t *testing.T) home.Dir {
	t.Helper()
	dir, err := os.MkdirTemp("", "cm")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return home.Dir(filepath.Join(dir, "d"))
}

func TestOnlyTheFoldersOwnWorkerIsTrusted(t *testing.T) {
	dir := short(t)
	if _, err := Dial(t.Context(), dir); !errors.Is(err, ErrNoWorker) {
		t.Errorf("nobody: %v", err)
	}
	data := "/somebody/else"
	answering(t, dir, func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(api.Identity{Data: data})
	})
	if _, err := Dial(t.Context(), dir); !errors.Is(err, ErrNoWorker) {
		t.Errorf("another folder's: %v", err)
	}
	data = string(dir)
	c, err := Dial(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	// The same folder behind a link.
	link := string(dir) + "-link"
	if err := os.Symlink(string(dir), link); err != nil {
		t.Fatal(err)
	}
	if c, err = Dial(t.Context(), home.Dir(link)); err != nil {
		t.Errorf("behind a link: %v", err)
	} else if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestAMuteWorkerIsSaidToBeMute(t *testing.T) {
	dir := short(t)
	release := make(chan struct{})
	defer close(release)
	answering(t, dir, func(http.ResponseWriter, *http.Request) { <-release })
	_, err := Dial(context.Background(), dir)
	if !errors.Is(err, ErrMute) || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v", err)
	}
}
