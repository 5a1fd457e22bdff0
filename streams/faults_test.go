package streams

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"cmem/streams/envelope"
)

// TestFaults has one subtest per row of testdata/faults/faults.tsv that is about
// the log.
func TestFaults(t *testing.T) {
	for id, f := range map[string]func(*testing.T){
		"nats-01":  everyAppendIsSyncedFirst,
		"nats-05":  storageIsNotAShareOfTheDisk,
		"nats-09":  theServerRemembersNoIDs,
		"nats-13":  signalsAreLeftToTheProgram,
		"nats-15":  limitsFitTogether,
		"nats-16":  aLargeOneAmongMany,
		"nats-17":  readersOutliveRestarts,
		"nats-19":  namesNeverBecomeSubjects,
		"own-01":   twoOpenersAtOnce,
		"own-05":   everySizeAroundTheLimits,
		"own-03":   noAnswerAndNoRoomIsNotForEver,
		"nats-02":  oneFlippedBitLosesOneRecord,
		"nats-06":  belowTheReserveNothingIsLost,
		"nats-12":  fewSubjects,
		"grow-03":  netsAreFew,
		"multi-02": twoMachinesOneFolder,
	} {
		t.Run(id, f)
	}
}

func everyAppendIsSyncedFirst(t *testing.T) {
	l := opened(t, t.TempDir(), nil)
	config := l.session.Load().srv.JetStreamConfig()
	if !config.SyncAlways {
		t.Fatal("the server does not sync before it answers")
	}
	info, err := l.session.Load().stream.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Config.PersistMode.String(); strings.Contains(strings.ToLower(mode), "async") {
		t.Fatalf("persist mode %s", mode)
	}
}

func storageIsNotAShareOfTheDisk(t *testing.T) {
	l := opened(t, t.TempDir(), nil)
	if got := l.session.Load().srv.JetStreamConfig().MaxStore; got != maxStore {
		t.Fatalf("the store's limit is %d, want %d on every disk", got, int64(maxStore))
	}
	info, err := l.session.Load().stream.Info(t.Context())
	if err != nil || info.Config.MaxBytes != -1 || info.Config.MaxAge != 0 || info.Config.MaxMsgs != -1 {
		t.Fatalf("the stream has limits: %+v, %v", info.Config, err)
	}
}

func theServerRemembersNoIDs(t *testing.T) {
	dir := t.TempDir()
	for round := range 2 { // before and after a restart
		l := opened(t, dir, nil)
		for range 2 {
			if _, err := l.Append(t.Context(), numbered(0, 5)...); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := int(l.Head().Position), 10*(round+1); got != want {
			t.Fatalf("head is %d, want %d: equal ids are for the caller to find", got, want)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func signalsAreLeftToTheProgram(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot signal itself there")
	}
	l := opened(t, t.TempDir(), nil)
	got := make(chan os.Signal, 1)
	signal.Notify(got, syscall.SIGTERM)
	defer signal.Stop(got)
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Signal(syscall.SIGTERM)
	}
	if err != nil {
		t.Fatal(err)
	}
	<-got
	if _, err := l.Append(t.Context(), numbered(0, 5)...); err != nil {
		t.Fatalf("the server stopped by itself: %v", err)
	}
	holds(t, l, 5)
}

func limitsFitTogether(t *testing.T) {
	l := opened(t, t.TempDir(), nil)
	s := l.session.Load()
	if s.nc.MaxPayload() != maxPayload || partSize+MaxAttributes+8<<10 > maxPayload {
		t.Fatalf("a part of %d with attributes of %d does not fit into %d", partSize, MaxAttributes, s.nc.MaxPayload())
	}
	for i, n := range []int{1<<20 - 1, 1 << 20, 3 << 20} {
		e := numbered(i, i+1)[0]
		e.Body = scrambled(n)
		if _, err := l.Append(t.Context(), e); err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
	}
	holds(t, l, 3)
}

func aLargeOneAmongMany(t *testing.T) {
	l := opened(t, t.TempDir(), nil)
	envs := numbered(0, 1000)
	envs[500].Body = scrambled(2 << 20)
	at, err := l.Append(t.Context(), envs...)
	if err != nil || len(at) != 1000 {
		t.Fatalf("%d saved, %v", len(at), err)
	}
	holds(t, l, 1000)
}

func readersOutliveRestarts(t *testing.T) {
	calls := 0 // an append that is not answered starts the server again
	l := opened(t, t.TempDir(), func(step string) error {
		if step == "append.acked" {
			if calls++; calls%40 == 20 {
				return errInjected
			}
		}
		return nil
	})
	const n = 400
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range n {
			if _, err := l.Append(t.Context(), numbered(i, i+1)...); err != nil {
				t.Errorf("append %d: %v", i, err)
				return
			}
		}
	})
	after := Position(0)
	for seen := 0; seen < n; {
		if err := l.Wait(t.Context(), after); err != nil {
			t.Fatal(err)
		}
		for r, err := range l.Read(t.Context(), after) {
			if err != nil {
				t.Fatal(err)
			}
			if want := fmt.Sprint("id-", seen); r.Envelope.ID != want {
				t.Fatalf("got %q, want %q", r.Envelope.ID, want)
			}
			after, seen = r.Position, seen+1
		}
	}
	wg.Wait()
	holds(t, l, n)
}

