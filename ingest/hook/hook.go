// Package hook is the whole hook publisher: cmem-hook and `cmem hook` only call
// Run.
//
//	cmem-hook [--data DIR] HOST EVENT  < payload
//
// Promise: when Run returns, the event is on disk (package spool) or the disk
// refused it, and that was said on standard error and counted where it could be: an
// event is accepted if and only if nothing is said there. The exit code is 0 whatever happened, since
// hosts take any other for an order; nothing but the host's own form of answer
// is on standard output, and nothing at all at the end of a turn. No byte of a
// payload is written before redaction and filters have seen it.
//
// A payload is the first JSON object on standard input that has members a host's
// payload has; what stands before it is counted. UTF-16 and UTF-32 are read, with
// and without a byte order mark. Where there is none, all is kept as text after
// redaction; an empty payload is counted. The capture time is taken first and
// is the envelope's Time and the spool file's name.
//
// Besides the spool it writes only into run/: counters, notices given, the
// number of hooks in a row that met no worker, and the time of the last start
// of a worker. It runs no program but the worker and asks nobody but the
// worker's socket. Budgets beside the disk's own time: 50 ms; SessionStart up
// to 1 s when its cached context is old. Standard library only, no net/http.
package hook

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"cmem/ingest/filter"
	"cmem/ingest/home"
	"cmem/ingest/host"
	"cmem/ingest/host/adapter"
	"cmem/ingest/project"
	"cmem/ingest/spool"
	"cmem/streams/durable"
	"cmem/streams/envelope"
)

// Config is what a process gets from its system. Now is required.
type Config struct {
	Args           []string // without the program's name
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Env            []string // "NAME=value"
	Now            func() time.Time
	Executable     string // this program's path; the worker is beside it. "": none is started
	Dir            string // the working folder, for payloads that name none
}

// run is one call of Run.
type run struct {
	cfg      Config
	captured time.Time
	dir      home.Dir
	settings home.Settings
	host     adapter.Hook
	event    string // from the command line
	said     adapter.Said
	asked    bool // the filter was asked …
	skipped  bool // … and kept the event out
	away     int  // hooks in a row that met no worker, this one included
	origin   project.Origin
	located  bool    // origin is set
	unusable []error // settings, or parts of them
}

// Run does what one hook has to do. The exit code is always 0.
func Run(cfg Config) (exit int) {
	r := &run{cfg: cfg, captured: cfg.Now()}
	defer func() {
		if recover() != nil {
			r.count("hook-panic")
			exit = 0
		}
	}()
	r.run()
	return 0
}

func (r *run) run() {
	args, err := parseArgs(r.cfg.Args)
	if errors.Is(err, errHelp) {
		fmt.Fprintf(r.cfg.Stdout, help, strings.Join(host.Names(), " or "))
		return
	}
	r.dir, _ = home.Resolve(args.data, r.getenv)
	if err != nil {
		fmt.Fprintln(r.cfg.Stderr, err)
		r.count("hook-usage")
		return
	}
	r.event = clip(args.event)
	if r.settings, err = home.LoadSettings(r.dir, r.getenv); err != nil {
		r.count("config-broken") // what could be read of it holds
		r.unusable = append(r.unusable, err)
	}
	known := false
	if r.host, known = host.Hook(args.host); !known {
		fmt.Fprintf(r.cfg.Stderr, "cmem-hook: unknown host %q; one of %s\n", args.host, strings.Join(host.Names(), ", "))
		r.count("hook-unknown-host")
	}
	in := readInput(r.cfg.Stdin, forHosts, maxPayload, r.fit)
	if known {
		r.print(r.handle(in))
	}
}

// handle takes the event in and gives the answer.
func (r *run) handle(in input) adapter.Reply {
	if r.settings.Internal {
		return adapter.Reply{}
	}
	if in.late {
		r.count("late-payload")
	}
	if in.noise {
		r.count("noise-before-payload")
	}
	if in.odd {
		r.count("odd-payload")
	}
	if in.empty() {
		r.count("empty-payload")
		r.said = adapter.Said{Event: r.event, Cwd: r.cfg.Dir}
		return adapter.Reply{Context: r.context(), Notice: r.emptyNotice()}
	}
	r.identify(in)
	if r.host.Noise != nil && r.host.Noise(r.said.Event) {
		r.count("noise:" + r.said.Event)
	} else if err := r.put(in); err != nil {
		r.count("spool-failed:" + cause(err))
		return adapter.Reply{Context: r.context(), Notice: joined(r.settingsNotice(), joined(r.refused(err), r.wake()))}
	}
	return adapter.Reply{Context: r.context(), Notice: joined(r.settingsNotice(), r.troubleNotice(), r.wake())}
}

