package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"cmem/cmd/internal/api"
)

// outputsAnswer makes a write to a reader that went away an error. Otherwise it
// would end this process where it stands, and what it has open would not be
// closed in order.
func outputsAnswer() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// output is where answers go. It keeps the first error, so that lines can be
// written without looking at each, and writes nothing after it.
type output struct {
	w     io.Writer
	begun bool
	err   error
}

// Write gives an outputError where p could not be written.
func (o *output) Write(p []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.w.Write(p)
	o.begun = o.begun || n > 0
	if err != nil {
		o.err = outputError{err}
	}
	return n, o.err
}

// judge gives what a command has to answer for that ended with err: an answer
// nobody can read has failed. What else went wrong is told before that.
func (o *output) judge(err error) error {
	if o.err == nil {
		return err
	}
	switch rest := besides(err); {
	case rest == nil:
		return o.err
	case readerGone(o.err):
		return rest
	default:
		return errors.Join(rest, o.err)
	}
}

// besides is err without what says that the output was not written.
func besides(err error) error {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		var rest []error
		for _, one := range all.Unwrap() {
			rest = append(rest, besides(one))
		}
		return errors.Join(rest...)
	}
	var unwritten outputError
	if errors.As(err, &unwritten) {
		return nil
	}
	return err
}

// unwritten is why output ended, for commands that would go on writing.
func (a *app) unwritten() error {
	if o, ok := a.out.(*output); ok {
		return o.err
	}
	return nil
}

// outputError: standard output took nothing more.
type outputError struct{ error }

func (e outputError) Error() string { return fmt.Sprintf("the answer cannot be written: %v", e.error) }
func (e outputError) Unwrap() error { return e.error }

// failure is the answer of a command that failed, for programs.
type failure struct {
	api.Error
	Exit int `json:"exit_code"`
}

// failureCodes name what is not an *api.Error, by exit code.
var failureCodes = map[int]api.Code{
	exitUsage: api.Invalid, exitNotFound: api.NotFound, exitLocked: api.Locked, exitForeign: api.Foreign, exitNewer: api.Newer,
	exitConfig: "config", exitNoWorker: "no_worker", exitDiffers: "differs", exitNoSpace: api.NoSpace, exitBusy: api.Starting,
	exitDamaged: "damaged", exitFindings: "findings", exitInterrupt: "interrupted",
}

func (a *app) failure(err error, exit int) failure {
	f := failure{Exit: exit}
	var e *api.Error
	if errors.As(err, &e) {
		f.Error = *e
	} else if f.Code = failureCodes[exit]; f.Code == "" {
		f.Code = "failed"
	}
	f.Message = oneLine(err)
	return f
}

// asksJSON looks for --json where a mistake kept the flags from being read.
func asksJSON(args []string) bool {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	return slices.Contains(args, "--json")
}
