package api

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// ParseZone gives the zone of an IANA name ("Europe/Berlin"), of an offset
// ("+02:00") or, for "", fallback.
func ParseZone(name string, fallback *time.Location) (*time.Location, error) {
	if name == "" {
		return fallback, nil
	}
	for _, layout := range []string{"-07:00", "-0700", "Z07:00"} {
		if t, err := time.Parse(layout, name); err == nil {
			_, seconds := t.Zone()
			return time.FixedZone(name, seconds), nil
		}
	}
	if loc, err := time.LoadLocation(name); err == nil && name != "Local" {
		return loc, nil
	}
	return nil, Errorf(Invalid, "%s is not a time zone: give a name like Europe/Berlin or an offset like +02:00", quote(name))
}

// span is a stretch of time: from ≤ t < to.
type span struct{ from, to time.Time }

// days are the layouts that name whole days: one, or a month of them.
var days = []struct {
	layout        string
	months, count int
}{
	{time.DateOnly, 0, 1},
	{"2006/01/02", 0, 1},
	{"2006-01", 1, 0},
}

// layouts are those that name moments, and how long the stretch is that each
// names: a minute is a whole minute, an instant is itself.
var layouts = []struct {
	layout string
	next   func(time.Time) time.Time
}{
	{time.RFC3339Nano, instant},
	{"2006-01-02T15:04Z07:00", minute},
	{"2006-01-02T15:04:05.999999999", instant},
	{"2006-01-02 15:04:05", instant},
	{"2006-01-02T15:04", minute},
	{"2006-01-02 15:04", minute},
}

func instant(t time.Time) time.Time { return t.Add(time.Nanosecond) }
func minute(t time.Time) time.Time  { return t.Add(time.Minute) }

var epoch = regexp.MustCompile(`^(\d{10}|\d{13})$`)

// parseDate gives the stretch that text names in zone. A bare day is that whole
// local day, 23 or 25 hours long where the clocks change; now serves the words
// today and yesterday.
func parseDate(text string, zone *time.Location, now time.Time) (span, error) {
	text = strings.TrimSpace(text)
	day := func(offset int) span {
		y, m, d := now.In(zone).Date()
		return span{dayBegins(y, m, d+offset, zone), dayBegins(y, m, d+offset+1, zone)}
	}
	switch strings.ToLower(text) {
	case "today":
		return day(0), nil
	case "yesterday":
		return day(-1), nil
	}
	if epoch.MatchString(text) {
		n, _ := strconv.ParseInt(text, 10, 64)
		if len(text) == 10 {
			n *= 1000
		}
		t := time.UnixMilli(n)
		return span{t, t.Add(time.Millisecond)}, nil
	}
	for _, l := range days {
		if t, err := time.Parse(l.layout, text); err == nil {
			y, m, d := t.Date()
			return span{dayBegins(y, m, d, zone), dayBegins(y, m+time.Month(l.months), d+l.count, zone)}, nil
		}
	}
	for _, l := range layouts {
		if t, err := time.ParseInLocation(l.layout, text, zone); err == nil {
			return span{t, l.next(t)}, nil
		}
	}
	return span{}, fmt.Errorf("%s is not a date: give 2026-01-24, 2026-01-24T15:04:05Z, today or yesterday", quote(text))
}

// dayBegins is the first moment of a day in zone. Where the clocks go forward at
// midnight, that is not 00:00; where they go back to it, it is the first 00:00 of
// two. A day that a zone left out begins where the next one does.
func dayBegins(y int, m time.Month, d int, zone *time.Location) time.Time {
	wall := time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	const reach = 36 * time.Hour // no day is further from UTC's, however it begins
	for t := wall.Add(-reach); ; {
		_, end := t.In(zone).ZoneBounds()
		_, offset := t.In(zone).Zone()
		if at := wall.Add(-time.Duration(offset) * time.Second); end.IsZero() || at.Before(end) {
			if at.Before(t) {
				at = t // the clocks went over midnight: the day begins with the new offset
			}
			return at.In(zone)
		}
		t = end
	}
}

// dateRange reads start, end and day; an end includes the stretch it names, so
// that a bare end date includes its whole day. Empty texts do not limit.
func dateRange(start, end, day string, zone *time.Location, now time.Time) (span, error) {
	var r span
	if day != "" {
		if start != "" || end != "" {
			return r, Errorf(Invalid, "give either date or a start and an end, not both")
		}
		start, end = day, day
	}
	if start != "" {
		s, err := parseDate(start, zone, now)
		if err != nil {
			return r, Errorf(Invalid, "the start date %v", err)
		}
		r.from = s.from
	}
	if end != "" {
		s, err := parseDate(end, zone, now)
		if err != nil {
			return r, Errorf(Invalid, "the end date %v", err)
		}
		r.to = s.to
	}
	if start != "" && end != "" && !r.from.Before(r.to) && start != end {
		return r, Errorf(Invalid, "the start date %s is after the end date %s", quote(start), quote(end))
	}
	return r, nil
}

// quote shows user text inside a sentence, cut where it is long.
func quote(s string) string {
	if r := []rune(s); len(r) > 80 {
		s = string(r[:80]) + "…"
	}
	return strconv.Quote(s)
}
