package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"cmem/cmd/internal/api"
	"cmem/cmd/internal/config"
	"cmem/ingest/home"
	"cmem/streams/durable"
)

// replaceWithin is how long an old worker may take to stop.
const replaceWithin = 10 * time.Second

// replaces says whether the running worker, of another version, should give way
// to one of ours. Once per pair: two installations that both start workers must
// not replace each other for ever.
func (a *app) replaces(dir home.Dir, running string) bool {
	if running == config.Version {
		return false
	}
	_, err := os.Stat(replacedMark(dir, running))
	return errors.Is(err, fs.ErrNotExist)
}

func replacedMark(dir home.Dir, running string) string {
	name := filepath.Base(filepath.Clean(running)) + "-" + filepath.Base(filepath.Clean(config.Version))
	return filepath.Join(dir.Run(), "replaced-"+name)
}

// replace stops the old worker: it is asked, and if it does not go it is killed.
// That it is ours to kill it has proved by answering on the folder's own socket
// with the folder's own name.
func (a *app) replace(ctx context.Context, dir home.Dir, old api.Identity) error {
	if err := durable.WriteFile(replacedMark(dir, old.Version), nil, 0o600); err != nil {
		return err
	}
	asked, cancel := context.WithTimeout(ctx, replaceWithin)
	defer cancel()
	if _, err := stopWorker(asked, dir); err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	p, err := os.FindProcess(old.PID)
	if err == nil {
		err = p.Kill()
	}
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("the worker of version %s does not stop: %w", old.Version, err)
	}
	return awaitFree(ctx, dir)
}
