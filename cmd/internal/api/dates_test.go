package api

import (
	"strings"
	"testing"
	"time"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	loc, err := ParseZone(name, time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func TestADayIsTheLocalDay(t *testing.T) {
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct{ zone, day, from, to string }{
		{"UTC", "2026-01-24", "2026-01-24T00:00:00Z", "2026-01-25T00:00:00Z"},
		{"America/Los_Angeles", "2026-01-24", "2026-01-24T08:00:00Z", "2026-01-25T08:00:00Z"},
		{"Asia/Kolkata", "2026-01-24", "2026-01-23T18:30:00Z", "2026-01-24T18:30:00Z"},
		{"Europe/Berlin", "2026-03-29", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"}, // 23 hours
		{"Europe/Berlin", "2026-10-25", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"}, // 25 hours
		{"+02:00", "2026-01-24", "2026-01-23T22:00:00Z", "2026-01-24T22:00:00Z"},
		{"America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"}, // begins at 01:00
		{"America/Sao_Paulo", "2018-11-03", "2018-11-03T03:00:00Z", "2018-11-04T03:00:00Z"}, // ends before 00:00
		{"America/Sao_Paulo", "2018-02-17", "2018-02-17T02:00:00Z", "2018-02-18T03:00:00Z"}, // 23:00 comes twice
		{"Africa/Cairo", "2023-04-28", "2023-04-27T22:00:00Z", "2023-04-28T21:00:00Z"},      // begins at 01:00
		{"America/Havana", "2025-11-02", "2025-11-02T04:00:00Z", "2025-11-03T05:00:00Z"},    // 00:00 comes twice
		{"Pacific/Apia", "2011-12-30", "2011-12-30T10:00:00Z", "2011-12-30T10:00:00Z"},      // was left out
		{"Pacific/Apia", "2011-12-31", "2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z"},
		{"America/Asuncion", "2017-10", "2017-10-01T04:00:00Z", "2017-11-01T03:00:00Z"}, // a month that begins at 01:00
		{"+14:00", "2026-01-24", "2026-01-23T10:00:00Z", "2026-01-24T10:00:00Z"},
		{"-12:00", "2026-01-24", "2026-01-24T12:00:00Z", "2026-01-25T12:00:00Z"},
		{"UTC", "2026-01", "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"},
		{"Asia/Tokyo", "today", "2026-05-31T15:00:00Z", "2026-06-01T15:00:00Z"},
		{"UTC", "yesterday", "2026-05-31T00:00:00Z", "2026-06-01T00:00:00Z"},
	} {
		r, err := dateRange("", "", c.day, zone(t, c.zone), now)
		if err != nil {
			t.Fatalf("%s in %s: %v", c.day, c.zone, err)
		}
		if got := r.from.UTC().Format(time.RFC3339); got != c.from {
			t.Errorf("%s in %s begins %s, want %s", c.day, c.zone, got, c.from)
		}
		if got := r.to.UTC().Format(time.RFC3339); got != c.to {
			t.Errorf("%s in %s ends %s, want %s", c.day, c.zone, got, c.to)
		}
	}
}

func TestAnEndIncludesWhatItNames(t *testing.T) {
	for end, last := range map[string]string{
		"2026-01-24":           "2026-01-24T23:59:59.999999999Z",
		"2026-01-24T10:00:00Z": "2026-01-24T10:00:00Z",
		"2026-01-24T10:00":     "2026-01-24T10:00:59Z",
		"1769248800":           "2026-01-24T10:00:00Z",
	} {
		r, err := dateRange("", end, "", time.UTC, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		at, _ := time.Parse(time.RFC3339Nano, last)
		if !at.Before(r.to) {
			t.Errorf("end %s leaves out %s", end, last)
		}
	}
}

func TestGarbageDatesAreNamed(t *testing.T) {
	for _, c := range [][3]string{{"garbage", "", ""}, {"", "2026-13-01", ""}, {"2026-01-02", "2026-01-01", ""}, {"2026-01-02", "", "2026-01-01"}} {
		_, err := dateRange(c[0], c[1], c[2], time.UTC, time.Time{})
		e := asError(err, false)
		if err == nil || e.Code != Invalid || !strings.Contains(e.Message, "date") {
			t.Errorf("%q: got %v, want a sentence about the date", c, err)
		}
	}
	if _, err := ParseZone("Mars/Olympus", time.UTC); err == nil {
		t.Error("a zone that does not exist was taken")
	}
}
