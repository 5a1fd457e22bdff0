package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cmem/cmd/internal/api"
	"cmem/cmd/internal/client"
	"cmem/ingest/home"
	"cmem/streams/durable"
)

func (a *app) newStart() *cobra.Command {
	var wait time.Duration
	c := &cobra.Command{
		Use: "start", Short: "Start the worker in the background and wait until it is ready",
		RunE: func(c *cobra.Command, _ []string) error {
			dir, err := a.home()
			if err != nil {
				return err
			}
			// Read here, so that a mistake in it is told here.
			if _, err := a.settings(dir); err != nil {
				return err
			}
			if err := dir.Make(); err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(c.Context(), wait)
			defer cancel()
			id, fresh, err := a.start(ctx, dir)
			if err != nil {
				return err
			}
			if a.json {
				return a.print(map[string]any{"started": fresh, "worker": id})
			}
			if !fresh {
				a.say("the worker was running already (process %d)", id.PID)
				return nil
			}
			a.say("the worker is ready (process %d)", id.PID)
			return nil
		},
	}
	c.Flags().DurationVar(&wait, "wait", time.Minute, "how long to wait until it is ready")
	return c
}

// start makes sure that one worker runs and is ready; fresh: it was started by us.
func (a *app) start(ctx context.Context, dir home.Dir) (id api.Identity, fresh bool, err error) {
	if c, err := client.Dial(ctx, dir); !errors.Is(err, client.ErrNoWorker) {
		if err != nil {
			return id, false, err
		}
		if id, err = awaitReady(ctx, c); err != nil || !a.replaces(dir, id.Version) {
			return id, false, err
		}
		if err := a.replace(ctx, dir, id); err != nil {
			return id, false, err
		}
	}
	var child *process
	switch lock, err := durable.Acquire(dir.SpawnLock()); {
	case errors.Is(err, durable.ErrLocked): // a hook or another start is at it
	case err != nil:
		return id, false, err
	default:
		child, err = a.spawn(dir)
		defer lock.Release()
		if err != nil {
			return id, false, err
		}
	}
	c, err := dialUntil(ctx, dir, child)
	if err != nil {
		return id, false, err
	}
	id, err = awaitReady(ctx, c)
	var said *api.Error
	if err != nil && child != nil && !errors.As(err, &said) {
		// It went away between two questions; then it knows why.
		select {
		case <-child.gone:
			err = child.lastWord()
		case <-ctx.Done():
		}
	}
	return id, child != nil && id.PID == child.pid, err
}

// process is a worker we started; gone is closed when it ended.
type process struct {
	pid  int
	gone chan struct{}
	said *os.File // what it wrote to standard error
	code int      // its exit code, once gone is closed
}

// spawn starts this program as `serve`, with no handle and no terminal of ours.
func (a *app) spawn(dir home.Dir) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	said, err := os.Create(filepath.Join(dir.Logs(), "start.log"))
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, "serve", "--data", string(dir))
	cmd.Dir, cmd.Env, cmd.Stderr, cmd.Stdout = string(dir), a.environ, said, said
	cmd.SysProcAttr = detached()
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, said.Close())
	}
	p := &process{pid: cmd.Process.Pid, gone: make(chan struct{}), said: said}
	go func() {
		_ = cmd.Wait() // its end is told by its code and what it said
		p.code = cmd.ProcessState.ExitCode()
		_ = said.Close()
		close(p.gone)
	}()
	return p, nil
}

// lastWord is why the worker ended.
func (p *process) lastWord() error {
	b, err := os.ReadFile(p.said.Name())
	text := strings.TrimPrefix(strings.TrimSpace(string(b)), "cmem: ")
	if err != nil || text == "" {
		text = "it said nothing; see logs/worker.log in the data folder"
	}
	return childError{fmt.Errorf("the worker ended while it started: %s", text), p.code}
}

// childError is why a process of ours ended, with the code it ended with.
type childError struct {
	error
	code int
}

// dialUntil asks for a worker until one answers, ours has ended, or ctx has.
func dialUntil(ctx context.Context, dir home.Dir, child *process) (*client.Client, error) {
	var gone <-chan struct{}
	if child != nil {
		gone = child.gone
	}
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		c, err := client.Dial(ctx, dir)
		if err == nil {
			return c, nil
		}
		select {
		case <-again.C:
		case <-gone:
			// Another start may have been faster: then its worker answers.
			if c, err := client.Dial(ctx, dir); err == nil {
				return c, nil
			}
			return nil, child.lastWord()
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: nobody answered in time", client.ErrNoWorker)
		}
	}
}

// awaitReady follows the phases to the end and closes c.
func awaitReady(ctx context.Context, c *client.Client) (id api.Identity, err error) {
	defer c.Close()
	if err := c.Get(ctx, "/api/identity", nil, &id); err != nil {
		return id, err
	}
	stream, err := c.Stream(ctx, http.MethodGet, "/api/ready", nil, nil)
	if err != nil {
		return id, err
	}
	defer stream.Close()
	last := api.Progress{}
	lines := bufio.NewScanner(stream)
	for lines.Scan() {
		if err := json.Unmarshal(lines.Bytes(), &last); err != nil {
			return id, err
		}
		switch last.Phase {
		case api.PhaseReady:
			return id, nil
		case api.PhaseFailed:
			return id, api.Errorf(last.Code, "the worker could not start: %s", last.Message)
		}
	}
	if err := lines.Err(); err != nil && !errors.Is(err, io.EOF) {
		return id, fmt.Errorf("%w: it was %s", client.ErrCut, last.Phase)
	}
	return id, client.ErrCut
}
