package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"time"

	"cmem/cmd/internal/api"
	"cmem/cmd/internal/worker"
	"cmem/ingest/home"
)

// ErrNoWorker: nobody answers for the data folder.
var ErrNoWorker = errors.New("no worker is running")

// ErrMute: something holds the address and does not say whose it is.
var ErrMute = errors.New("the worker does not answer")

// identifyWithin bounds the question whose worker this is.
const identifyWithin = 2 * time.Second

// Dial finds the running worker of a data folder: the one place that decides
// whether there is one. It asks the socket, then the address in run/state.json,
// and trusts neither a pid nor a file, only an answer that names this folder.
// ErrNoWorker if there is none.
func Dial(ctx context.Context, dir home.Dir) (*Client, error) {
	var mute error
	for _, c := range candidates(dir) {
		err := c.identify(ctx, dir)
		if err == nil {
			return c, nil
		}
		c.http.CloseIdleConnections()
		if !errors.Is(err, ErrNoWorker) && mute == nil {
			mute = err
		}
	}
	if mute != nil {
		return nil, mute
	}
	return nil, ErrNoWorker
}

// candidates are the addresses a worker of dir may have.
func candidates(dir home.Dir) (all []*Client) {
	if path := dir.Socket(); path != "" {
		all = append(all, over("unix", path, ""))
	}
	state, err := worker.ReadState(dir)
	token, err2 := worker.Token(dir)
	if err == nil && err2 == nil && state.Port != 0 {
		all = append(all, over("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(state.Port)), token))
	}
	return all
}

// over makes a Client of one address. A proxy is never asked: the worker is here.
func over(network, address, token string) *Client {
	dialer := net.Dialer{Timeout: identifyWithin}
	t := &http.Transport{
		Proxy:              nil,
		DisableCompression: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, address)
		},
	}
	host := "localhost"
	if network == "tcp" {
		host = address
	}
	return &Client{http: &http.Client{Transport: t}, base: "http://" + host, token: token}
}

// identify asks whose worker answers.
func (c *Client) identify(ctx context.Context, dir home.Dir) error {
	ctx, cancel := context.WithTimeout(ctx, identifyWithin)
	defer cancel()
	var id api.Identity
	err := c.Get(ctx, "/api/identity", nil, &id)
	var dial *net.OpError
	var refused *api.Error
	switch {
	case errors.As(err, &dial) && dial.Op == "dial":
		return ErrNoWorker
	case errors.As(err, &refused):
		return ErrNoWorker // somebody else's server, or another user's worker
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: %s took the connection and said nothing for %s", ErrMute, c.base, identifyWithin)
	case err != nil:
		return ErrNoWorker
	case !same(id.Data, string(dir)):
		return ErrNoWorker
	}
	return nil
}

// same compares folders behind links.
func same(a, b string) bool {
	if a == b {
		return true
	}
	ra, err := filepath.EvalSymlinks(a)
	rb, err2 := filepath.EvalSymlinks(b)
	return err == nil && err2 == nil && ra == rb
}
