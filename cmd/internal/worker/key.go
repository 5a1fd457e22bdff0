package worker

import (
	"errors"
	"io/fs"
	"os"

	"cmem/cmd/internal/api"
	"cmem/ingest/identity"
)

func (n *Node) knownKeys() identity.Known { return identity.KnownKeys(n.dir.IDKeySum()) }

// checkKey says whether id.key, if it is there, can be read. It is to be called
// before anything is opened; knowKey after the log.
func (n *Node) checkKey() (missing bool, err error) {
	if _, err := os.Lstat(n.dir.IDKey()); errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	_, err = n.idKey()
	return false, err
}

// idKey is the key of what this node names: read each time, because a person may
// put it back meanwhile. It is made where there is none.
func (n *Node) idKey() (identity.Key, error) { return identity.LoadKey(n.dir.IDKey()) }

// knowKey remembers the key that the log is written with. None is made where the
// log had one: a person should find the place empty.
func (n *Node) knowKey(missing bool) error {
	known := n.knownKeys()
	none, err := known.Empty()
	if err != nil {
		return err
	}
	if n.head() > 0 && !none && missing {
		n.log.Warn(n.keyProblem())
		return nil
	}
	key, err := n.idKey()
	switch {
	case err != nil:
	case n.head() == 0:
		err = known.Only(key)
	case none && missing:
		err = known.Instead(key)
	case none, known.Check(n.dir.IDKey()) == nil:
		err = known.Add(key)
	}
	if problem := n.keyProblem(); problem != "" {
		n.log.Warn(problem)
	}
	return err
}

// keyProblem is a sentence where id.key is not the key that the log was written
// with, else "".
func (n *Node) keyProblem() string {
	err := n.knownKeys().Check(n.dir.IDKey())
	if err == nil || n.head() == 0 {
		return ""
	}
	const follows = "what is in the log would be taken in again under new names by a replay; put id.key back from a backup"
	switch {
	case errors.Is(err, identity.ErrKeyGone):
		return "id.key is gone, the next hook makes another: " + follows
	case errors.Is(err, identity.ErrOtherKey):
		return "id.key is not the key this log was written with: " + follows
	}
	return "id.key cannot be compared with the key this log was written with: " + err.Error()
}

// keyForReplay refuses to name known events anew, unless that is wanted: then
// the key that is there now is one of the log's from here on.
func (n *Node) keyForReplay(r api.ReplayRequest) (identity.Key, error) {
	problem := n.keyProblem()
	if problem == "" {
		return n.idKey()
	}
	if !r.NewKey {
		return identity.Key{}, api.Errorf(api.OtherKey, "%s; with --new-key they are taken in under new names", problem)
	}
	key, err := n.idKey()
	if err == nil && !r.DryRun {
		err = n.knownKeys().Add(key)
	}
	return key, err
}
