// Package config is where every setting of cmem has its name, its meaning and
// its default.
//
// Settings come from config.json in the data folder (a JSON object; a byte
// order mark is let through), over it from the environment (CMEM_ and the
// name in capitals: CMEM_IDLE_EXIT=10m), over that from flags of a command. A
// file that cannot be read as such is an error that names file, line and
// reason; a name nobody knows is reported and otherwise ignored, so that a
// newer file does not stop an older binary. A value of the right form that cannot
// be used (a pattern that is no regular expression, a zone nobody knows) is such
// an error too, but leaves a Config that a worker can go on with: see Unusable.
package config

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"reflect"
	"strings"
	"time"

	"cmem/ingest/filter"
	"cmem/ingest/home"
)

// Version is the binary's version, set by the linker.
var Version = "dev"

// Config holds every setting of the worker and the commands. What the hook
// publisher reads from the same file is in Hook.
type Config struct {
	Hook // of the hook publisher, same file

	LogLevel string `json:"log_level" default:"info" doc:"debug, info, warn or error"`
	Zone     string `json:"zone" default:"" doc:"time zone of days and times, like Europe/Berlin; empty is the system's"`

	TCP  bool `json:"tcp" default:"true" doc:"listen on 127.0.0.1 as well as on the unix socket"`
	Port int  `json:"port" default:"0" doc:"first TCP port to try; 0 is 38700 + user id mod 100"`

	Observe bool `json:"observe" default:"true" doc:"make observations; false keeps events and makes none"`

	IdleExit        time.Duration `json:"idle_exit" default:"0s" doc:"the worker stops after this long without events and requests; 0 never"`
	SessionIdle     time.Duration `json:"session_idle" default:"3m" doc:"a session that says nothing for this long has its turn closed"`
	ContextDebounce time.Duration `json:"context_debounce" default:"2s" doc:"context files are written this long after the last change"`
	SweepEvery      time.Duration `json:"sweep_every" default:"30s" doc:"the spool is looked at this often, even if nothing was said of it"`
	StopTimeout     time.Duration `json:"stop_timeout" default:"10s" doc:"how long a stop may take before what is left is dropped"`

	ReserveMB int `json:"reserve_mb" default:"1024" doc:"disk space that must stay free, in MB; negative: the least, 24 MB"`
	// AllowNetworkFS is for folders of a network that one machine alone uses.
	AllowNetworkFS bool `json:"allow_network_fs" default:"false" doc:"open a data folder on a network file system too; only where a single machine uses it"`

	MemoryLimitMB int `json:"memory_limit_mb" default:"0" doc:"soft limit of the worker's memory, in MB; 0 is none (GOMEMLIMIT counts too)"`
	GCPercent     int `json:"gc_percent" default:"50" doc:"how much the heap may grow between collections, in percent; smaller is less memory and more work"`

	// Unusable says which values cannot be used. Where they are, the default
	// holds; of lists the other entries do.
	Unusable []*Error `json:"-"`

	lines map[string]int // of config.json, by setting, and of entries of lists by name[i]
}

// Load reads the settings for file, which may be missing, and the environment.
// On error Config has the defaults, or it has Unusable and all the rest.
func Load(file string, environ []string) (Config, []Notice, error) {
	c := Default()
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return c, nil, &Error{File: file, Reason: err.Error()}
	}
	var notices []Notice
	if err == nil {
		if notices, err = c.readJSON(file, text); err != nil {
			return Default(), nil, err
		}
	}
	more, err := c.readEnviron(environ)
	if err != nil {
		return Default(), nil, err
	}
	c.check(file)
	notices = append(notices, more...)
	if len(c.Unusable) > 0 {
		return c, notices, c.Unusable[0]
	}
	return c, notices, nil
}

// Default gives the settings of an empty file.
func Default() Config {
	c := Config{Hook: Hook{home.Defaults()}}
	for f := range c.fields() {
		if d, ok := f.tag.Lookup("default"); ok {
			if err := f.set(d); err != nil {
				panic("config: default of " + f.name + ": " + err.Error())
			}
		}
	}
	return c
}

// Location is the zone for days and times.
func (c Config) Location() *time.Location {
	name := c.Zone
	if name == "" {
		name = LocalZone(os.LookupEnv)
	}
	if loc, err := time.LoadLocation(name); err == nil {
		return loc
	}
	return time.Local
}

// Setting tells about one setting.
type Setting struct {
	Name, Environment, Default, Doc string
	Value                           any
}

// List gives all of them with their values in c.
func (c Config) List() []Setting {
	var out []Setting
	for f := range c.fields() {
		s := Setting{Name: f.name, Environment: environment(f.name), Default: f.tag.Get("default"), Doc: f.tag.Get("doc"), Value: show(f.value)}
		if doc, ok := hookDocs[f.name]; ok {
			s.Doc = doc
		}
		if f.name == "skip_tools" {
			s.Default = strings.Join(filter.DefaultSkipTools(), ", ")
		}
		out = append(out, s)
	}
	return out
}

func show(v reflect.Value) any {
	if d, ok := v.Interface().(time.Duration); ok {
		return d.String()
	}
	return v.Interface()
}

// MarshalJSON writes the settings as a file would hold them.
func (c Config) MarshalJSON() ([]byte, error) {
	m := map[string]any{}
	for _, s := range c.List() {
		m[s.Name] = s.Value
	}
	return json.Marshal(m)
}
