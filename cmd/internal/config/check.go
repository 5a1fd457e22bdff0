package config

import (
	"fmt"
	"slices"
	"time"

	"cmem/ingest/filter"
	"cmem/ingest/redact"
)

// check looks at what a value's form cannot tell. What cannot be used gets its
// default, so that nobody works with it.
func (c *Config) check(file string) {
	fresh := Default()
	bad := func(name, format string, args ...any) {
		f, _ := c.field(name)
		d, _ := fresh.field(name)
		f.value.Set(d.value)
		c.unusable(file, name, "", fmt.Sprintf(format, args...))
	}
	if !slices.Contains([]string{"debug", "info", "warn", "error"}, c.LogLevel) {
		bad("log_level", "must be debug, info, warn or error, not %q", c.LogLevel)
	}
	if c.Port < 0 || c.Port > 65535 {
		bad("port", "must be between 0 and 65535, not %d", c.Port)
	}
	if c.Zone != "" {
		if _, err := time.LoadLocation(c.Zone); err != nil {
			bad("zone", "is no time zone this system knows: %q", c.Zone)
		}
	}
	if c.FailLoud < 0 {
		bad("fail_loud", "must not be negative: %d", c.FailLoud)
	}
	if c.MemoryLimitMB < 0 {
		bad("memory_limit_mb", "must not be negative: %d", c.MemoryLimitMB)
	}
	for f := range c.fields() {
		d, ok := f.value.Interface().(time.Duration)
		switch {
		case ok && d < 0:
			bad(f.name, "must not be negative: %s", d)
		case ok && d == 0 && slices.Contains([]string{"session_idle", "sweep_every", "stop_timeout"}, f.name):
			bad(f.name, "must not be 0")
		}
	}
	c.checkLists(file)
}

// checkLists looks at each entry of the lists. Those that cannot be used stay in
// them: whoever reads a list passes over them.
func (c *Config) checkLists(file string) {
	for i, p := range c.Redact {
		if err := redact.Check(p); err != nil {
			c.unusable(file, "redact", entry("redact", i), err.Error())
		}
	}
	for i, p := range c.ExcludedProjects {
		if err := filter.CheckProject(p, c.UserHome); err != nil {
			c.unusable(file, "excluded_projects", entry("excluded_projects", i), err.Error())
		}
	}
	for i, name := range c.SkipTools {
		if err := filter.CheckTool(name); err != nil {
			c.unusable(file, "skip_tools", entry("skip_tools", i), err.Error())
		}
	}
}

func entry(name string, i int) string { return fmt.Sprintf("%s[%d]", name, i) }

// unusable adds an error that says where the value came from: a line of the file,
// else the environment.
func (c *Config) unusable(file, name, at, reason string) {
	e := &Error{File: "environment", Name: environment(name), Reason: reason}
	if line, ok := c.lines[name]; ok && at == "" {
		e = &Error{File: file, Line: line, Name: name, Reason: reason}
	} else if line, ok := c.lines[at]; ok {
		e = &Error{File: file, Line: line, Name: name, Reason: reason}
	}
	c.Unusable = append(c.Unusable, e)
}

// overridden forgets the lines of what the environment says otherwise. Patterns of
// the environment are added to those of the file, whose lines stay.
func (c *Config) overridden(name string) {
	if name == "redact" {
		return
	}
	delete(c.lines, name)
	for i := range len(c.lines) {
		delete(c.lines, entry(name, i))
	}
}
