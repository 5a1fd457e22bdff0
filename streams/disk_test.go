//go:build linux

package streams

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cmem/streams/durable"
	"cmem/streams/envelope"
	"cmem/streams/streamstest/smalldisk"
)

// onDisk opens a log on a small disk, with little patience.
func onDisk(t *testing.T, d smalldisk.Disk) *Log {
	t.Helper()
	l, err := Open(t.Context(), Config{Dir: filepath.Join(d.Dir, "log"), Reserve: -1, AckTimeout: 300 * time.Millisecond, HeadFile: filepath.Join(d.Dir, "head")})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// ids are those of the log, in order; each has to be there once.
func ids(t *testing.T, l *Log) (all []string) {
	t.Helper()
	for r, err := range l.Read(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r.Envelope.ID)
	}
	return all
}

// A disk that fills up between the look at what is free and the write: whatever the
// append was, nothing of it is called saved that is not, the log says that it is
// paused and why, and goes on by itself once there is room.
func TestDiskFullInAnAppendPausesAndResumes(t *testing.T) {
	big := numbered(100, 101)
	big[0].Body = make([]byte, 9*partSize)
	for name, envs := range map[string][]envelope.Envelope{
		"single": numbered(100, 101), "batch": numbered(100, 400), "parts": big,
	} {
		for _, step := range []string{"append.send", "append.commit"} {
			if name == "single" && step == "append.commit" {
				continue // it has no commit
			}
			t.Run(name+" at "+step, func(t *testing.T) {
				smalldisk.Run(t, func(t *testing.T) { fullInAppend(t, envs, step) })
			})
		}
	}
}

