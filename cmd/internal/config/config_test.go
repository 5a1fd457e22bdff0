package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func load(t *testing.T, text string, environ ...string) (Config, []Notice, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Load(file, environ)
}

func TestFileThenEnvironment(t *testing.T) {
	c, notices, err := load(t, "\xef\xbb\xbf{\n\"port\": 4000, \"idle_exit\": \"10m\", \"tcp\": false}", "CMEM_PORT=5000", "HOME=/x", "CMEM_DATA_DIR=/y", "CMEM_SKIP_TOOLS=A, B", "CMEM_OBSERVE=no")
	if err != nil || len(notices) != 0 {
		t.Fatal(err, notices)
	}
	if c.Port != 5000 || c.IdleExit != 10*time.Minute || c.TCP || c.SessionIdle != 3*time.Minute || len(c.SkipTools) != 2 || c.Observe || !c.Autostart {
		t.Errorf("got %+v", c)
	}
}

func TestAMissingOrEmptyFileIsTheDefaults(t *testing.T) {
	c, _, err := Load(filepath.Join(t.TempDir(), "none.json"), nil)
	if err != nil || c.StopTimeout != 10*time.Second || !c.TCP {
		t.Errorf("got %+v, %v", c, err)
	}
	if _, _, err := load(t, "\xef\xbb\xbf \n"); err != nil {
		t.Error(err)
	}
}

func TestABrokenFileIsNamedWithItsLine(t *testing.T) {
	for text, want := range map[string]string{
		"{\n\"port\": 1,\n}":             "config.json:3: is not valid JSON",
		"{\n\"port\": \"many\"}":         "config.json:2: port must be a whole number",
		"{\n\n\"session_idle\": \"3x\"}": "config.json:3: session_idle must be a duration",
		"{\"session_idle\": 3}":          "config.json:1: session_idle must be a duration",
		"[]":                             "config.json:1: must be a JSON object",
		"{\n\"port\": 1":                 "config.json:2: is not valid JSON: it ends too early",
		"{} {}":                          "config.json:1: has something after",
		"{\"log_level\": \"loud\"}":      "log_level must be debug",
		"{\"port\": 70000}":              "port must be between",
		"{\n\"zone\": \"Mars/Olympus\"}": "config.json:2: zone is no time zone",
		"{\"session_idle\": \"0s\"}":     "config.json:1: session_idle must not be 0",
	} {
		_, _, err := load(t, text)
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: more than one line: %q", text, err)
		}
	}
	if _, _, err := load(t, "{}", "CMEM_PORT=x"); err == nil || !strings.Contains(err.Error(), "CMEM_PORT must be a whole number") {
		t.Errorf("got %v", err)
	}
}

func TestAVariableIsNamedAndNotTheFile(t *testing.T) {
	_, _, err := load(t, "{\n\"log_level\": \"info\"}", "CMEM_LOG_LEVEL=foo")
	if want := "environment: CMEM_LOG_LEVEL must be debug, info, warn or error, not \"foo\""; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestTheDefaultOfSkipToolsIsShown(t *testing.T) {
	for _, s := range Default().List() {
		if s.Name == "skip_tools" && !strings.Contains(s.Default, "TodoWrite") {
			t.Errorf("got %+v", s)
		}
	}
}

func TestOneZoneHasOneName(t *testing.T) {
	for tz, want := range map[string]string{"Etc/UTC": "UTC", "UTC": "UTC", "": "UTC", ":Europe/Berlin": "Europe/Berlin"} {
		if got := LocalZone(func(string) (string, bool) { return tz, true }); got != want {
			t.Errorf("TZ=%s: got %q, want %q", tz, got, want)
		}
	}
}

func TestUnknownNamesAreReportedAndNoMore(t *testing.T) {
	c, notices, err := load(t, "{\n\"idleExit\": \"1m\",\n\"port\": 9}", "CMEM_COLOUR=1")
	if err != nil || c.Port != 9 {
		t.Fatal(err, c.Port)
	}
	if len(notices) != 2 || !strings.Contains(notices[0].String(), `config.json:2: no setting is called "idleExit"; did you mean "idle_exit"?`) ||
		!strings.Contains(notices[1].String(), "CMEM_COLOUR") {
		t.Errorf("got %v", notices)
	}
}

func TestEverySettingIsDocumented(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range Default().List() {
		if s.Doc == "" || seen[s.Name] || s.Name != strings.ToLower(s.Name) {
			t.Errorf("%+v: needs a doc, a name of its own in lower case", s)
		}
		seen[s.Name] = true
	}
}

func FuzzReadJSON(f *testing.F) {
	f.Add([]byte("{\"port\": 1}"))
	f.Add([]byte("\xef\xbb\xbf{\"a\":[{}],\"tcp\":null}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c := Default()
		if _, err := c.readJSON("config.json", text); err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("more than one line: %q", err)
		}
	})
}

