package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"cmem/cmd/internal/api"
	"cmem/ingest/home"
	"cmem/ingest/spool/drain"
	"cmem/streams"
	"cmem/streams/durable"
)

// examination collects what a doctor finds.
type examination struct {
	node     *Node
	findings []api.Finding
}

func (x *examination) find(code string, severity api.Severity, next, what string, args ...any) *api.Finding {
	x.findings = append(x.findings, api.Finding{Code: code, Severity: severity, What: fmt.Sprintf(what, args...), Next: next})
	return &x.findings[len(x.findings)-1]
}

// Doctor looks at everything that can be wrong with the data folder, and with deep
// also reads the whole log and compares the read models with it. It changes
// nothing.
func (n *Node) Doctor(ctx context.Context, deep bool, tell func(api.Line)) (any, error) {
	halted := n.isOpen() == nil && n.stream.Halted() != nil
	if err := n.isPrepared(); err != nil && !halted {
		return nil, err
	}
	began := n.now()
	x := &examination{node: n, findings: []api.Finding{}}
	checks := []func(context.Context) error{x.folder, x.copies, x.log, x.spool, x.models}
	if deep && !halted {
		checks = append(checks, x.chain, x.index)
	}
	for i, check := range checks {
		tell(api.Line{Stage: "doctor", Done: int64(i), Total: int64(len(checks))})
		n.touch()
		if err := check(ctx); err != nil {
			return nil, err
		}
	}
	out := api.Diagnosis{Findings: x.findings, Deep: deep, Disk: n.sizes(), Milliseconds: n.now().Sub(began).Milliseconds()}
	out.Healthy = out.Worst() < api.Warning
	return out, nil
}

// folder: who may read it, what disk it is on.
func (x *examination) folder(context.Context) error {
	n := x.node
	if what, err := n.dir.Readable(); err != nil && durable.TroubleOf(err) == durable.NoTrouble {
		return err
	} else if len(what) > 0 {
		x.find("folder.open", api.Warning, "take the rights of others away: chmod -R go-rwx on the data folder",
			"others may read or change %d files of the data folder", len(what)).Evidence = what[:min(len(what), 20)]
	}
	x.findings = append(x.findings, n.troubles()...)
	return nil
}

// manyCopies is from where copies of damaged files are worth a word.
const manyCopies = 256 << 20

// copies: what lost something is kept until a person takes it away.
func (x *examination) copies(context.Context) error {
	if kept := x.node.sizes().Evidence; kept >= manyCopies {
		x.find("disk.evidence", api.Note, "when nothing is to be had from them any more, remove folders in log/evidence; cmem log damage says what they are of",
			"copies of damaged files take %d MB", kept>>20)
	}
	return nil
}

func (x *examination) log(context.Context) error {
	n := x.node
	x.halted()
	if stop := n.tellStop(); stop != "" {
		x.find("log.unclean", api.Note, "nothing: what was acknowledged is there", "%s", stop)
	}
	findings, err := n.stream.Findings()
	if err != nil && durable.TroubleOf(err) == durable.NoTrouble {
		return err // else it is said of the folder
	}
	for _, f := range findings {
		if f.Count() == 0 {
			continue
		}
		severity := api.Warning
		if !f.Seen.IsZero() {
			severity = api.Note
		}
		found := x.find("log.damaged", severity, "see cmem log damage; what transcripts still have comes in again with cmem replay", "%s", f.String())
		names := map[streams.Position]streams.Name{}
		for _, l := range append(f.Lost, f.Spoiled...) {
			found.Evidence = append(found.Evidence, fmt.Sprintf("positions %d to %d", l.First, l.Last))
			for _, name := range l.Names {
				names[name.Position] = name
			}
		}
		found.Evidence = append(found.Evidence, n.regain(names)...)
	}
	x.gaps()
	if err := n.stream.Check(); errors.Is(err, streams.ErrExchanged) {
		x.find("log.exchanged", api.Broken, "cmem stop, then cmem start", "the folder this worker has open is not the one at %s any more", n.dir)
	}
	return nil
}

// gaps are what reads came upon since the log was opened.
func (x *examination) gaps() {
	for _, g := range x.node.stream.Gaps() {
		x.find("log.gap", api.Broken, "stop the worker and start it: the start mends the files and names what is lost", "%s", g.String())
	}
}

// old is how long a spool file may wait while a worker runs.
const old = time.Minute

func (x *examination) spool(context.Context) error {
	n := x.node
	x.lost()
	waiting, oldest, err := spoolFiles(n.dir, n.now())
	if durable.TroubleOf(err) != durable.NoTrouble {
		return nil // said of the folder
	}
	if err != nil {
		return err
	}
	if waiting > 0 && oldest > old {
		x.find("spool.waiting", api.Warning, "see the worker's log for why; nothing is lost", "%d events wait in the spool, the oldest for %s", waiting, oldest.Round(time.Second))
	}
	if strange := len(drain.Foreign(n.dir.Spool())); strange > 0 {
		x.find("spool.strange", api.Note, "look at them and take them away", "%d files in %s are not cmem's", strange, n.dir.Spool())
	}
	if held := entries(n.dir.Held()); held > 0 {
		x.find("spool.held", api.Warning, "cmem spool retry", "%d events could not enter the log for days and are held", held)
	}
	if corrupt := files(n.dir.Corrupt()); corrupt > 0 {
		x.find("spool.corrupt", api.Warning, "look at them: each may be part of an event", "%d files of the spool are no events; they are kept in %s", corrupt, n.dir.Corrupt())
	}
	return nil
}

// lostFor is how long it is a warning that hooks could not keep events.
const lostFor = 7 * 24 * time.Hour

// lost are events that hooks could not write to the spool; they counted them where
// they could.
func (x *examination) lost() {
	for _, c := range x.node.hookCounters() {
		why, ok := strings.CutPrefix(c.Name, "spool-failed:")
		if !ok {
			continue
		}
		severity := api.Warning
		if last, err := time.Parse(time.RFC3339, c.Last); err == nil && x.node.now().Sub(last) > lostFor {
			severity = api.Note
		}
		x.find("hooks.lost", severity, "see that the spool can be written, then cmem replay the transcripts of that time: they have what is missing",
			"hooks could not write %d events to the spool (%s), the last at %s", c.Count, why, c.Last)
	}
}

func spoolFiles(dir home.Dir, now time.Time) (count int, oldest time.Duration, err error) {
	waiting, err := drain.Entries(dir.Spool())
	for _, name := range waiting {
		if info, err := os.Stat(filepath.Join(dir.Spool(), name)); err == nil {
			oldest = max(oldest, now.Sub(info.ModTime()))
		}
	}
	return len(waiting), oldest, err
}

func (x *examination) models(context.Context) error {
	for _, m := range x.node.ModelStates() {
		switch {
		case m.State == stateFailed:
			next := "cmem rebuild"
			if t := durable.TroubleIn(m.Reason); t != durable.NoTrouble {
				next = remedies[t]
			}
			x.find("model."+m.Name, api.Broken, next, "%s cannot be kept up to date: %s", m.Name, m.Reason)
		case m.State != stateReady:
			x.find("model."+m.Name, api.Note, "wait: it is being built again", "%s is %s, %d %%", m.Name, m.State, m.Percent)
		}
	}
	return nil
}
