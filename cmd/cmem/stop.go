package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"cmem/cmd/internal/client"
	"cmem/cmd/internal/worker"
	"cmem/ingest/home"
	"cmem/streams/durable"
)

func (a *app) newStop() *cobra.Command {
	var wait time.Duration
	c := &cobra.Command{
		Use: "stop", Short: "Stop the worker and wait until it is gone",
		RunE: func(c *cobra.Command, _ []string) error {
			dir, err := a.home()
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(c.Context(), wait)
			defer cancel()
			stopped, err := stopWorker(ctx, dir)
			if err != nil {
				return err
			}
			if a.json {
				return a.print(map[string]bool{"stopped": stopped})
			}
			if !stopped {
				a.say("no worker was running")
				return nil
			}
			a.say("the worker has stopped")
			return nil
		},
	}
	c.Flags().DurationVar(&wait, "wait", 15*time.Second, "how long to wait until it is gone")
	return c
}

// stopWorker asks the worker to stop and returns when its lock is free.
func stopWorker(ctx context.Context, dir home.Dir) (stopped bool, err error) {
	c, err := client.Dial(ctx, dir)
	if errors.Is(err, client.ErrNoWorker) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	err = c.Post(ctx, "/api/admin/shutdown", nil, nil)
	if err := errors.Join(err, c.Close()); err != nil {
		return false, err
	}
	return true, awaitFree(ctx, dir)
}

// awaitFree returns when no worker holds the folder.
func awaitFree(ctx context.Context, dir home.Dir) error {
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		lock, err := durable.Acquire(worker.LockPath(dir))
		if err == nil {
			return lock.Release()
		}
		if !errors.Is(err, durable.ErrLocked) {
			return err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return fmt.Errorf("the worker was asked to stop and is still there: %w", err)
		}
	}
}