// TestAValueThatCannotBeUsedIsNamedAndTheRestHolds: every setting whose form does
// not say whether it can be used.
func TestAValueThatCannotBeUsedIsNamedAndTheRestHolds(t *testing.T) {
	for text, want := range map[string]string{
		"{\n\"port\": 9,\n\"redact\": [\n{\"kind\": \"ok\", \"pattern\": \"X-1\"},\n{\"kind\":\"badge\",\"pattern\":\"B-(\"}]}": `config.json:5: redact pattern "B-(" of kind "badge" cannot be used: missing closing )`,
		"{\"port\": 9, \"redact\": [{\"kind\": \"x\", \"regex\": \"y\"}]}":                                                      `config.json:1: redact pattern "" of kind "x" cannot be used: it is empty`,
		"{\"port\": 9, \"redact\": [{\"kind\": \"x\", \"pattern\": \"a*\"}]}":                                                   "matches the empty text",
		"{\"port\": 9,\n\"excluded_projects\": [\"~/ok\",\n\"$HOME/secret\"]}":                                                  `config.json:3: excluded_projects "$HOME/secret" excludes nothing`,
		"{\"port\": 9, \"excluded_projects\": [\"\"]}":                                                                          "names no folder",
		"{\"port\": 9, \"excluded_projects\": [\"~bob/secret\"]}":                                                               "homes of others",
		"{\"port\": 9, \"excluded_projects\": [\"../secret\"]}":                                                                 "begins above every folder",
		"{\"port\": 9,\n\"skip_tools\": [\"mcp__github__*\"]}":                                                                  `config.json:2: skip_tools "mcp__github__*" names no tool`,
		"{\"port\": 9, \"skip_tools\": [\" Read\"]}":                                                                            "has a blank",
		"{\"port\": 9,\n\"zone\": \"Mars/Olympus\"}":                                                                            "config.json:2: zone is no time zone this system knows: \"Mars/Olympus\"",
		"{\"port\": 9,\n\n\"log_level\": \"loud\"}":                                                                             "config.json:3: log_level must be debug",
		"{\"port\": 9, \"fail_loud\": -1}":                                                                                      "config.json:1: fail_loud must not be negative",
		"{\"port\": 9, \"sweep_every\": \"0s\"}":                                                                                "config.json:1: sweep_every must not be 0",
		"{\"port\": 9, \"idle_exit\": \"-1s\"}":                                                                                 "config.json:1: idle_exit must not be negative",
		"{\"port\": 9, \"memory_limit_mb\": -1}":                                                                                "memory_limit_mb must not be negative",
	} {
		c, _, err := load(t, text, "HOME=/home/u")
		if err == nil || !strings.Contains(err.Error(), want) || len(c.Unusable) != 1 {
			t.Errorf("%s: got %v, want %q", text, err, want)
			continue
		}
		if c.Port != 9 || c.Zone != "" || c.LogLevel != "info" || c.FailLoud < 0 || c.SweepEvery <= 0 || c.IdleExit < 0 || c.MemoryLimitMB < 0 {
			t.Errorf("%s: what is left is %+v", text, c)
		}
	}
	for env, want := range map[string]string{
		"CMEM_REDACT=badge=B-(":           `environment: CMEM_REDACT pattern "B-(" of kind "badge" cannot be used`,
		"CMEM_ZONE=Mars":                  "environment: CMEM_ZONE is no time zone",
		"CMEM_SKIP_TOOLS=Read*":           `environment: CMEM_SKIP_TOOLS "Read*" names no tool`,
		"CMEM_EXCLUDED_PROJECTS=$HOME/x":  `environment: CMEM_EXCLUDED_PROJECTS "$HOME/x" excludes nothing`,
		"CMEM_EXCLUDED_PROJECTS=ok,../no": `environment: CMEM_EXCLUDED_PROJECTS "../no"`,
	} {
		_, _, err := load(t, "{\"redact\": [{\"kind\": \"ok\", \"pattern\": \"X-1\"}],\n\"zone\": \"UTC\", \"skip_tools\": [\"Ok\"],\n\"excluded_projects\": [\"ok\", \"ok2\"]}", "HOME=/home/u", env)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", env, err, want)
		}
	}
	if _, _, err := load(t, `{"redact": ["B-1"]}`); err == nil || !strings.Contains(err.Error(), `redact must be a list like [{"kind"`) {
		t.Errorf("got %v", err)
	}
}

func TestUsableListsAreLeftAlone(t *testing.T) {
	c, _, err := load(t, `{"excluded_projects": ["~/work/**", "/srv/x", "secret", "work/*-private", "[open", "C:\\x", "**", "~"],
"skip_tools": ["mcp__a__b", "Read"], "redact": [{"pattern": "B-[0-9]{6}"}]}`, "HOME=/home/u")
	if err != nil || len(c.Unusable) != 0 {
		t.Errorf("got %v", err)
	}
}
