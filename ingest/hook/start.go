package hook

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"cmem/streams/durable"
)

// backOff is how long after a start nobody tries again. A worker that comes up
// answers long before; one that does not is not tried by every hook.
const backOff = 30 * time.Second

// start starts the worker, detached, unless somebody else does or just did.
func (r *run) start() {
	if r.startedWithin(backOff) {
		return
	}
	path := workerPath(r.cfg.Executable)
	if path == "" {
		r.count("worker-missing")
		return
	}
	lock, err := durable.Acquire(r.dir.SpawnLock())
	if err != nil {
		return // another hook is at it
	}
	defer lock.Release()
	if r.startedWithin(backOff) {
		return
	}
	// Written before the start: a start that hangs or dies counts as one.
	if err := os.WriteFile(r.dir.LastStart(), []byte(r.captured.UTC().Format(time.RFC3339Nano)+"\n"), 0o600); err != nil {
		return
	}
	if err := r.spawn(path); err != nil {
		r.count("worker-start-failed:" + cause(err))
		return
	}
	r.count("worker-started")
}

// startedWithin goes by the file's content, not its time: copying a home must
// not look like a start. A time in the future counts as none.
func (r *run) startedWithin(limit time.Duration) bool {
	data, err := os.ReadFile(r.dir.LastStart())
	if err != nil {
		return false
	}
	at, err := time.Parse(time.RFC3339Nano, strings.TrimSpace(string(data)))
	since := r.captured.Sub(at)
	return err == nil && since > -limit && since < limit
}

// workerPath finds cmem beside this program, or behind a link to it; "" if it
// is not there. `cmem hook` is the worker's own program.
func workerPath(self string) string {
	if self == "" {
		return ""
	}
	name := "cmem"
	if runtime.GOOS == "windows" {
		name = "cmem.exe"
	}
	if strings.EqualFold(filepath.Base(self), name) {
		return self
	}
	real, err := filepath.EvalSymlinks(self)
	if err != nil {
		real = self
	}
	for _, dir := range []string{filepath.Dir(self), filepath.Dir(real)} {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// spawn starts `cmem serve` so that it outlives this process and the host: its
// own session, no handle of ours, no variable of the host's.
func (r *run) spawn(path string) error {
	log, err := os.OpenFile(filepath.Join(r.dir.Logs(), "start.log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer null.Close()
	keepHandles()
	p, err := os.StartProcess(path, []string{path, "serve"}, &os.ProcAttr{
		Dir:   string(r.dir),
		Env:   append(scrub(r.cfg.Env), "CMEM_DATA_DIR="+string(r.dir)),
		Files: []*os.File{null, log, log},
		Sys:   detached(),
	})
	if err != nil {
		return err
	}
	return p.Release()
}

// hostVariables begin the names of what belongs to a host and not to the user.
var hostVariables = []string{
	"CLAUDE", "ANTHROPIC_", "CODEX_", "GEMINI_CLI", "GEMINI_SESSION", "GEMINI_PROJECT", "GEMINI_CWD", "QWEN_", "CURSOR_",
	"OPENCODE", "KIMI_", "COPILOT_", "WINDSURF_", "MCP_", "ELECTRON_", "NODE_OPTIONS=", "VSCODE_",
	"CMEM_DATA_DIR=", "CMEM_INTERNAL=",
}

// scrub drops the host's variables: a worker that outlives a session must not
// carry its ids, nor its credentials.
func scrub(env []string) []string {
	kept := make([]string, 0, len(env)+1)
next:
	for _, v := range env {
		for _, prefix := range hostVariables {
			if strings.HasPrefix(v, prefix) {
				continue next
			}
		}
		kept = append(kept, v)
	}
	return kept
}
