package main

import (
	"strings"
	"time"

	"cmem/cmd/internal/config"
)

// zoneName names the time zone of this terminal, so that a worker started in
// another one answers with our days: $TZ, the system's own, or the offset.
func (a *app) zoneName(now time.Time) string {
	if name := config.LocalZone(a.lookupenv); name != "" {
		return name
	}
	return now.Format("-07:00")
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
