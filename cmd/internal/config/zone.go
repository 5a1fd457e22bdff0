package config

import (
	"os"
	"slices"
	"strings"
	"time"
)

// universal are names under which systems know UTC: one zone has one name here,
// so that a worker and a terminal say the same.
var universal = []string{"Etc/UTC", "UCT", "Etc/UCT", "Universal", "Etc/Universal", "Zulu", "Etc/Zulu"}

// LocalZone names the zone of days and times where no setting does: $TZ, else
// the system's own. "" where it has no name that can be loaded.
func LocalZone(lookup func(string) (string, bool)) string {
	if tz, given := lookup("TZ"); given {
		if tz = strings.TrimPrefix(tz, ":"); tz == "" {
			return "UTC"
		}
		if name, ok := loadable(tz); ok {
			return name
		}
	}
	link, err := os.Readlink("/etc/localtime")
	if err != nil {
		return ""
	}
	_, name, _ := strings.Cut(link, "zoneinfo/")
	name, _ = loadable(name)
	return name
}

func loadable(name string) (string, bool) {
	if slices.Contains(universal, name) {
		return "UTC", true
	}
	if _, err := time.LoadLocation(name); err != nil || name == "" || name == "Local" {
		return "", false
	}
	return name, true
}
