// Package home knows the data folder: where every file of cmem lives, how the
// folder is made, the few settings the hook publisher reads, and the counters
// that many short processes share. Standard library only, nothing at init.
//
//	config.json   settings (JSON; CMEM_* environment over it)
//	id.key        32 bytes that key content hashes (package identity)
//	id.key.sum    fingerprints of the keys that the log was written with
//	spool/        hand-over files; tmp/ unfinished, corrupt/ unreadable, held/ given up
//	log/          the log (package streams)
//	read/         read models
//	context/      rendered context, one file per project and host, named by hash
//	run/          head (how far the log came: package streams)
//	              trouble (why the log takes nothing in, while it does not)
//	              cmem.sock state.json spawn.lock last-start token counters/ notices/
//	logs/         the worker's own log files
//	repair/       what repairs kept of what they changed, made by the first
//
// Every folder is 0700: nobody but the owner's OS user gets in.
package home

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Dir is the absolute path of a data folder.
type Dir string

// ErrForeign: the folder holds files, and none of them is ours.
var ErrForeign = errors.New("not a cmem data folder")

// Resolve says which data folder to use: the flag, then CMEM_DATA_DIR, then
// ~/.cmem. A leading ~ is the user's home. A relative flag starts at the working
// folder; a relative CMEM_DATA_DIR starts at the user's home, because hooks run in
// any folder and must meet the same data. It touches no file.
func Resolve(flag string, getenv func(string) string) (Dir, error) {
	path := flag
	if path == "" {
		if path = getenv("CMEM_DATA_DIR"); path != "" && path[0] != '~' && !filepath.IsAbs(path) {
			path = "~/" + path
		}
	}
	if path == "" {
		path = "~/.cmem"
	}
	path, err := expand(path, getenv)
	if err != nil {
		return "", fmt.Errorf("data folder: %w", err)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("data folder %s: %w", path, err)
	}
	return Dir(abs), nil
}

func expand(path string, getenv func(string) string) (string, error) {
	if path != "~" && !strings.HasPrefix(path, "~/") && !strings.HasPrefix(path, `~\`) {
		return path, nil
	}
	user := userHome(getenv)
	if user == "" {
		return "", fmt.Errorf("%s needs a home folder, and HOME is not set: give --data or CMEM_DATA_DIR", path)
	}
	return filepath.Join(user, path[1:]), nil
}

// userHome is the OS user's home, "" if unknown. Services and cron start
// processes without HOME; the password file then knows better, but reading it
// needs os/user, which is too dear for a hook.
func userHome(getenv func(string) string) string {
	if h := getenv("HOME"); h != "" {
		return h
	}
	return getenv("USERPROFILE")
}

func (d Dir) join(parts ...string) string {
	return filepath.Join(append([]string{string(d)}, parts...)...)
}

// The paths, in the order of the package comment.

func (d Dir) Config() string   { return d.join("config.json") }
func (d Dir) IDKey() string    { return d.join("id.key") }
func (d Dir) IDKeySum() string { return d.join("id.key.sum") }
func (d Dir) Spool() string    { return d.join("spool") }
func (d Dir) SpoolTmp() string { return d.join("spool", "tmp") }
func (d Dir) Corrupt() string  { return d.join("spool", "corrupt") }
func (d Dir) Held() string     { return d.join("spool", "held") }
func (d Dir) Log() string      { return d.join("log") }
func (d Dir) Read() string     { return d.join("read") }
func (d Dir) Context() string  { return d.join("context") }
func (d Dir) Run() string      { return d.join("run") }
func (d Dir) Head() string     { return d.join("run", "head") }
func (d Dir) Logs() string     { return d.join("logs") }
func (d Dir) Repair() string   { return d.join("repair") }

func (d Dir) State() string      { return d.join("run", "state.json") }
func (d Dir) SpawnLock() string  { return d.join("run", "spawn.lock") }
func (d Dir) LastStart() string  { return d.join("run", "last-start") }
func (d Dir) Token() string      { return d.join("run", "token") }
func (d Dir) CounterDir() string { return d.join("run", "counters") }
func (d Dir) Notices() string    { return d.join("run", "notices") }
func (d Dir) Trouble() string    { return d.join("run", "trouble") }

// ContextFile is where the rendered context of one project for one host lies.
// The name is a hash: a project's key and name never become a path.
func (d Dir) ContextFile(projectKey, host string) string {
	sum := sha256.Sum256([]byte(host + "\x00" + projectKey))
	return d.join("context", hex.EncodeToString(sum[:16])+".md")
}

// Make creates the folder and everything in it that is a folder, 0700, and
// takes away what others may do with them. It is safe under many processes and
// cheap when all is there. A folder that holds only strange files is refused
// with ErrForeign and left as it is.
func (d Dir) Make() error {
	if err := d.checkOurs(); err != nil {
		return err
	}
	for _, path := range []string{
		string(d), d.Spool(), d.SpoolTmp(), d.Corrupt(), d.Held(), d.Log(), d.Read(),
		d.Context(), d.Run(), d.CounterDir(), d.Notices(), d.Logs(),
	} {
		if err := makePrivate(path); err != nil {
			return fmt.Errorf("data folder: %w", err)
		}
	}
	return d.makeSocketDir()
}

func makePrivate(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		if err := os.MkdirAll(path, 0o700); err != nil {
			return err
		}
		info, err = os.Stat(path)
	}
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is a file where a folder belongs", path)
	}
	if info.Mode().Perm()&0o077 == 0 || !hasModes {
		return nil
	}
	return os.Chmod(path, 0o700)
}

// checkOurs refuses a folder of somebody else's, because Make tightens modes:
// a mistyped --data must not lock a system out of its /var/log.
func (d Dir) checkOurs() error {
	for _, mark := range []string{d.IDKey(), d.SpoolTmp(), d.Config()} {
		if _, err := os.Lstat(mark); err == nil {
			return nil
		}
	}
	entries, err := os.ReadDir(string(d))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	for _, e := range entries {
		if !ours(e.Name()) {
			return fmt.Errorf("%s: %w (it holds %q)", d, ErrForeign, e.Name())
		}
	}
	return nil
}

func ours(name string) bool {
	switch name {
	case "config.json", "id.key", "spool", "log", "read", "context", "run", "logs":
		return true
	}
	// A second process may be making id.key right now; hidden files of a file
	// manager are nobody's data.
	return strings.HasPrefix(name, "id.key.") || strings.HasPrefix(name, ".")
}
