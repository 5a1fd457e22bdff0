//go:build failpoint && linux

package torture

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cmem/streams/durable"
)

// scenario brings a farm to a durable step: prepare without failpoints, act with.
type scenario struct {
	prepare func(*farm) error
	act     func(f *farm, failpoints string) error
	damage  expectation // what is lost on purpose
	mend    func(*farm) // what a person does after it went wrong; nil: nothing
}

// hooks sends so many events.
func hooks(n int) func(*farm) error {
	return func(f *farm) error {
		for range n {
			if err := f.hook(""); err != nil {
				return err
			}
		}
		return nil
	}
}

// ran lets a worker take in some events; then end ends it, and one more waits.
func ran(end func(*farm) error) func(*farm) error {
	return func(f *farm) error {
		if err := errors.Join(hooks(4)(f), f.turn(), f.start("")); err != nil {
			return err
		}
		if ok, err := f.drained(); err != nil || !ok {
			return fmt.Errorf("the worker ended: %v", err)
		}
		return errors.Join(end(f), f.hook(""))
	}
}

func stopped(f *farm) error { return f.stop() }
func killed(f *farm) error  { f.kill(); return nil }

func serve(f *farm, failpoints string) error { return f.start(failpoints) }

// block changes the newest block of the log.
func block(change func([]byte) []byte) func(*farm) error {
	return func(f *farm) error {
		f.kill()
		path := filepath.Join(f.home().Log(), "jetstream", "$G", "streams", "cmem", "msgs", "1.blk")
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(path, change(data), 0o600)
	}
}

func torn(b []byte) []byte    { return append(b, b[:40]...) }
func flipped(b []byte) []byte { b[60] ^= 1; return b }

func withoutMeta(f *farm) error {
	f.kill()
	return os.Remove(filepath.Join(f.home().Log(), "jetstream", "$G", "streams", "cmem", "meta.inf"))
}

func flippedAfterStop(f *farm) error { return errors.Join(f.stop(), block(flipped)(f)) }

// again is ran over a folder that a worker had before, so that a net lies there.
func again(end func(*farm) error) func(*farm) error {
	return func(f *farm) error { return errors.Join(ran(stopped)(f), ran(end)(f)) }
}

// halfMade leaves a log as a first start does that dies while it makes the stream.
func halfMade(f *farm) error {
	if err := errors.Join(f.start("file.create:identity.json=kill@2"), hooks(2)(f)); err != nil {
		return err
	}
	<-f.ended
	f.worker = nil
	return os.Remove(filepath.Join(f.home().Log(), "jetstream", "$G", "streams", "cmem", "meta.sum"))
}

// readModel changes a file of the read models after a stop.
func readModel(name string, change func([]byte) []byte) func(*farm) error {
	return func(f *farm) error {
		if err := f.stop(); err != nil {
			return err
		}
		path := filepath.Join(f.home().Read(), name)
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(path, change(data), 0o600)
	}
}

// holed has no heads on the pages that name events; what leads to them is whole.
func holed(b []byte) []byte {
	const page = 4096
	for from := 2 * page; from+page <= len(b); from += page {
		if bytes.Contains(b[from:from+page], []byte("toolu_01Tort")) {
			clear(b[from : from+16])
		}
	}
	return b
}

// newer is an entry of a later version, which waits for its worker.
func newer(f *farm) error {
	name := fmt.Sprintf("%019d%s", time.Now().UnixNano(), newerEntry)
	text := `{"specversion":"9.0","id":"x","type":"hook.received","source":"claude-code"}`
	return errors.Join(f.hook(""), os.WriteFile(filepath.Join(f.home().Spool(), name), []byte(text), 0o600))
}

// rubbish is an entry of the spool that is no event.
func rubbish(f *farm) error {
	name := fmt.Sprintf("%019d-1-00000000000000aa.json", time.Now().UnixNano())
	return errors.Join(f.hook(""), os.WriteFile(filepath.Join(f.home().Spool(), name), []byte("{"), 0o600))
}

// held has what waits held, and brings it back.
func held(f *farm, failpoints string) error {
	if err := f.hold(); err != nil {
		return err
	}
	_ = f.run(failpoints, "spool", "retry") // it fails where the point does
	return nil
}

