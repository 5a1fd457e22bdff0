// Package client calls the API: of a running worker over its unix socket (or,
// where there are none, TCP with the token), or of a handler in this process.
// Callers see one Client either way.
//
// It promises that a worker is trusted only after it has said that it serves
// the data folder asked for, that no proxy is ever used, and that a failed
// request is an *api.Error.
package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"cmem/cmd/internal/api"
)

// Client calls one API. Safe for concurrent use.
type Client struct {
	http  *http.Client
	base  string // scheme and host
	token string
	close func() error
}

// InProcess makes a Client of a handler; closing it calls release.
func InProcess(h http.Handler, release func() error) *Client {
	return &Client{http: &http.Client{Transport: inProcess{h}}, base: "http://localhost", close: release}
}

// Close gives back what the Client holds.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	if c.close == nil {
		return nil
	}
	return c.close()
}

// Get asks for route with query and reads the JSON answer into out.
func (c *Client) Get(ctx context.Context, route string, query url.Values, out any) error {
	return c.json(ctx, http.MethodGet, route, query, nil, out)
}

// Post sends body as JSON to route and reads the JSON answer into out; a nil
// out drops it.
func (c *Client) Post(ctx context.Context, route string, body, out any) error {
	return c.json(ctx, http.MethodPost, route, nil, body, out)
}

// Text asks for route with query and gives the answer as it is.
func (c *Client) Text(ctx context.Context, route string, query url.Values) (string, error) {
	res, err := c.do(ctx, http.MethodGet, route, query, nil)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return string(b), err
}

// Stream opens the body of route's answer; close it.
func (c *Client) Stream(ctx context.Context, method, route string, query url.Values, body any) (io.ReadCloser, error) {
	res, err := c.do(ctx, method, route, query, body)
	if err != nil {
		return nil, err
	}
	return res.Body, nil
}

// ErrCut: a stream ended without its last line; the worker is gone.
var ErrCut = errors.New("the worker went away before it was done")

// Run posts a job and tells every line of its progress; the last line's result
// is read into out.
func (c *Client) Run(ctx context.Context, route string, body, out any, tell func(api.Line)) error {
	stream, err := c.Stream(ctx, http.MethodPost, route, nil, body)
	if err != nil {
		return err
	}
	defer stream.Close()
	in := bufio.NewReader(stream)
	for {
		raw, err := in.ReadBytes('\n')
		if len(bytes.TrimSpace(raw)) > 0 {
			var line api.Line
			if err := json.Unmarshal(raw, &line); err != nil {
				return fmt.Errorf("%w: %v", ErrCut, err)
			}
			switch {
			case line.Error != nil:
				return line.Error
			case line.Result != nil:
				return json.Unmarshal(line.Result, out)
			default:
				tell(line)
			}
		}
		if errors.Is(err, io.EOF) {
			return ErrCut
		}
		if err != nil {
			return err
		}
	}
}

func (c *Client) json(ctx context.Context, method, route string, query url.Values, body, out any) error {
	res, err := c.do(ctx, method, route, query, body)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if out == nil {
		_, err := io.Copy(io.Discard, res.Body)
		return err
	}
	if err := json.NewDecoder(res.Body).Decode(out); err != nil {
		return fmt.Errorf("read the answer of %s: %w", route, err)
	}
	return nil
}

func (c *Client) do(ctx context.Context, method, route string, query url.Values, body any) (*http.Response, error) {
	var in io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		in = bytes.NewReader(b)
	}
	u := c.base + route
	if len(query) > 0 {
		u += "?" + query.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, method, u, in)
	if err != nil {
		return nil, err
	}
	if in != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	res, err := c.http.Do(r)
	if err != nil {
		return nil, err
	}
	if res.StatusCode >= 300 {
		defer res.Body.Close()
		return nil, readError(res)
	}
	return res, nil
}

// readError makes an *api.Error of a failed answer, also of one that is not ours.
func readError(res *http.Response) error {
	b, err := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	e := &api.Error{}
	if err == nil && json.Unmarshal(b, e) == nil && e.Code != "" {
		return e
	}
	return api.Errorf(api.Internal, "the answer was %s: %s", res.Status, strings.TrimSpace(string(b)))
}