func namesNeverBecomeSubjects(t *testing.T) {
	l := opened(t, t.TempDir(), nil)
	data, err := os.ReadFile("../testdata/faults/inputs/nats-19.txt")
	if err != nil {
		t.Fatal(err)
	}
	names := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	names = append(names, strings.Repeat("長", 300))
	for i, name := range names {
		e := numbered(i, i+1)[0]
		e.Subject, e.Event, e.Source = name, name, "x"+name
		if got := subject(&e); strings.Count(got, ".") != 2 || len(got) > 60 || strings.ContainsAny(got, " *>\t") {
			t.Errorf("%q became the subject %q", name, got)
		}
		if _, err := l.Append(t.Context(), e); err != nil {
			t.Fatalf("%q: %v", name, err)
		}
	}
	i := 0
	for r, err := range l.Read(t.Context(), 0) {
		if err != nil || r.Envelope.Subject != names[i] || r.Envelope.Event != names[i] {
			t.Fatalf("%q came back as %q, %v", names[i], r.Envelope.Subject, err)
		}
		i++
	}
	holds(t, l, len(names))
	for _, kind := range []string{"", "a b", "x*", "new.kind.>", strings.Repeat("x", 100), "日本"} {
		e := envelope.Envelope{Type: kind}
		if got := subject(&e); strings.Count(got, ".") != 2 || strings.ContainsAny(got, " *>") {
			t.Errorf("type %q became the subject %q", kind, got)
		}
	}
}

func twoOpenersAtOnce(t *testing.T) {
	dir := t.TempDir()
	for round := range 50 {
		var wg sync.WaitGroup
		logs := make([]*Log, 2)
		errs := make([]error, 2)
		for i := range 2 {
			wg.Go(func() { logs[i], errs[i] = Open(t.Context(), Config{Dir: dir, Reserve: -1}) })
		}
		wg.Wait()
		won := 0
		for i, l := range logs {
			switch {
			case l != nil:
				won++
				if _, err := l.Append(t.Context(), numbered(round, round+1)...); err != nil {
					t.Fatal(err)
				}
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
			case !errors.Is(errs[i], ErrLocked):
				t.Fatalf("round %d: %v", round, errs[i])
			}
		}
		if won != 1 {
			t.Fatalf("round %d: %d have it open", round, won)
		}
	}
	holds(t, opened(t, dir, nil), 50)
}

func everySizeAroundTheLimits(t *testing.T) {
	l := opened(t, t.TempDir(), nil)
	all := scrambled(1 << 20)
	var envs []envelope.Envelope
	for i, n := 0, 1<<20-200; n <= 1<<20; i, n = i+1, n+10 {
		e := numbered(i, i+1)[0]
		e.Body = all[:n]
		e.Origin = strings.Repeat("x", n%977)
		envs = append(envs, e)
	}
	if _, err := l.Append(t.Context(), envs...); err != nil {
		t.Fatal(err)
	}
	i := 0
	for r, err := range l.Read(t.Context(), 0) {
		if err != nil || !bytes.Equal(r.Envelope.Body, envs[i].Body) {
			t.Fatalf("body %d came back with %d bytes, %v", i, len(r.Envelope.Body), err)
		}
		i++
	}
	holds(t, l, len(envs))
}

// scrambled is n bytes that do not get smaller, the same every time.
func scrambled(n int) []byte {
	out := make([]byte, 0, n+32)
	for sum := sha256.Sum256(nil); len(out) < n; sum = sha256.Sum256(sum[:]) {
		out = append(out, sum[:]...)
	}
	return out[:n]
}