func fullInAppend(t *testing.T, envs []envelope.Envelope, step string) {
	d := smalldisk.New(t, 96)
	l := onDisk(t, d)
	defer l.Close()
	before, err := l.Append(t.Context(), numbered(0, 50)...)
	if err != nil {
		t.Fatal(err)
	}
	l.fault = func(at string) error {
		if at == step {
			d.Fill(t, 0)
		}
		return nil
	}
	_, err = l.Append(t.Context(), envs...)
	l.fault = nil
	if err == nil {
		// The little there was to write found room in a page that was there.
		d.Clear(t)
		if got := ids(t, l); len(got) != 50+len(envs) {
			t.Fatalf("%d events, want %d", len(got), 50+len(envs))
		}
		return
	}
	if !errors.Is(err, ErrUnknown) || !errors.Is(err, ErrDiskFull) {
		t.Errorf("the append: %v", err)
	}
	p, paused := l.Paused()
	if !paused || p.Trouble != durable.Full || !strings.Contains(p.Cause.Error(), d.Dir) {
		t.Errorf("paused %v: %+v", paused, p)
	}
	if err := l.Resume(t.Context()); !errors.Is(err, ErrDiskFull) {
		t.Errorf("resumed on a full disk: %v", err)
	}
	d.Clear(t)
	if err := l.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, paused := l.Paused(); paused {
		t.Error("still paused")
	}
	at, err := l.Append(t.Context(), envs...)
	if err != nil || at[0] <= before[len(before)-1] {
		t.Fatalf("again: %v, %v", at, err)
	}
	want := ids(t, l)
	if len(want) != 50+len(envs) || len(slices.Compact(slices.Sorted(slices.Values(want)))) != len(want) {
		t.Errorf("%d events, want %d, each once", len(want), 50+len(envs))
	}
	if r, err := l.Verify(t.Context(), nil); err != nil || len(r.Broken)+len(r.Gaps) > 0 {
		t.Errorf("verify: %+v, %v", r, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = onDisk(t, d)
	defer l.Close()
	if got := ids(t, l); !slices.Equal(got, want) || !l.Opening().Clean {
		t.Errorf("after another start: %d events, want %d; clean %v", len(got), len(want), l.Opening().Clean)
	}
}

// Opening and closing on a disk without a free byte, after clean and unclean stops
// and with a damaged block: it works or it fails with a sentence, and once there is
// room everything is there.
func TestDiskFullAtOpenAndCloseLosesNothing(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, dir string){
		"after a clean stop": func(*testing.T, string) {},
		"after a kill":       func(t *testing.T, dir string) { mustRemove(t, filepath.Join(dir, "clean")) },
		"with a torn end": func(t *testing.T, dir string) {
			mustRemove(t, filepath.Join(dir, "clean"))
			grow(t, filepath.Join(dir, "jetstream/$G/streams/cmem/msgs/1.blk"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			smalldisk.Run(t, func(t *testing.T) {
				d := smalldisk.New(t, 64)
				l := onDisk(t, d)
				if _, err := l.Append(t.Context(), numbered(0, 200)...); err != nil {
					t.Fatal(err)
				}
				want := ids(t, l)
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
				spoil(t, filepath.Join(d.Dir, "log"))
				d.Fill(t, 0)
				full, err := Open(t.Context(), Config{Dir: filepath.Join(d.Dir, "log"), Reserve: -1, HeadFile: filepath.Join(d.Dir, "head")})
				if err == nil {
					if _, err := full.Append(t.Context(), numbered(900, 901)...); !errors.Is(err, ErrDiskFull) {
						t.Errorf("append: %v", err)
					}
					err = full.Close() // the mark may find no room: then the next start looks at all
				}
				if err != nil && durable.TroubleOf(err) != durable.Full {
					t.Errorf("on a full disk: %v", err)
				}
				d.Clear(t)
				l = onDisk(t, d)
				defer l.Close()
				if got := ids(t, l); !slices.Equal(got, want) {
					t.Errorf("%d events afterwards, want %d", len(got), len(want))
				}
				if _, err := l.Append(t.Context(), numbered(200, 201)...); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func mustRemove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func grow(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		_, err = f.Write(make([]byte, 100))
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A log on a disk that is read-only is not opened, with a sentence that says so and
// where; nothing is changed, and mounted for writing it opens.
func TestAReadOnlyDiskIsSaid(t *testing.T) {
	smalldisk.Run(t, func(t *testing.T) {
		d := smalldisk.New(t, 64)
		l := onDisk(t, d)
		if _, err := l.Append(t.Context(), numbered(0, 20)...); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		d.ReadOnly(t, true)
		_, err := Open(t.Context(), Config{Dir: filepath.Join(d.Dir, "log"), Reserve: -1})
		if durable.TroubleOf(err) != durable.ReadOnly || !strings.Contains(fmt.Sprint(err), d.Dir) {
			t.Errorf("open: %v", err)
		}
		d.ReadOnly(t, false)
		l = onDisk(t, d)
		defer l.Close()
		if got := ids(t, l); len(got) != 20 || !l.Opening().Clean {
			t.Errorf("%d events, clean %v", len(got), l.Opening().Clean)
		}
	})
}

// A failed sync after a time-out: what lies in the log's end is not called saved
// before the disk has it.
func TestWhatASyncFailedForIsNotCalledSaved(t *testing.T) {
	if !durable.Failpoints {
		t.Skip("needs a build with failpoints")
	}
	l := opened(t, t.TempDir(), nil)
	armFailpoints("file.resync=error@1")
	defer armFailpoints("")
	lost := errors.New("no answer")
	l.fault = func(step string) error {
		if step == "append.acked" {
			return lost
		}
		return nil
	}
	_, err := l.Append(t.Context(), numbered(0, 1)...)
	if !errors.Is(err, ErrUnknown) {
		t.Fatalf("got %v", err)
	}
	if _, paused := l.Paused(); !paused {
		t.Error("not paused")
	}
	l.fault = nil
	if err := l.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	at, err := l.Append(t.Context(), numbered(0, 1)...)
	if err != nil || at[0] != 1 {
		t.Errorf("again: %v, %v", at, err)
	}
	if got := ids(t, l); len(got) != 1 {
		t.Errorf("%d events", len(got))
	}
}

func TestALogOnANetworkIsRefused(t *testing.T) {
	if !durable.Failpoints {
		t.Skip("needs a build with failpoints")
	}
	armFailpoints("disk.network=error")
	defer armFailpoints("")
	dir := filepath.Join(t.TempDir(), "log")
	_, err := Open(t.Context(), Config{Dir: dir, Reserve: -1})
	if !errors.Is(err, ErrNetwork) || !strings.Contains(err.Error(), "nfs") || !strings.Contains(err.Error(), "allow_network_fs") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder was made: %v", err)
	}
	l, err := Open(t.Context(), Config{Dir: dir, Reserve: -1, AllowNetwork: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
