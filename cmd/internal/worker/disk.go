package worker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"cmem/cmd/internal/api"
	"cmem/cmd/internal/config"
	"cmem/ingest/home"
	"cmem/streams"
	"cmem/streams/durable"
)

// diskEvery is how often a worker looks whether the disk takes what it has to
// write, and whether it does again.
const diskEvery = 2 * time.Second

// place is a folder of the data folder, and what stands still while it cannot be
// used.
type place struct{ path, follows string }

func (n *Node) places() []place {
	return []place{
		{n.dir.Log(), "the log takes nothing in, and hooks keep their events in the spool"},
		{n.dir.Spool(), "hooks cannot keep their events, and what happens now is in the transcripts only"},
		{n.dir.SpoolTmp(), "hooks cannot keep their events, and what happens now is in the transcripts only"},
		{n.dir.Read(), "the read models stand still, and catch up afterwards"},
		{n.dir.Context(), "new sessions are told what was known before"},
		{n.dir.Run(), "hooks cannot count, and no worker can be started"},
	}
}

// troubles are what the disk, or the rights to it, keep the node from doing now.
// Finding them changes nothing.
func (n *Node) troubles() (all []api.Finding) {
	if f, short := n.shortOfDisk(); short {
		all = append(all, f)
	} else if p, paused := n.stream.Paused(); paused {
		all = append(all, pausedLog(p))
	}
	all = append(all, n.unusable()...)
	if err := n.drainTrouble(); err != nil && len(all) == 0 {
		all = append(all, api.Finding{
			Code: "spool.stuck", Severity: api.Broken, What: "the spool cannot be emptied: " + reason(err),
			Next: "mend what is named; nothing is lost, and the events go in by themselves",
		})
	}
	return append(all, n.shared()...)
}

// shortOfDisk: less is free than is to stay free.
func (n *Node) shortOfDisk() (api.Finding, bool) {
	free, err := durable.Free(n.dir.Log())
	reserve := max(n.stream.Reserve(), int64(n.cfg.ReserveMB)<<20)
	if err != nil || free >= reserve {
		return api.Finding{}, false
	}
	return api.Finding{
		Code: "disk.reserve", Severity: api.Broken,
		What: fmt.Sprintf("%d MB of disk are free, %d MB are to stay free (reserve_mb): the log takes nothing in, and what hooks tell is kept in the spool until there is room", free>>20, reserve>>20),
		Next: "free some space, or lower the setting reserve_mb; what waits goes in by itself",
	}, true
}

// pausedLog is a log that takes nothing in although there is room.
func pausedLog(p streams.Pause) api.Finding {
	code := "log.paused"
	if p.Trouble != durable.NoTrouble {
		code = "disk." + string(p.Trouble)
	}
	return api.Finding{
		Code: code, Severity: api.Broken,
		What: fmt.Sprintf("the log takes nothing in: %s", reason(p.Cause)), Evidence: []string{"since " + p.Since.UTC().Format(time.RFC3339)},
		Next: remedies[p.Trouble],
	}
}

// remedies say the safe next step.
var remedies = map[durable.Trouble]string{
	durable.NoTrouble: "see the worker's log; it is tried again by itself, and nothing is lost",
	durable.Full:      "free some space; what waits goes in by itself",
	durable.ReadOnly:  "find out why the system made it read-only (its kernel log says so), and mount it for writing; what waits goes in by itself",
	durable.Denied:    "give the folder back to the user that cmem runs as: chmod -R u+rwX, or chown; what waits goes in by itself",
	durable.Broken:    "copy the data folder to another disk as soon as it can be read, and look at the kernel's log; it is tried again by itself",
}

// unusable are the folders that cannot be read or written. Where the data folder
// itself cannot be used, nothing below needs to be named.
func (n *Node) unusable() (all []api.Finding) {
	if f, bad := unusable(place{string(n.dir), "nothing is taken in"}); bad {
		return []api.Finding{f}
	}
	for _, p := range n.places() {
		if f, bad := unusable(p); bad {
			all = append(all, f)
		}
	}
	return all
}

func unusable(p place) (api.Finding, bool) {
	err := durable.CheckAccess(p.path)
	t := durable.TroubleOf(err)
	if err == nil || t == durable.NoTrouble {
		return api.Finding{}, false // a folder that is gone is made again by who needs it
	}
	durable.Reached("disk." + string(t))
	return api.Finding{
		Code: "disk." + string(t), Severity: api.Broken,
		What:     fmt.Sprintf("%s cannot be used (%s): %s", p.path, t, p.follows),
		Evidence: []string{err.Error()}, Next: remedies[t],
	}, true
}

