package config

import (
	"strings"

	"cmem/ingest/home"
)

// Hook holds the settings that the hook publisher reads from the same file; it
// is declared there, because the publisher must not link this package.
type Hook struct{ home.Settings }

// hookDocs says what they mean.
var hookDocs = map[string]string{
	"excluded_projects": "projects, as globs over folders, of which nothing is kept and in which nothing is shown; sub-folders too",
	"skip_tools":        "exact names of tools whose uses are not kept; where it is not set hooks leave out the default list and transcripts nothing; a list of your own holds for both, and [] keeps all",
	"skip_subagents":    "leave out what sub-agents do",
	"redact":            `your own secret patterns, before the built-in ones: [{"kind": "badge", "pattern": "B-[0-9]{6}"}]; in the environment one kind=regexp a line`,
	"autostart":         "a hook starts the worker when none answers",
	"tool_hooks":        "keep what tools do; false switches off everything at tool events",
	"fail_loud":         "after this many hooks in a row without a worker you get one notice per session; 0 never",
}

// hookSetting: the publisher reads this variable itself, the same way for both.
func hookSetting(key string) bool {
	_, ok := hookDocs[strings.ToLower(strings.TrimPrefix(key, prefix))]
	return ok
}

// hookEnvironment lays the variables of the publisher over c.
func (c *Config) hookEnvironment(environ []string) error {
	err := c.Hook.Environment(func(key string) string {
		for _, kv := range environ {
			if k, v, _ := strings.Cut(kv, "="); k == key {
				return v
			}
		}
		return ""
	})
	for _, kv := range environ {
		if key, value, _ := strings.Cut(kv, "="); value != "" && strings.HasPrefix(key, prefix) && hookSetting(key) {
			c.overridden(strings.ToLower(strings.TrimPrefix(key, prefix)))
		}
	}
	if err != nil {
		return &Error{File: "environment", Reason: strings.ReplaceAll(err.Error(), "\n", "; ")}
	}
	return nil
}
