package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"
)

const (
	// bodyLimit bounds what a request may bring; a saved note is far below it.
	bodyLimit = 5 << 20
	// headerLimit bounds a request's line and headers. The server cuts off at a
	// higher one, without words of ours.
	headerLimit = 32 << 10
	// answerTime bounds a plain request, from its header to its last byte.
	answerTime = 30 * time.Second
	// lineTime bounds the writing of one line of a stream: a reader that is
	// gone is noticed, one that is slow is waited for.
	lineTime = 30 * time.Second
)

// handle answers a request or says why not.
type handle func(http.ResponseWriter, *http.Request) error

// edge is where errors leave: logged once by a worker, told whole in process.
type edge struct {
	log       *slog.Logger
	inProcess bool
}

// plain makes h a handler: bounded body and time, one shape of errors, and
// what is our fault is logged once.
func (d edge) plain(h handle) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), answerTime)
		defer cancel()
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerTime + 5*time.Second))
		d.run(h, w, r.WithContext(ctx))
	})
}

// stream is plain without the deadline: its lines have one each. It ends when
// closing does.
func (d edge) stream(closing context.Context, h handle) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(closing, cancel)()
		d.run(h, w, r.WithContext(ctx))
	})
}

func (d edge) run(h handle, w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, bodyLimit)
	out := &begun{ResponseWriter: w}
	defer func() {
		if p := recover(); p != nil {
			if p == http.ErrAbortHandler {
				panic(p)
			}
			d.log.Error("request panicked", "method", r.Method, "path", r.URL.Path, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			out.fail(asError(fmt.Errorf("panic: %v", p), d.inProcess))
		}
	}()
	err := h(out, r)
	if err == nil || (errors.Is(err, context.Canceled) && r.Context().Err() != nil) {
		return
	}
	e := asError(err, d.inProcess)
	if errors.Is(err, context.DeadlineExceeded) {
		e = Errorf(Starting, "the answer took longer than %s", answerTime)
	}
	if e.Code == Internal && !d.inProcess {
		d.log.Error("request failed", "method", r.Method, "path", r.URL.Path, "err", err)
	}
	out.fail(e)
}

// bounded refuses a request whose headers are too long.
func bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		size := len(r.RequestURI)
		for name, values := range r.Header {
			for _, v := range values {
				size += len(name) + len(v) + len(": \r\n")
			}
		}
		if size > headerLimit {
			writeError(w, Errorf(LongHeaders, "the request's address and headers are over %d bytes", headerLimit))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// begun remembers whether the answer has begun: then its status is gone.
type begun struct {
	http.ResponseWriter
	yes bool
}

func (b *begun) WriteHeader(status int) { b.yes = true; b.ResponseWriter.WriteHeader(status) }

func (b *begun) Write(p []byte) (int, error) { b.yes = true; return b.ResponseWriter.Write(p) }

func (b *begun) Unwrap() http.ResponseWriter { return b.ResponseWriter }

// fail answers with e; inside a stream it becomes the stream's last line.
func (b *begun) fail(e *Error) {
	if !b.yes {
		writeError(b, e)
		return
	}
	if strings.HasPrefix(b.Header().Get("Content-Type"), "application/x-ndjson") {
		_ = json.NewEncoder(b).Encode(Line{Error: e})
	}
}

// lines writes NDJSON, each line at once.
type lines struct {
	w  http.ResponseWriter
	rc *http.ResponseController
}

func newLines(w http.ResponseWriter) *lines {
	w.Header().Set("Content-Type", "application/x-ndjson; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	return &lines{w: w, rc: http.NewResponseController(w)}
}

// Write sends p, whole lines, on.
func (l *lines) Write(p []byte) (int, error) {
	_ = l.rc.SetWriteDeadline(time.Now().Add(lineTime))
	n, err := l.w.Write(p)
	if err == nil {
		err = l.rc.Flush()
	}
	return n, err
}

// send writes v as one line.
func (l *lines) send(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = l.Write(append(b, '\n'))
	return err
}
