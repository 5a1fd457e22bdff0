package main

import (
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"cmem/cmd/internal/worker"
	"cmem/ingest/home"
)

func (a *app) newServe() *cobra.Command {
	var port int
	c := &cobra.Command{
		Use: "serve", Short: "Run the worker in the foreground",
		RunE: func(c *cobra.Command, _ []string) error {
			dir, err := a.home()
			if err != nil {
				return err
			}
			cfg, err := a.settings(dir)
			if err != nil && len(cfg.Unusable) == 0 {
				return err
			}
			if c.Flags().Changed("port") {
				cfg.Port = port
			}
			if err := worker.RequireOwnDisk(dir, cfg); err != nil {
				return err // before the log file is made
			}
			if err := dir.Make(); err != nil {
				return err
			}
			log, file, err := openLog(dir, cfg.LogLevel, a.err)
			if err != nil {
				return err
			}
			for _, u := range cfg.Unusable {
				log.Warn("a setting cannot be used", "err", u)
			}
			err = worker.Serve(c.Context(), dir, cfg, log)
			if err != nil {
				log.Error("stopped", "err", oneLine(err))
			}
			return errors.Join(err, file.Close())
		},
	}
	c.Flags().IntVar(&port, "port", 0, "first TCP port to try")
	return c
}

// logLimit is when a log file makes room; one old file is kept.
const logLimit = 8 << 20

func workerLog(dir home.Dir) string { return filepath.Join(dir.Logs(), "worker.log") }

// openLog writes to logs/worker.log, and to a terminal that looks on.
func openLog(dir home.Dir, level string, screen io.Writer) (*slog.Logger, io.Closer, error) {
	path := workerLog(dir)
	if info, err := os.Stat(path); err == nil && info.Size() > logLimit {
		if err := os.Rename(path, path+".old"); err != nil {
			return nil, nil, err
		}
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("worker's log: %w", err)
	}
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	var w io.Writer = f
	if terminal(screen) {
		w = io.MultiWriter(f, screen)
	}
	log.SetOutput(w) // some libraries know no other
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: l})), f, nil
}
