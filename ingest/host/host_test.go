package host

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"cmem/ingest/host/adapter"
)

func TestTheTableIsWhole(t *testing.T) {
	if names := Names(); !slices.Equal(names, []string{"claude-code", "codex"}) {
		t.Errorf("names %q", names)
	}
	for _, name := range Names() {
		h, ok := Hook(name)
		if !ok || h.Name != name || h.Identify == nil || h.Noise == nil || h.Answer == nil || h.ContextBytes <= 0 {
			t.Errorf("hook %s: %+v", name, h)
		}
		f, ok := Transcript(name)
		if !ok || f.Name != name || f.Detect == nil || f.NewReader == nil || f.Normal == nil {
			t.Errorf("transcript %s: %+v", name, f)
		}
		if d, ok := Decode(name); !ok || d == nil {
			t.Errorf("%s has no decoder", name)
		}
	}
	if all := Transcripts(); len(all) != len(Names()) {
		t.Errorf("%d transcripts, want %d", len(all), len(Names()))
	}
}

func TestAStrangerIsNobody(t *testing.T) {
	for _, name := range []string{"", "Claude-Code", "cursor"} {
		_, hook := Hook(name)
		_, file := Transcript(name)
		_, decode := Decode(name)
		if hook || file || decode {
			t.Errorf("%q is in the table", name)
		}
	}
}

func TestEveryFixtureIsItsHosts(t *testing.T) {
	seen := 0
	for _, name := range Names() {
		files, err := filepath.Glob("../../testdata/transcripts/" + name + "/*")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			seen++
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got, ok := Detect(file, data[:min(len(data), 64<<10)]); !ok || got.Name != name {
				t.Errorf("%s is taken for %q", file, got.Name)
			}
		}
	}
	if seen < 16 {
		t.Errorf("%d fixtures, want 16", seen)
	}
	if got, ok := Detect("notes.txt", []byte("plain words\n")); ok {
		t.Errorf("plain words are taken for %q", got.Name)
	}
}

// The hook publisher answers nothing it was not given.
func TestNobodySpeaksFirst(t *testing.T) {
	for _, name := range Names() {
		h, _ := Hook(name)
		for _, event := range []string{"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SessionEnd", ""} {
			if out := h.Answer(event, adapter.Reply{}); len(out) != 0 {
				t.Errorf("%s %s prints %s", name, event, out)
			}
		}
	}
}
