package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cmem/cmd/internal/api"
	"cmem/cmd/internal/config"
	"cmem/ingest/home"
	"cmem/streams"
	"cmem/streams/durable"
)

// repairs are what a repair asks of the opening of a log.
type repairs struct{ accept, scan bool }

// Repair carries out the steps of a plan on a data folder that no process has open.
// Before each it keeps what the step changes in a new folder under repair/, unless
// that is kept by the step itself (damaged blocks in log/evidence/, read models as
// .old). It goes on after a step that failed and says so. What a doctor still finds
// at the end, looking as deep as deep says, is in the answer.
func Repair(ctx context.Context, dir home.Dir, cfg config.Config, log *slog.Logger, plan []api.Step, deep bool) (api.Repaired, error) {
	r := &repair{ctx: ctx, dir: dir, cfg: cfg, log: log, out: api.Repaired{Steps: slices.Clone(plan), Applied: true, At: time.Now().UTC()}}
	if err := r.keep(); err != nil {
		return r.out, fmt.Errorf("nothing was changed, because no copy could be kept: %w", err)
	}
	r.do(r.beforeOpen)
	err := r.opened(deep)
	return r.out, errors.Join(err, r.write())
}

type repair struct {
	ctx  context.Context
	dir  home.Dir
	cfg  config.Config
	log  *slog.Logger
	ask  repairs
	node *Node
	out  api.Repaired
}

// keep makes the folder of copies, with the plan and the small files that any step
// may change.
func (r *repair) keep() error {
	r.out.Copies = filepath.Join(r.dir.Repair(), r.out.At.Format("20060102T150405.000Z"))
	if err := os.MkdirAll(r.out.Copies, 0o700); err != nil {
		return err
	}
	for _, path := range []string{r.dir.Head(), r.dir.IDKeySum(), filepath.Join(r.dir.Log(), "identity.json"), filepath.Join(r.dir.Log(), "clean")} {
		if err := copyIfThere(filepath.Join(r.out.Copies, filepath.Base(path)), path); err != nil {
			return err
		}
	}
	return r.write()
}

