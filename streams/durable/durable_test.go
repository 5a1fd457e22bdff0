package durable

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestAFileAppearsWholeWithItsMode(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	for _, text := range []string{"one", "", strings.Repeat("long ", 1<<16)} {
		if err := WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != text {
			t.Fatalf("read %d bytes, %v; want %d", len(got), err, len(text))
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Fatalf("mode %v, %v", info.Mode(), err)
		}
	}
	onlyFile(t, dir, "f")
}

func TestTheTemporaryFileMayLieElsewhere(t *testing.T) {
	dir, temp := t.TempDir(), filepath.Join(t.TempDir(), "tmp")
	if err := WriteFileVia(temp, filepath.Join(dir, "f"), nil, 0o600); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("without the folder: %v", err)
	}
	if err := os.Mkdir(temp, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := WriteFileVia(temp, filepath.Join(dir, "f"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	onlyFile(t, dir, "f")
	onlyFile(t, temp, "")
}

func TestAFailedWriteLeavesTheOldFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if err := os.Mkdir(path, 0o700); err != nil { // a folder cannot be replaced by a file
		t.Fatal(err)
	}
	if err := WriteFile(path, []byte("x"), 0o600); err == nil {
		t.Fatal("a folder was replaced")
	}
	onlyFile(t, dir, "f")
}

func TestRemoveIsRepeatable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := errors.Join(WriteFile(path, nil, 0o600), Remove(path), Remove(path)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
}

func onlyFile(t *testing.T, dir, want string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if got := strings.Join(names, " "); got != want {
		t.Fatalf("%s holds %q, want %q", dir, got, want)
	}
}

func TestALockNamesItsHolderAndNeverWaits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := Acquire(path)
	if err != nil {
		t.Fatal(err)
	}
	host, _ := os.Hostname()
	var locked *LockedError
	_, err = Acquire(path)
	if !errors.As(err, &locked) || !errors.Is(err, ErrLocked) || locked.Holder.PID != os.Getpid() || locked.Holder.Host != host {
		t.Fatalf("second lock: %v", err)
	}
	if !strings.Contains(err.Error(), fmt.Sprint("process ", os.Getpid())) {
		t.Fatalf("the message names nobody: %v", err)
	}
	if err := errors.Join(first.Release(), first.Release()); err != nil {
		t.Fatal(err)
	}
	again, err := Acquire(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Release(); err != nil {
		t.Fatal(err)
	}
}

func TestALockFileOfNobodyMeansNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	for _, text := range []string{"", "{", `{"host":"elsewhere"}`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := Acquire(path)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if err := l.Release(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMain doubles as the process that takes a lock and keeps it.
func TestMain(m *testing.M) {
	if path := os.Getenv("DURABLE_TEST_LOCK"); path != "" {
		if _, err := Acquire(path); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("locked")
		select {}
	}
	os.Exit(m.Run())
}

func TestALockDiesWithItsProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), "DURABLE_TEST_LOCK="+path)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "locked\n" {
		t.Fatalf("child said %q, %v", line, err)
	}
	var locked *LockedError
	if _, err := Acquire(path); !errors.As(err, &locked) || locked.Holder.PID != child.Process.Pid {
		t.Errorf("beside the child: %v", err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	l, err := Acquire(path)
	if err != nil {
		t.Fatalf("after its death: %v", err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
}

func TestFreeTellsRoom(t *testing.T) {
	if n, err := Free(t.TempDir()); err != nil || n <= 0 {
		t.Fatalf("%d, %v", n, err)
	}
	if _, err := Free(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Fatal("no error for a folder that is not there")
	}
}

func TestAFailpointIsNothingUnlessBuiltIn(t *testing.T) {
	t.Setenv("CMEM_FAILPOINTS", "file.rename=error")
	if Failpoints {
		return // tried in failpoint_test.go
	}
	if err := WriteFile(filepath.Join(t.TempDir(), "f"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Where a folder lies on a network, the system's lock may hold on one machine only.
func TestALockOfAnotherMachineHoldsWhileItGivesSignsOfLife(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	if err := os.WriteFile(path, []byte(`{"host":"elsewhere.example","pid":7,"since":"2026-01-02T03:04:05Z"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Acquire(path)
	var locked *LockedError
	if !errors.As(err, &locked) || locked.Holder.Host != "elsewhere.example" {
		t.Fatalf("a fresh sign of life: %v", err)
	}
	long := time.Now().Add(-3 * time.Minute)
	if err := os.Chtimes(path, long, long); err != nil {
		t.Fatal(err)
	}
	l, err := Acquire(path)
	if err != nil {
		t.Fatalf("no sign of life for minutes: %v", err)
	}
	if err := errors.Join(l.Beat(), l.Release()); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); err != nil || len(text) > 0 {
		t.Errorf("a lock that was given back names %q %v", text, err)
	}
}
