package main

import (
	"strings"
	"time"

	"cmem/cmd/internal/api"
	"cmem/cmd/internal/config"
)

// zoneName names the zone of this terminal's days and times, so that a worker
// started in another one answers with ours: the setting, else $TZ, the system's
// own, or the offset. Settings that cannot be read are told where a command
// needs them.
func (a *app) zoneName(now time.Time) string {
	if a.zoneSetting == nil {
		a.zoneSetting = new(string)
		if dir, err := a.home(); err == nil {
			cfg, _, _ := config.Load(dir.Config(), a.environ)
			*a.zoneSetting = cfg.Zone
		}
	}
	if *a.zoneSetting != "" {
		return *a.zoneSetting
	}
	if name := config.LocalZone(a.lookupenv); name != "" {
		return name
	}
	return now.Format("-07:00")
}

// zone is zoneName's.
func (a *app) zone(now time.Time) *time.Location {
	loc, err := api.ParseZone(a.zoneName(now), time.Local)
	if err != nil {
		return time.Local
	}
	return loc
}

// local writes a time for people; the zero time is "".
func (a *app) local(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.In(a.zone(t)).Format(time.DateTime)
}

// localStamp writes a time that travelled as text.
func (a *app) localStamp(stamp string) string {
	t, err := time.Parse(time.RFC3339, stamp)
	if err != nil {
		return stamp
	}
	return a.local(t)
}

// lookupenv looks a variable up and says whether it is there.
func (a *app) lookupenv(key string) (string, bool) {
	for _, kv := range a.environ {
		if k, v, _ := strings.Cut(kv, "="); k == key {
			return v, true
		}
	}
	return "", false
}