// drainTrouble is why the last look into the spool failed, if it was not the log.
func (n *Node) drainTrouble() error {
	if n.isPrepared() != nil {
		return nil
	}
	err := n.drainer.Failure()
	if errors.Is(err, streams.ErrClosed) {
		return nil
	}
	return err
}

// shared says on what kind of disk the folder is, where that asks for care.
func (n *Node) shared() []api.Finding {
	fsType, err := durable.FileSystem(n.dir.Log())
	if err != nil {
		return nil
	}
	switch durable.SharingOf(fsType) {
	case durable.Network:
		return []api.Finding{{
			Code: "disk.network", Severity: api.Warning,
			What: fmt.Sprintf("%s is on a network file system (%s), which allow_network_fs lets pass: a second machine that writes to it damages the log", n.dir.Log(), fsType),
			Next: "see that only one machine uses the folder, or move it to a disk of this one",
		}}
	case durable.Passed:
		return []api.Finding{{
			Code: "disk.shared", Severity: api.Note,
			What: fmt.Sprintf("%s is passed on from outside of this system (%s)", n.dir.Log(), fsType),
			Next: "use it from one side at a time: the other may not see the lock",
		}}
	}
	return nil
}

// diskWatch tells the worker's log of troubles, once when they come and once when
// they are gone, and sees that everything goes on afterwards.
type diskWatch struct {
	mu    sync.Mutex // guards known
	known map[string]api.Finding
}

// lookAtDisk is called every two seconds by the worker.
func (n *Node) lookAtDisk(ctx context.Context) {
	if n.disk.tell(n) {
		n.records.again()
		n.search.again()
		n.contexts.again()
	}
	if _, paused := n.stream.Paused(); !paused || n.isPrepared() != nil {
		return
	}
	if n.stream.Resume(ctx) == nil {
		durable.Reached("disk.resumed")
		n.drainer.Nudge()
	}
}

// tell says whether a trouble is gone.
func (w *diskWatch) tell(n *Node) (mended bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := map[string]api.Finding{}
	for _, f := range n.troubles() {
		key := f.Code
		if len(f.Evidence) > 0 && !strings.HasPrefix(f.Evidence[0], "since ") {
			key += " " + f.Evidence[0]
		}
		now[key] = f
		if _, told := w.known[key]; !told {
			n.log.Warn("disk", "code", f.Code, "what", f.What, "next", f.Next)
		}
	}
	for key, f := range w.known {
		if _, still := now[key]; !still {
			mended = true
			n.log.Info("disk: this is over", "code", f.Code, "what", f.What)
		}
	}
	if !maps.EqualFunc(w.known, now, func(a, b api.Finding) bool { return a.Severity == b.Severity }) {
		n.tellHooks(now)
	}
	w.known = now
	return mended
}

// tellHooks leaves word of the worst, for the next session to begin with.
func (n *Node) tellHooks(now map[string]api.Finding) {
	if n.halt() != nil {
		return // that is what they are told
	}
	for _, key := range slices.Sorted(maps.Keys(now)) {
		if f := now[key]; f.Severity == api.Broken {
			n.trouble(errors.New(f.What))
			return
		}
	}
	n.trouble(nil)
}

// RequireOwnDisk refuses, with durable.ErrNetwork, a data folder of which two
// machines could be writers. It touches nothing.
func RequireOwnDisk(dir home.Dir, cfg config.Config) error {
	if cfg.AllowNetworkFS {
		return nil
	}
	return durable.RequireOwn(string(dir), dir.Log(), dir.Read(), dir.Run())
}

// troubleOf also understands what libraries say in text.
func troubleOf(err error) durable.Trouble {
	if err == nil || errors.Is(err, os.ErrNotExist) {
		return durable.NoTrouble
	}
	if t := durable.TroubleOf(err); t != durable.NoTrouble {
		return t
	}
	return durable.TroubleIn(err.Error())
}

// waits: the trouble ends by itself or by a person, and what met it is whole then.
// After an input/output error that is not so: a file whose sync failed may lack
// what memory shows of it.
func waits(t durable.Trouble) bool {
	return t == durable.Full || t == durable.ReadOnly || t == durable.Denied
}
