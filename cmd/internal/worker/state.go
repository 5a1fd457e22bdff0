package worker

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"cmem/ingest/home"
	"cmem/streams/durable"
)

// State is run/state.json: where the worker listens. It is written whole after
// the listeners are open and removed when they are closed; what is left after a
// kill names an instance that no longer answers, which is how it is told.
type State struct {
	Data     string    `json:"data"`
	Instance string    `json:"instance"`
	Version  string    `json:"version"`
	PID      int       `json:"pid"`
	Socket   string    `json:"socket,omitempty"`
	Port     int       `json:"port,omitempty"`
	Started  time.Time `json:"started"`
}

// ReadState reads run/state.json; fs.ErrNotExist where no worker wrote one.
func ReadState(dir home.Dir) (State, error) {
	var s State
	b, err := os.ReadFile(dir.State())
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(b, &s); err != nil {
		return s, fmt.Errorf("%s: %w", dir.State(), err)
	}
	return s, nil
}

func (s State) write(dir home.Dir) error {
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return durable.WriteFile(dir.State(), append(b, '\n'), 0o600)
}

// Token reads run/token; fs.ErrNotExist where no worker has run yet.
func Token(dir home.Dir) (string, error) {
	b, err := os.ReadFile(dir.Token())
	if err != nil {
		return "", err
	}
	t := strings.TrimSpace(string(b))
	if len(t) < 32 {
		return "", fmt.Errorf("%s holds no token", dir.Token())
	}
	return t, nil
}

// makeToken gives the token that is there, for clients that remember it, or a
// new one. A file that others could read is replaced: it is no secret any more.
func makeToken(dir home.Dir) (string, error) {
	info, err := os.Stat(dir.Token())
	if err == nil && info.Mode().Perm()&0o077 == 0 {
		if t, err := Token(dir); err == nil {
			return t, nil
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	var raw [32]byte
	rand.Read(raw[:])
	t := hex.EncodeToString(raw[:])
	return t, durable.WriteFile(dir.Token(), []byte(t+"\n"), 0o600)
}
