package worker

import (
	"bytes"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"cmem/cmd/internal/api"
	"cmem/ingest/home"
	"cmem/ingest/spool"
	"cmem/streams/durable"
	"cmem/streams/envelope"
	"cmem/streams/streamstest/smalldisk"
)

const nobody = 65534

// unprivileged gives f a process that rights mean something to: this one, or for
// root the same test again as nobody.
func unprivileged(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	if os.Getuid() != 0 {
		f(t)
		return
	}
	dir, err := os.MkdirTemp("", "cm")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	self, err := os.Executable()
	must(t, err)
	program, err := os.ReadFile(self)
	must(t, err, os.WriteFile(filepath.Join(dir, "test"), program, 0o755), os.Chown(dir, nobody, nobody))
	c := exec.Command(filepath.Join(dir, "test"), "-test.run", "^"+t.Name()+"$", "-test.v")
	c.Dir, c.Env = dir, append(os.Environ(), "TMPDIR="+dir, "HOME="+dir, "GOCOVERDIR="+dir)
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("as nobody: %v\n%s", err, out)
	}
}

// openLogged opens a node whose log can be read.
func openLogged(t *testing.T, dir home.Dir, said io.Writer) *Node {
	t.Helper()
	n, err := Open(t.Context(), dir, settings(), slog.New(slog.NewTextHandler(said, nil)))
	must(t, err)
	return n
}

func codesOf(all []api.Finding) (codes []string) {
	for _, f := range all {
		codes = append(codes, f.Code)
	}
	return codes
}

// saysOf is what status and doctor say under code of a path.
func saysOf(t *testing.T, n *Node, code, path string) {
	t.Helper()
	has := func(all []api.Finding) bool {
		return slices.ContainsFunc(all, func(f api.Finding) bool {
			return f.Code == code && f.Severity == api.Broken && strings.Contains(f.What, path) && f.Next != "" && !strings.Contains(f.What, "\n")
		})
	}
	s, err := n.Stats(t.Context())
	must(t, err)
	if !has(s.Storage) || !strings.Contains(strings.Join(s.Notes, "\n"), path) || s.Phase.Message == "" {
		t.Errorf("status says %v, %q, %q", codesOf(s.Storage), s.Notes, s.Phase.Message)
	}
	out, err := n.Doctor(t.Context(), false, func(api.Line) {})
	must(t, err)
	if d := out.(api.Diagnosis); !has(d.Findings) || d.Healthy {
		t.Errorf("the doctor says %+v", d.Findings)
	}
}

func spooled(t *testing.T, dir home.Dir, envs ...envelope.Envelope) {
	t.Helper()
	for _, e := range envs {
		_, err := spool.Put(dir.Spool(), e)
		must(t, err)
	}
}

// The rights of a folder are taken away while a node has it open: status and doctor
// name it, what waits is kept, the log of the worker has one line for the change,
// and with the rights back everything goes on.
func TestRightsTakenAwayAreSaidAndComeBack(t *testing.T) {
	unprivileged(t, func(t *testing.T) {
		for _, name := range []string{"log", "spool", "read"} {
			t.Run(name, func(t *testing.T) {
				dir := folder(t)
				var said bytes.Buffer
				n := openLogged(t, dir, &said)
				n.add(t, prompts("walrus-1", 20)...)
				head := n.head()
				spooled(t, dir, prompts("walrus-2", 5)...)
				path := filepath.Join(string(dir), name)
				must(t, os.Chmod(path, 0))
				t.Cleanup(func() { _ = os.Chmod(path, 0o700) })
				for range 3 {
					_ = n.drainer.RunOnce(t.Context())
					_ = n.settle(t.Context())
					n.lookAtDisk(t.Context())
				}
				saysOf(t, n, "disk.denied", path)
				if got := strings.Count(said.String(), "msg=disk code=disk.denied"); got < 1 || got > 2 {
					t.Errorf("the log has %d lines of it:\n%s", got, said.String())
				}
				must(t, os.Chmod(path, 0o700))
				n.lookAtDisk(t.Context())
				must(t, n.drainer.RunOnce(t.Context()), n.settle(t.Context()))
				if n.head() != head+5 || n.countFound(t, "walrus") != 25 {
					t.Errorf("the head is %d, %d found", n.head(), n.countFound(t, "walrus"))
				}
				if all := n.troubles(); len(all) > 0 || !strings.Contains(said.String(), "this is over") {
					t.Errorf("afterwards: %+v\n%s", all, said.String())
				}
				closed(t, n)
			})
		}
	})
}