// copyIfThere copies a small file, durably; one that is not there is none to copy.
func copyIfThere(to, from string) error {
	data, err := os.ReadFile(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return durable.WriteFile(to, data, 0o600)
}

// write says in the folder of copies what the repair did so far.
func (r *repair) write() error {
	data, err := json.MarshalIndent(r.out, "", "  ")
	if err != nil {
		return err
	}
	return durable.WriteFile(filepath.Join(r.out.Copies, "repair.json"), append(data, '\n'), 0o600)
}

// do runs one part of every step that has an action and has not failed.
func (r *repair) do(part func(action, detail string) (done string, err error)) {
	for i := range r.out.Steps {
		s := &r.out.Steps[i]
		action, detail, _ := strings.Cut(s.Action, ":")
		if action == "" || s.Failed != "" {
			continue
		}
		done, err := part(action, detail)
		if err != nil {
			s.Failed = reason(err)
			r.log.Warn("repair", "code", s.Code, "err", err)
		} else if done != "" {
			s.Done = strings.TrimPrefix(s.Done+"; "+done, "; ")
		}
	}
}

// beforeOpen does what the log's files need before they can be opened.
func (r *repair) beforeOpen(action, _ string) (string, error) {
	switch action {
	case actRestore:
		nets, err := streams.Nets(r.dir.Log())
		if err != nil || len(nets) == 0 {
			return "", errors.Join(errors.New("the log has no net any more"), err)
		}
		if err := streams.RestoreNet(r.dir.Log(), nets[0]); err != nil {
			return "", err
		}
		r.ask.accept, r.ask.scan = true, true
		return fmt.Sprintf("put back from %s, which goes to position %d", nets[0].Dir, nets[0].Ends), nil
	case actBegin:
		if err := r.putAside(r.dir.Log(), r.dir.Read(), r.dir.Context()); err != nil {
			return "", err
		}
		r.ask.accept = true
		return "what is left of the old log, and the read models of it, are in " + r.out.Copies, nil
	case actExchange:
		if err := r.putAside(r.dir.Read(), r.dir.Context()); err != nil {
			return "", err
		}
		r.ask.accept = true
		return "the read models of the other log are in " + r.out.Copies, nil
	case actAccept:
		r.ask.accept = true
	case actScan:
		r.ask.scan = true
	}
	return "", nil
}

// putAside moves folders to the copies.
func (r *repair) putAside(folders ...string) error {
	for _, f := range folders {
		if err := os.Rename(f, filepath.Join(r.out.Copies, filepath.Base(f))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return errors.Join(durable.SyncDir(string(r.dir)), durable.SyncDir(r.out.Copies))
}

// opened does the rest with everything open, and looks at what is left.
func (r *repair) opened(deep bool) (err error) {
	n := newNode(r.dir, r.cfg, r.log, time.Now)
	n.repair = r.ask
	if err := n.bringUp(r.ctx); err != nil {
		return err
	}
	r.node = n
	defer func() { err = errors.Join(err, n.Close()) }()
	r.do(r.whileOpen)
	// What was appended meanwhile is read before the doctor looks.
	if err := n.catchUp(r.ctx); err != nil {
		return err
	}
	d, err := n.Doctor(r.ctx, deep, func(api.Line) {})
	if err != nil {
		return err
	}
	left := d.(api.Diagnosis)
	r.out.Healthy = left.Healthy
	r.out.Left = slices.DeleteFunc(left.Findings, func(f api.Finding) bool { return f.Severity < api.Warning })
	return nil
}

func (r *repair) whileOpen(action, detail string) (string, error) {
	switch action {
	case actAccept, actScan, actRestore:
		return r.told()
	case actSeen:
		_, err := r.node.stream.SeeDamage(time.Now())
		return "noted", err
	case actRebuild:
		_, err := r.node.Rebuild(r.ctx, api.RebuildRequest{Only: detail}, func(api.Line) {})
		return "built again", err
	case actRetry:
		n, err := r.node.RetrySpool(r.ctx)
		return fmt.Sprintf("%d events are back in the spool", n), err
	case actClose:
		return r.closeToOthers()
	}
	return "", nil
}

// told says what the log lost by what it told in this opening.
func (r *repair) told() (string, error) {
	findings, err := r.node.stream.Findings()
	if err != nil {
		return "", err
	}
	lost, evidence := uint64(0), ""
	for _, f := range findings {
		if f.Found.After(r.out.At) {
			lost += f.Count()
			evidence = f.Evidence
		}
	}
	if lost == 0 {
		return "the log takes in again; nothing of it is lost", nil
	}
	return fmt.Sprintf("%d positions are lost and told in the log (cmem log damage); copies of the files are in %s", lost, evidence), nil
}

// closeToOthers takes rights away and notes what they were.
func (r *repair) closeToOthers() (string, error) {
	open, err := r.dir.Readable()
	if err != nil {
		return "", err
	}
	modes := map[string]string{}
	for _, name := range open {
		info, err := os.Lstat(filepath.Join(string(r.dir), name))
		if err != nil {
			continue // it went away
		}
		modes[name] = info.Mode().String()
		if err := os.Chmod(filepath.Join(string(r.dir), name), info.Mode().Perm()&0o700); err != nil {
			return "", err
		}
	}
	data, err := json.MarshalIndent(modes, "", "  ")
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d files are the owner's alone", len(modes)), durable.WriteFile(filepath.Join(r.out.Copies, "modes.json"), data, 0o600)
}

// TryRepair carries a plan out on a copy of the folder and throws the copy away:
// what it says is what Repair would do now.
func TryRepair(ctx context.Context, dir home.Dir, cfg config.Config, log *slog.Logger, plan []api.Step, deep bool) (out api.Repaired, err error) {
	temp, err := os.MkdirTemp(dir.Run(), durable.TempPattern)
	if err != nil {
		return out, err
	}
	defer func() {
		err = errors.Join(err, os.RemoveAll(temp))
		_ = os.Remove(filepath.Dir(home.Dir(temp).Socket())) // a folder that only a long path has
	}()
	if err := copyHome(home.Dir(temp), dir); err != nil {
		return out, fmt.Errorf("copy the data folder for a trial: %w", err)
	}
	out, err = Repair(ctx, home.Dir(temp), cfg, log, plan, deep)
	out.Applied, out.Tried, out.Copies = false, true, ""
	for i := range out.Steps {
		s := &out.Steps[i]
		s.Done, s.Failed = strings.ReplaceAll(s.Done, temp, string(dir)), strings.ReplaceAll(s.Failed, temp, string(dir))
	}
	for i := range out.Left {
		out.Left[i].What = strings.ReplaceAll(out.Left[i].What, temp, string(dir))
	}
	return out, err
}

// copyHome copies what a repair looks at: the log, read models, the small files. The
// spool stays: a trial must not take anything in.
func copyHome(to, from home.Dir) error {
	if err := to.Make(); err != nil {
		return err
	}
	if err := streams.CopyTo(to.Log(), from.Log()); err != nil {
		return err
	}
	for _, f := range [][2]string{{to.Head(), from.Head()}, {to.IDKey(), from.IDKey()}, {to.IDKeySum(), from.IDKeySum()}, {to.Config(), from.Config()}} {
		if err := copyIfThere(f[0], f[1]); err != nil {
			return err
		}
	}
	return os.CopyFS(to.Read(), os.DirFS(from.Read()))
}