// A window in which the server remembers ids would be read at each start.
func TestTheDuplicateWindowIsAsShortAsCanBe(t *testing.T) {
	l := opened(t, t.TempDir(), nil)
	info, err := l.session.Load().stream.Info(t.Context())
	if err != nil || info.Config.Duplicates > 100*time.Millisecond {
		t.Fatalf("window of %v, %v", info.Config.Duplicates, err)
	}
}

// The server gives no answer because the disk is full: what was sent is unknown,
// nothing is appended, and once there is room everything is in the log once.
func noAnswerAndNoRoomIsNotForEver(t *testing.T) {
	l := opened(t, t.TempDir(), nil)
	l.fault = func(name string) error {
		if name != "append.acked" {
			return nil
		}
		l.config.Reserve = 1 << 60
		return errInjected
	}
	if _, err := l.Append(t.Context(), numbered(0, 5)...); !errors.Is(err, ErrUnknown) || !errors.Is(err, ErrDiskFull) {
		t.Fatal(err)
	}
	l.fault = nil
	if _, err := l.Append(t.Context(), numbered(5, 6)...); !errors.Is(err, ErrDiskFull) {
		t.Fatal(err)
	}
	l.config.Reserve = -1
	if _, err := l.Append(t.Context(), numbered(0, 5)...); err != nil {
		t.Fatal(err)
	}
	holds(t, l, 5)
}

func oneFlippedBitLosesOneRecord(t *testing.T) {
	for _, clean := range []bool{true, false} {
		dir, head := spoiled(t, 50, flipBody(20))
		if clean {
			// As if it had been closed in order: the newest block is looked at all the same.
			id, err := layout{dir}.readIdentity()
			if err == nil {
				err = writeJSON(layout{dir}.clean(), cleanMark{Log: id.Log, Sequence: 50, Position: 50})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		l, err := Open(t.Context(), Config{Dir: dir, HeadFile: head})
		if err != nil {
			t.Fatal(err)
		}
		tellsOnce(t, l, 21)
		all, err := l.Findings()
		if err != nil || len(all) != 1 || all[0].Count() != 1 {
			t.Fatalf("%+v %v", all, err)
		}
		if _, err := os.Stat(all[0].Evidence + "/1.blk"); err != nil {
			t.Error("no raw copy is kept:", err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func belowTheReserveNothingIsLost(t *testing.T) {
	l := opened(t, t.TempDir(), nil)
	for n := range 6 {
		l.config.Reserve = []int64{-1, 1 << 60}[n%2]
		_, err := l.Append(t.Context(), numbered(n/2, n/2+1)...)
		if full := n%2 == 1; errors.Is(err, ErrDiskFull) != full || err != nil && !full {
			t.Fatalf("%d: %v", n, err)
		}
	}
	l.config.Reserve = -1
	holds(t, l, 3)
}

func fewSubjects(t *testing.T) {
	l := opened(t, t.TempDir(), nil)
	envs := numbered(0, 3000)
	for i := range envs {
		envs[i].Subject = fmt.Sprint("session ", i%3)
	}
	if _, err := l.Append(t.Context(), envs...); err != nil {
		t.Fatal(err)
	}
	info, err := l.session.Load().stream.Info(t.Context())
	if err != nil || info.State.NumSubjects != 3 || info.Config.Duplicates > time.Second {
		t.Errorf("%d subjects, a window of %s, %v", info.State.NumSubjects, info.Config.Duplicates, err)
	}
}

func netsAreFew(t *testing.T) {
	dir := t.TempDir()
	for n := range 12 {
		l := opened(t, dir, nil)
		if _, err := l.Append(t.Context(), numbered(n, n+1)...); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(l.Close(), os.Remove(l.layout.clean())); err != nil {
			t.Fatal(err)
		}
	}
	nets, err := layout{dir}.listNets()
	if err != nil || len(nets) > maxNets {
		t.Errorf("%d nets after starts that were never clean, %v", len(nets), err)
	}
	l := opened(t, dir, nil)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = opened(t, dir, nil)
	if nets, err := l.layout.listNets(); err != nil || len(nets) != 1 {
		t.Errorf("%v nets after a clean start, %v", nets, err)
	}
	holds(t, l, 12)
}

func twoMachinesOneFolder(t *testing.T) {
	dir := t.TempDir()
	if err := opened(t, dir, nil).Close(); err != nil {
		t.Fatal(err)
	}
	lock := layout{dir}.lock()
	if err := os.WriteFile(lock, []byte(`{"host":"elsewhere.example","pid":7,"since":"2026-01-02T03:04:05Z"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Config{Dir: dir}); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), "elsewhere.example") {
		t.Errorf("%v", err)
	}
}