// The same before a start: it is refused with one sentence that names the path, and
// nothing is changed.
func TestRightsThatAreMissingAtAStartAreSaid(t *testing.T) {
	unprivileged(t, func(t *testing.T) {
		for _, name := range []string{"log", "log/jetstream/$G/streams/cmem/msgs", "log/jetstream/$G/streams/cmem/msgs/1.blk", "read", "read/records.db"} {
			t.Run(filepath.Base(name), func(t *testing.T) {
				dir := folder(t)
				n := open(t, dir)
				n.add(t, prompts("walrus-1", 20)...)
				closed(t, n)
				path := filepath.Join(string(dir), name)
				info, err := os.Stat(path)
				must(t, err, os.Chmod(path, 0))
				t.Cleanup(func() { _ = os.Chmod(path, info.Mode()) })
				n, err = Open(t.Context(), dir, settings(), slog.New(slog.DiscardHandler))
				if err == nil {
					n.Close()
					t.Fatal("it was opened")
				}
				if line := reason(err); !strings.Contains(line, path) || !strings.Contains(line, "denied") || durable.TroubleOf(err) != durable.Denied {
					t.Errorf("it says %q", err)
				}
				must(t, os.Chmod(path, info.Mode()))
				n = open(t, dir)
				defer closed(t, n)
				if got := n.countFound(t, "walrus"); got != 20 {
					t.Errorf("%d found", got)
				}
				if n.search.unread+n.records.unread != "" {
					t.Errorf("called damaged: %q, %q", n.records.unread, n.search.unread)
				}
			})
		}
	})
}

// Read models on a disk that is full: none is called damaged, status and doctor say
// why they stand still, and with room they go on and are what a build from the
// beginning makes of the log.
func TestReadModelsOnAFullDiskGoOnAfterwards(t *testing.T) {
	smalldisk.Run(t, func(t *testing.T) {
		dir := folder(t)
		must(t, dir.Make())
		disk := smalldisk.Mount(t, dir.Read(), 48)
		n := open(t, dir)
		n.add(t, prompts("walrus-1", 50)...)
		for round, leave := range []int64{0, 8 << 10, 100 << 10, 600 << 10} {
			disk.Fill(t, leave)
			_, err := n.ingester.Add(t.Context(), prompts("walrus-"+strings.Repeat("x", round+2), 700)...)
			must(t, err)
			err = errFirst(n.settle(t.Context()), n.settle(t.Context()))
			if durable.IsFull(err) {
				saysFull(t, n)
			} else if err != nil && troubleOf(err) != durable.Full {
				t.Errorf("with %d bytes: %v", leave, err)
			}
			if n.records.unread+n.search.unread != "" {
				t.Errorf("with %d bytes: called damaged: %q, %q", leave, n.records.unread, n.search.unread)
			}
			if _, err := n.Rebuild(t.Context(), api.RebuildRequest{}, func(api.Line) {}); err != nil && troubleOf(err) != durable.Full {
				t.Errorf("rebuild with %d bytes: %v", leave, err)
			}
			disk.Clear(t)
			must(t, n.settle(t.Context()))
			if got, want := n.countFound(t, "walrus"), 50+700*(round+1); got != want {
				t.Errorf("with room again: %d found, want %d", got, want)
			}
		}
		out, err := n.Rebuild(t.Context(), api.RebuildRequest{Verify: true}, func(api.Line) {})
		must(t, err)
		if !out.(RebuildResult).Equal {
			t.Errorf("they are not what the log makes: %+v", out)
		}
		for _, m := range n.ModelStates() {
			if m.State != stateReady {
				t.Errorf("%+v", m)
			}
		}
		closed(t, n)
	})
}

func errFirst(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func saysFull(t *testing.T, n *Node) {
	t.Helper()
	out, err := n.Doctor(t.Context(), false, func(api.Line) {})
	must(t, err)
	for _, f := range out.(api.Diagnosis).Findings {
		if strings.HasPrefix(f.Code, "model.") && strings.Contains(f.What, "no space left") && f.Next == remedies[durable.Full] {
			return
		}
	}
	t.Errorf("the doctor says %+v", out)
}
