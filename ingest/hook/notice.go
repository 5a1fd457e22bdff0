package hook

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"cmem/ingest/host/adapter"
)

// keepNotices is how long it is remembered that a notice was given.
const keepNotices = 7 * 24 * time.Hour

// emptyNotice tells the user, at most once an hour, that hooks get no payload.
// Nothing says which session they belong to.
func (r *run) emptyNotice() string {
	return r.once("empty-payload/"+r.captured.UTC().Format("2006010215"),
		"cmem: this hook was started without its payload, so nothing can be remembered. "+
			"See `cmem status`; often another hook manager or a wrapper swallows standard input.")
}

// refused says on standard error that the event was not kept, and tells the user
// once a session.
func (r *run) refused(err error) string {
	what := "not kept: " + strings.Join(strings.Fields(err.Error()), " ")
	fmt.Fprintln(r.cfg.Stderr, "cmem-hook: "+r.said.Event+": "+what)
	return r.once("spool-failed/"+r.said.Session,
		"cmem: what happens here is "+what+". Until that is mended only the transcript has it; `cmem replay` brings it in afterwards.")
}

// comesUp is how long a worker that was just started may take to answer before
// anybody is told.
const comesUp = 5 * time.Second

// awayNotice tells the user, once a session, that no worker answers.
func (r *run) awayNotice() string {
	if r.settings.FailLoud <= 0 || r.away < r.settings.FailLoud || r.startedWithin(comesUp) {
		return ""
	}
	return r.once("no-worker/"+r.said.Session,
		"cmem: its worker has not answered "+strconv.Itoa(r.away)+" hooks in a row. Everything is kept in "+
			r.dir.Spool()+" and goes in when it runs again: `cmem start`.")
}

// maxProblems is how many settings a notice names.
const maxProblems = 3

// settingsNotice tells the user, once a session, which settings cannot be used
// and what follows. Others that are found later in the session are told too.
func (r *run) settingsNotice() string {
	if len(r.unusable) == 0 {
		return ""
	}
	var all []string
	for i, err := range r.unusable {
		if i == maxProblems {
			all = append(all, "and "+strconv.Itoa(len(r.unusable)-i)+" more")
			break
		}
		all = append(all, strings.Join(strings.Fields(err.Error()), " "))
	}
	text := strings.Join(all, "; ")
	return r.once("settings/"+r.said.Session+"/"+text,
		"cmem: settings cannot be used: "+text+". What they should take out or leave out is kept as it is until that is mended; "+
			"the other settings and the built-in redaction hold. See `cmem config`.")
}

// maxTrouble bounds what is read of a trouble.
const maxTrouble = 2000

// troubleNotice tells the user, once a session, why the log takes nothing in, as
// whoever has the log has left it.
func (r *run) troubleNotice() string {
	if r.dir == "" {
		return ""
	}
	f, err := os.Open(r.dir.Trouble())
	if err != nil {
		return ""
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxTrouble))
	text := strings.Join(strings.Fields(string(data)), " ")
	if err != nil || text == "" {
		return ""
	}
	return r.once("trouble/"+r.said.Session+"/"+text,
		"cmem: "+text+". Everything is kept in "+r.dir.Spool()+" meanwhile. See `cmem doctor`.")
}

// joined is notices as one.
func joined(all ...string) string {
	return strings.Join(slices.DeleteFunc(all, func(s string) bool { return s == "" }), "\n")
}

// once gives the notice if it was not given under this key and this event can
// show it. Among processes at once, one gives it.
func (r *run) once(key, notice string) string {
	if !r.shows(notice) {
		return ""
	}
	sum := sha256.Sum256([]byte(key))
	path := filepath.Join(r.dir.Notices(), hex.EncodeToString(sum[:8]))
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "" // given, or it cannot be remembered that it was: rather not each time
	}
	f.Close()
	r.forgetNotices()
	return notice
}

// shows: would the host's answer to this event carry a notice?
func (r *run) shows(notice string) bool {
	if r.host.Answer == nil || r.dir == "" || endsTurn(r.event) || endsTurn(r.said.Event) {
		return false
	}
	with := r.host.Answer(r.said.Event, adapter.Reply{Notice: notice})
	return string(with) != string(r.host.Answer(r.said.Event, adapter.Reply{}))
}

func (r *run) forgetNotices() {
	entries, err := os.ReadDir(r.dir.Notices())
	if err != nil {
		return
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && r.captured.Sub(info.ModTime()) > keepNotices {
			os.Remove(filepath.Join(r.dir.Notices(), e.Name()))
		}
	}
}

// awayFile counts hooks in a row that met no worker. Hooks at once may count
// one too few; nobody counts on it.
func (r *run) awayFile() string { return filepath.Join(r.dir.Run(), "hooks-away") }

func (r *run) countAway() {
	data, _ := os.ReadFile(r.awayFile()) // missing: none yet
	n, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil || n < 0 {
		n = 0
	}
	r.away = n + 1
	_ = os.WriteFile(r.awayFile(), strconv.AppendInt(nil, int64(r.away), 10), 0o600)
}

func (r *run) countMet() {
	if err := os.Remove(r.awayFile()); err != nil && !errors.Is(err, os.ErrNotExist) {
		_ = os.WriteFile(r.awayFile(), nil, 0o600)
	}
}
