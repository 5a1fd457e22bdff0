package main

import (
	"os"
	"strings"
	"time"
)

// zoneName names the time zone of this terminal, so that a worker started in
// another one answers with our days: $TZ, the system's own, or the offset.
func (a *app) zoneName(now time.Time) string {
	if tz := strings.TrimPrefix(a.getenv("TZ"), ":"); tz != "" {
		if _, err := time.LoadLocation(tz); err == nil {
			return tz
		}
	}
	if link, err := os.Readlink("/etc/localtime"); err == nil {
		if _, name, ok := strings.Cut(link, "zoneinfo/"); ok {
			if _, err := time.LoadLocation(name); err == nil {
				return name
			}
		}
	}
	return now.Format("-07:00")
}
