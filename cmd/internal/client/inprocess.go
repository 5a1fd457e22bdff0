package client

import (
	"io"
	"net/http"
	"sync"
)

// inProcess calls a handler as if over a connection, streams included: the
// answer's body is read while the handler still writes it.
type inProcess struct{ handler http.Handler }

// RoundTrip returns when the handler has begun its answer. The handler's
// goroutine ends when the body is closed or read to its end.
func (t inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		r = r.Clone(r.Context())
		r.Body = http.NoBody
	}
	body, pipe := io.Pipe()
	w := &pipeWriter{header: http.Header{}, pipe: pipe, begun: make(chan struct{})}
	go func() {
		defer func() {
			w.WriteHeader(http.StatusOK)
			_ = r.Body.Close()
			if p := recover(); p != nil {
				_ = pipe.CloseWithError(io.ErrUnexpectedEOF)
				return
			}
			_ = pipe.Close()
		}()
		t.handler.ServeHTTP(w, r)
	}()
	select {
	case <-w.begun:
	case <-r.Context().Done():
		_ = body.CloseWithError(r.Context().Err())
		return nil, r.Context().Err()
	}
	return &http.Response{
		Status: http.StatusText(w.status), StatusCode: w.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.sent, Body: body, ContentLength: -1, Request: r,
	}, nil
}

// pipeWriter is a ResponseWriter whose body is a pipe.
type pipeWriter struct {
	header http.Header
	pipe   *io.PipeWriter
	once   sync.Once
	status int           // written before begun is closed
	sent   http.Header   // likewise
	begun  chan struct{} // closed when the status is known
}

func (w *pipeWriter) Header() http.Header { return w.header }

func (w *pipeWriter) WriteHeader(status int) {
	w.once.Do(func() {
		w.status, w.sent = status, w.header.Clone()
		close(w.begun)
	})
}

func (w *pipeWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.pipe.Write(p)
}

// Flush is there for streams; a pipe holds nothing back.
func (w *pipeWriter) Flush() { w.WriteHeader(http.StatusOK) }