var scenarios = map[string]scenario{
	"hook":    {hooks(1), func(f *farm, p string) error { return f.hook(p) }, expectation{}, nil},
	"first":   {func(*farm) error { return nil }, func(f *farm, p string) error { return f.hook(p) }, expectation{}, nil},
	"start":   {hooks(3), serve, expectation{}, nil},
	"many":    {hooks(40), serve, expectation{}, nil},
	"parts":   {func(f *farm) error { return f.hookOf("", 2<<20) }, serve, expectation{}, nil},
	"restart": {ran(stopped), serve, expectation{}, nil},
	"unclean": {ran(killed), serve, expectation{}, nil},
	"torn":    {ran(block(torn)), serve, expectation{found: true}, nil},
	"flipped": {ran(block(flipped)), serve, expectation{found: true, lost: 1}, nil},
	"meta":    {ran(withoutMeta), serve, expectation{found: true}, nil},
	"corrupt": {rubbish, serve, expectation{}, nil},
	"held":    {hooks(2), held, expectation{}, nil},
	"stop": {ran(stopped), func(f *farm, p string) error {
		if err := f.start(p); err != nil {
			return err
		}
		if _, err := f.drained(); err != nil {
			return err
		}
		_ = f.run("", "stop") // the worker may die of it
		return nil
	}, expectation{}, nil},
	"turn":         {func(f *farm) error { return errors.Join(hooks(2)(f), f.turn()) }, serve, expectation{}, nil},
	"someparts":    {func(f *farm) error { return f.hookOf("", 400<<10) }, serve, expectation{}, nil},
	"doubt":        {hooks(3), func(f *farm, p string) error { return f.start(p + ";append.acked=error@1") }, expectation{}, nil},
	"doubttwice":   {hooks(3), func(f *farm, p string) error { return f.start(p + ";append.send=error@2") }, expectation{}, nil},
	"flippedclean": {ran(flippedAfterStop), serve, expectation{found: true, lost: 1}, nil},
	"metanet":      {again(withoutMeta), serve, expectation{found: true}, nil},
	"halfmade":     {halfMade, serve, expectation{}, nil},
	"halfrecords":  {ran(readModel("records.db", func(b []byte) []byte { return b[:len(b)/2] })), serve, expectation{}, nil},
	"holedrecords": {ran(readModel("records.db", holed)), serve, expectation{}, nil},
	"newer":        {newer, serve, expectation{}, nil},
	"restore": {ran(streamGone), func(f *farm, p string) error {
		f.repair(p)
		return nil
	}, expectation{found: true, lost: many}, func(f *farm) { f.repair("") }},
	"rebuild": {ran(stopped), func(f *farm, p string) error {
		_ = f.run(p, "rebuild") // it may fail, and must cost nothing
		return nil
	}, expectation{}, nil},
}

// way is how a durable step goes wrong.
type way struct{ name, point, kind string }

// ways are all ways of a row: unsaved, saved but reported as failed, dead in it.
func (r pointRow) ways(ci bool) (all []way) {
	if point, n, ok := strings.Cut(r.before, "@"); ok {
		return []way{{"failed at call " + n, point, "error@" + n}, {"killed at call " + n, point, "kill@" + n}}
	}
	if r.before != "-" {
		all = append(all, way{"unsaved", r.before, "error@1"})
	}
	if r.after != "-" {
		all = append(all, way{"reported failed", r.after, "error@1"}, way{"killed after", r.after, "kill"})
	}
	if r.before != "-" && (!ci || r.after == "-") {
		all = append(all, way{"killed before", r.before, "kill"})
	}
	return all
}

// testPoints has every durable step go wrong in every way.
func testPoints(t *testing.T, p programs, ci bool) {
	once := map[string]bool{} // scenarios that were tried
	for _, row := range readPoints(t) {
		for n, s := range row.scenarios {
			if ci && n > 0 && once[s] {
				continue
			}
			once[s] = true
			for _, w := range row.ways(ci) {
				t.Run(row.step+"/"+s+"/"+w.name, func(t *testing.T) {
					t.Parallel()
					f := newFarm(p, t.TempDir())
					if err := f.goWrong(scenarios[s], w); err != nil {
						t.Errorf("point %s=%s: %v\nstderr: %q", w.point, w.kind, err, f.failed)
					}
				})
			}
		}
	}
}

// goWrong has one step go wrong once, goes on, and checks.
func (f *farm) goWrong(s scenario, w way) error {
	reached := f.dir + ".reached"
	defer func() { f.kill(); keep(reached) }()
	if err := s.prepare(f); err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	f.extra = []string{"CMEM_REACHED=" + reached}
	if err := s.act(f, w.point+"="+w.kind); err != nil {
		return err
	}
	fired := func() bool {
		text, _ := os.ReadFile(reached)
		return strings.Contains(string(text), "failpoint "+w.point+"\n")
	}
	if err := until("the failpoint "+w.point+" is reached", func() bool {
		over, _ := f.gone()
		return fired() || over && f.worker != nil
	}); err != nil {
		return err
	}
	if !fired() {
		return fmt.Errorf("the worker ended before %s", w.point)
	}
	if s.mend != nil {
		s.mend(f)
	}
	if err := f.goOn(strings.HasPrefix(w.kind, "kill")); err != nil {
		return err
	}
	want := f.expected()
	want.lost, want.found = s.damage.lost, s.damage.found
	return check(f.dir, want)
}

// goOn lets life go on after a step went wrong: a worker that lives recovers by
// itself, one that died is started again, and hooks come.
func (f *farm) goOn(dead bool) error {
	if dead && f.worker != nil {
		<-f.ended
	}
	if err := hooks(2)(f); err != nil {
		return err
	}
	if left, _ := filepath.Glob(filepath.Join(f.home().Held(), "*.json")); len(left) > 0 {
		// What is held comes back when a person asks for it.
		if err := f.run("", "spool", "retry"); err != nil {
			return err
		}
	}
	if over, _ := f.gone(); over {
		if err := f.start(""); err != nil {
			return err
		}
	}
	ok, err := f.drained()
	if err == nil && !ok { // what failed was its start, or its stop was under way
		if err = f.start(""); err == nil {
			ok, err = f.drained()
		}
		if err == nil && !ok {
			err = errors.New("the worker ended again, without a failpoint")
		}
	}
	f.kill()
	return err
}

// keep adds what was reached in one farm to what was reached at all.
func keep(path string) {
	text, _ := os.ReadFile(path)
	for line := range strings.Lines(string(text)) {
		durable.Reached(strings.TrimSpace(line))
	}
	os.Remove(path)
}
