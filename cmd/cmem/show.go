package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// first is the order in which fields are shown; the rest follows by name.
var first = []string{
	"id", "type", "title", "subtitle", "narrative", "facts", "request", "investigated", "learned", "completed", "next_steps",
	"prompt_text", "text", "project", "host", "session_id", "content_session_id", "created_at",
}

// hidden are fields that only machines read.
var hidden = []string{"memory_session_id", "merged_into_project", "platform_source", "created_at_epoch", "project_key", "session_db_id", "notes"}

// showRow writes an answer's fields, one or more lines each.
func (a *app) showRow(row map[string]any) {
	names := slices.DeleteFunc(slices.Clone(first), func(n string) bool { _, ok := row[n]; return !ok })
	for _, n := range slices.Sorted(maps.Keys(row)) {
		if !slices.Contains(first, n) && !slices.Contains(hidden, n) {
			names = append(names, n)
		}
	}
	for _, n := range names {
		a.showField(n, row[n])
	}
}

func (a *app) showField(name string, v any) {
	label := strings.ReplaceAll(name, "_", " ")
	switch v := v.(type) {
	case nil:
	case string:
		var list []string
		if strings.HasPrefix(v, "[") && json.Unmarshal([]byte(v), &list) == nil {
			a.showList(label, list)
		} else if v != "" {
			a.say("%-14s %s", label, strings.ReplaceAll(v, "\n", "\n"+strings.Repeat(" ", 15)))
		}
	case float64:
		a.say("%-14s %.0f", label, v)
	case []any:
		for _, one := range v {
			a.showItem(label, one)
		}
	case map[string]any:
		a.showItem(label, v)
	default:
		a.say("%-14s %v", label, v)
	}
}

func (a *app) showList(label string, list []string) {
	for _, one := range list {
		a.say("%-14s %s", label, one)
		label = ""
	}
}

// showItem writes an inner object as one line.
func (a *app) showItem(label string, v any) {
	m, ok := v.(map[string]any)
	if !ok {
		a.say("%-14s %v", label, v)
		return
	}
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		switch x := m[k].(type) {
		case nil, []any, map[string]any:
		case float64:
			parts = append(parts, fmt.Sprintf("%s=%.0f", k, x))
		case string:
			if x != "" {
				parts = append(parts, fmt.Sprintf("%s=%s", k, strings.Join(strings.Fields(x), " ")))
			}
		default:
			parts = append(parts, fmt.Sprintf("%s=%v", k, x))
		}
	}
	a.say("%-14s %s", label, strings.Join(parts, " "))
}