// fit tells the host's payload from a line of JSON that something else printed
// before it.
func (r *run) fit(value []byte) fit {
	if r.host.Identify == nil {
		return sure
	}
	switch said := r.host.Identify("", value); {
	case said.Session != "" && said.Event != "":
		return sure
	case said.Session != "" || said.Event != "" || said.Tool != "" || said.Prompt != "" || said.Transcript != "":
		return likely
	}
	return stranger
}

// identify asks the host's adapter what the payload says of itself.
func (r *run) identify(in input) {
	payload := in.value
	if payload == nil {
		payload = in.rest
	}
	if in.cut != nil {
		payload = in.cut // it still says its first members
	}
	r.said = r.host.Identify(r.event, payload)
	if r.said.Event == "" {
		r.said.Event = r.event
	}
	r.said.Cwd = project.Place(r.said.Cwd, r.cfg.Dir)
}

// put brings the event into the spool, or the fact that a filter kept it out.
func (r *run) put(in input) error {
	if err := r.prepare(); err != nil {
		return err
	}
	s := r.saying(in)
	var e envelope.Envelope
	if rule := r.rule(s.filterEvent()); r.skipped {
		e = s.skippedBy(rule)
	} else {
		e = s.received()
	}
	_, err := spool.Put(r.dir.Spool(), e)
	return err
}

// rule asks the filter.
func (r *run) rule(e filter.Event) (rule filter.Rule) {
	if problems := filter.Check(r.settings); len(problems) > 0 {
		r.count("setting-unusable")
		r.unusable = append(r.unusable, problems...)
	}
	rule, r.skipped = filter.New(r.settings, r.dir).Decide(e)
	r.asked = true
	return rule
}

// prepare makes the home at its first use. Its folders are synced, so that a
// power cut cannot take the first events away.
func (r *run) prepare() error {
	if r.dir == "" {
		return errNoHome
	}
	if _, err := os.Lstat(r.dir.SpoolTmp()); err == nil {
		return nil
	}
	if err := r.dir.Make(); err != nil {
		return err
	}
	return spool.Make(r.dir.Spool())
}

var errNoHome = errors.New("no data folder can be told")

// print writes the answer, at once and last, so that a panic on the way leaves
// no half of one.
func (r *run) print(reply adapter.Reply) {
	if r.host.Answer == nil {
		return
	}
	event := r.event
	if r.said.Event != "" {
		event = r.said.Event
	}
	if endsTurn(event) || endsTurn(r.event) {
		reply = adapter.Reply{}
	}
	if out := r.host.Answer(event, reply); len(out) > 0 {
		r.cfg.Stdout.Write(out)
	}
}

// endsTurn: hosts take what is printed here for a reason to go on.
func endsTurn(event string) bool {
	e := strings.ToLower(event)
	return strings.HasSuffix(e, "stop") || e == "sessionend" || e == "interrupt"
}

// count adds to a counter of the home, which it makes if it must. Without one
// nobody can be told.
func (r *run) count(name string) {
	if r.dir == "" || r.dir.Count(name, 1) == nil {
		return
	}
	if r.prepare() == nil {
		_ = r.dir.Count(name, 1)
	}
}

// cause names an error by its kind, without paths.
func cause(err error) string {
	var errno syscall.Errno
	switch {
	case errors.Is(err, home.ErrForeign):
		return "foreign-folder"
	case durable.IsFull(err):
		return "disk-full"
	case errors.As(err, &errno):
		return errno.Error()
	}
	return "other"
}

func (r *run) getenv(name string) string {
	for i := len(r.cfg.Env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(r.cfg.Env[i], name+"="); ok {
			return v
		}
	}
	return ""
}
