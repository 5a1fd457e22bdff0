package home

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// Settings is what the hook publisher reads: config.json with the CMEM_*
// environment over it. Other commands read more keys from the same file and
// embed this struct.
type Settings struct {
	// ExcludedProjects are globs (package filter): nothing of these projects is
	// kept and nothing is shown in them. CMEM_EXCLUDED_PROJECTS, comma list.
	ExcludedProjects []string `json:"excluded_projects,omitempty"`
	// SkipTools are exact tool names that are not kept; nil means the default
	// list, an empty list none. CMEM_SKIP_TOOLS, comma list.
	SkipTools []string `json:"skip_tools"`
	// SkipSubagents leaves out what sub-agents do. CMEM_SKIP_SUBAGENTS.
	SkipSubagents bool `json:"skip_subagents,omitempty"`
	// Redact are the user's own patterns; they come before the built-in ones.
	// CMEM_REDACT, one "kind=regexp" a line, added to those of the file.
	Redact []Pattern `json:"redact,omitempty"`
	// Autostart lets a hook start the worker; default true. CMEM_AUTOSTART.
	Autostart bool `json:"autostart"`
	// ToolHooks false switches off everything at tool events; default true.
	// CMEM_TOOL_HOOKS.
	ToolHooks bool `json:"tool_hooks"`
	// FailLoud is how many hooks in a row find no worker before the user gets
	// one notice; default 3, 0 never. CMEM_FAIL_LOUD.
	FailLoud int `json:"fail_loud"`

	// UserHome is the OS user's home folder, for "~"; from the environment only.
	UserHome string `json:"-"`
	// Internal: this process was started by cmem itself. CMEM_INTERNAL=1.
	Internal bool `json:"-"`
}

// Pattern is one secret shape of the user's.
type Pattern struct {
	Kind    string `json:"kind"`    // what the marker says: [redacted:kind]
	Pattern string `json:"pattern"` // Go (RE2) regular expression; the whole match is replaced
}

// Defaults are the settings of an empty file and environment.
func Defaults() Settings {
	return Settings{Autostart: true, ToolHooks: true, FailLoud: 3}
}

// LoadSettings reads the settings of a data folder. They are always usable:
// beside an error (a broken file, a value that cannot be read) everything that
// could be read is set and the rest has its default. No file is no error.
func LoadSettings(d Dir, getenv func(string) string) (Settings, error) {
	s := Defaults()
	// Keys unknown here belong to other readers of the same file.
	_, err := ReadJSON(d.Config(), &s)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return s, errors.Join(err, s.Environment(getenv))
}

// Environment lays the CMEM_* variables over s. A variable that cannot be read
// is named in the error and changes nothing.
func (s *Settings) Environment(getenv func(string) string) error {
	var errs []error
	lists := map[string]*[]string{"CMEM_EXCLUDED_PROJECTS": &s.ExcludedProjects, "CMEM_SKIP_TOOLS": &s.SkipTools}
	for name, to := range lists {
		if v := getenv(name); v != "" {
			*to = list(v)
		}
	}
	bools := map[string]*bool{
		"CMEM_SKIP_SUBAGENTS": &s.SkipSubagents, "CMEM_AUTOSTART": &s.Autostart, "CMEM_TOOL_HOOKS": &s.ToolHooks,
		"CMEM_INTERNAL": &s.Internal,
	}
	for name, to := range bools {
		if v := getenv(name); v != "" {
			errs = append(errs, setBool(name, v, to))
		}
	}
	if v := getenv("CMEM_FAIL_LOUD"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 0 {
			errs = append(errs, fmt.Errorf("CMEM_FAIL_LOUD: %q is not a number of hooks", v))
		} else {
			s.FailLoud = n
		}
	}
	for line := range strings.Lines(getenv("CMEM_REDACT")) {
		kind, pattern, ok := strings.Cut(strings.TrimSpace(line), "=")
		if ok {
			s.Redact = append(s.Redact, Pattern{Kind: kind, Pattern: pattern})
		} else if kind != "" {
			errs = append(errs, errors.New("CMEM_REDACT: a line is not kind=regexp"))
		}
	}
	s.UserHome = userHome(getenv)
	return errors.Join(errs...)
}

func setBool(name, v string, to *bool) error {
	switch strings.ToLower(v) {
	case "1", "true", "yes", "on":
		*to = true
	case "0", "false", "no", "off":
		*to = false
	default:
		return fmt.Errorf("%s: %q is neither true nor false", name, v)
	}
	return nil
}

func list(v string) []string {
	out := []string{}
	for part := range strings.SplitSeq(v, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}
