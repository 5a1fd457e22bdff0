package spool

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cmem/streams/envelope"
)

func event(body string) envelope.Envelope {
	return envelope.Envelope{
		ID: "claude-code/Stop/1", Type: envelope.HookReceived, Source: "claude-code", Subject: "s",
		Time: time.Unix(1700000000, 123456789).UTC(), Digest: "0123456789abcdef", Body: []byte(body),
	}
}

func TestPut(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home", "spool") // neither is there
	for _, body := range []string{`{"a":1}`, "", "no JSON \x01\xff", `{"text":"` + strings.Repeat("x", 2<<20) + `"}`} {
		e := event(body)
		name, err := Put(dir, e)
		if err != nil {
			t.Fatal(err)
		}
		n, ok := ParseName(name)
		if !ok || !n.Captured.Equal(e.Time) || n.PID != os.Getpid() || n.Hash != e.Digest {
			t.Errorf("%s: parsed as %+v, %v", name, n, ok)
		}
		line, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.ContainsRune(line, '\n') {
			t.Errorf("%s: more than one line", name)
		}
		got, err := envelope.Parse(line)
		if err != nil || got.ID != e.ID || !got.Time.Equal(e.Time) || string(got.Body) != string(e.Body) {
			t.Errorf("%s: read back as %.100v, %v", name, got, err)
		}
	}
	temps, err := os.ReadDir(filepath.Join(dir, TempDir))
	if err != nil || len(temps) != 0 {
		t.Errorf("temporary files left: %v, %v", temps, err)
	}
}

// TestModes: nobody else reads it (P8).
func TestModes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	name, err := Put(dir, event(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, TempDir): 0o700, filepath.Join(dir, name): 0o600} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want && got != 0o666 && got != 0o777 { // Windows has no modes
			t.Errorf("%s: %o, want %o", path, got, want)
		}
	}
}

func TestPutOverALeftTemporaryFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	name, err := Put(dir, event(`{"n":1}`))
	if err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(dir, TempDir, name)
	if err := os.WriteFile(left, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Put(dir, event(`{"n":1}`)); err != nil {
		t.Fatal(err)
	}
	if half, err := os.ReadFile(left); err != nil || string(half) != "half" {
		t.Errorf("the other process's file now holds %q, %v", half, err)
	}
}

func TestPutFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if name, err := Put(filepath.Join(file, "spool"), event(`{}`)); err == nil {
		t.Errorf("Put under a file gave %q", name)
	}
	if _, err := Put(t.TempDir(), envelope.Envelope{}); err == nil {
		t.Error("an envelope without an id was put")
	}
}

func TestNamesSortByCapture(t *testing.T) {
	early := Name{Captured: time.Unix(0, 1), PID: 99999, Hash: "ffffffffffffffff"}
	late := Name{Captured: time.Unix(1800000000, 0), PID: 1, Hash: "0000000000000000"}
	if !(early.String() < late.String()) {
		t.Errorf("%s does not sort before %s", early, late)
	}
	if zero := (Name{Captured: captured(envelope.Envelope{}), Hash: strings.Repeat("0", 16)}).String(); !strings.HasPrefix(zero, strings.Repeat("0", 19)+"-0-") {
		t.Errorf("no capture time gives %s", zero)
	}
}

func TestStrangeNames(t *testing.T) {
	for _, name := range []string{
		"", ".json", "x.json", "1700000000123456789-1-0123456789abcdef.json.1", "1700000000123456789-1-0123456789abcde.json",
		"170000000012345678-1-0123456789abcdef.json", "1700000000123456789-1-0123456789abcdeg.json", "-700000000123456789-1-0123456789abcdef.json",
		"1700000000123456789-x-0123456789abcdef.json", "../1700000000123456789-1-0123456789abcdef.json", ".tmp-1.json",
	} {
		if n, ok := ParseName(name); ok {
			t.Errorf("%q is taken for %+v", name, n)
		}
	}
}
