package contextcache

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"cmem/streams"
	"cmem/streams/durable"
)

// format is raised whenever Render writes something else for the same records,
// or the state is stored otherwise.
const format = 2

// state is what the cache's own file holds.
type state struct {
	Format     int                `json:"format"`
	Version    string             `json:"version"`
	Checkpoint streams.Checkpoint `json:"checkpoint"`
	Dirty      []string           `json:"dirty"`
}

// readState gives an empty state if there is no file.
func readState(path, version, log string) (state, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return state{}, nil
	}
	if err != nil {
		return state{}, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	var s state
	if err := json.Unmarshal(b, &s); err != nil {
		return state{}, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if s.Format != format || s.Version != version {
		return state{}, fmt.Errorf("%w: format %d, version %q; this is format %d, version %q", ErrVersion, s.Format, s.Version, format, version)
	}
	if log != "" && s.Checkpoint.Log != "" && s.Checkpoint.Log != log {
		return state{}, fmt.Errorf("%w: %s, not %s", ErrOtherLog, s.Checkpoint.Log, log)
	}
	return s, nil
}

func writeState(path string, s state) error {
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("contextcache: %w", err)
	}
	if err := durable.WriteFile(path, append(b, '\n'), 0o600); err != nil {
		return fmt.Errorf("contextcache: state: %w", err)
	}
	return nil
}
