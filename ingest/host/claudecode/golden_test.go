package claudecode

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"cmem/streams/event"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares got with testdata/<name>.golden.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := "testdata/" + name + ".golden"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range max(len(gotLines), len(wantLines)) {
		g, w := "(nothing)", "(nothing)"
		if i < len(gotLines) {
			g = gotLines[i]
		}
		if i < len(wantLines) {
			w = wantLines[i]
		}
		if g != w {
			t.Fatalf("%s:%d\n got %s\nwant %s", file, i+1, g, w)
		}
	}
}

// tell writes a fact in one line: what is empty is left out, long texts are cut.
func tell(f event.Fact) string {
	var out strings.Builder
	out.WriteString(string(f.Body.Kind()))
	for _, part := range [][2]string{{"key", strings.TrimPrefix(f.Key, Name+"/")}, {"alt", strings.TrimPrefix(f.Alt, Name+"/")},
		{"session", f.Session}, {"agent", f.Agent}, {"call", strings.TrimPrefix(f.ParentCall, Name+"/")}, {"turn", f.Turn}} {
		if part[1] != "" {
			fmt.Fprintf(&out, " %s=%.60s", part[0], part[1])
		}
	}
	raw, _ := json.Marshal(short(reflect.ValueOf(f.Body)))
	out.WriteString(" ")
	out.Write(raw)
	return out.String()
}

// short copies what is set in a value.
func short(v reflect.Value) any {
	switch v.Kind() {
	case reflect.String:
		if s := v.String(); len(s) > 90 {
			return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(s[:90], ""), len(s))
		}
		return v.String()
	case reflect.Slice:
		list := []any{}
		for i := range v.Len() {
			list = append(list, short(v.Index(i)))
		}
		return list
	case reflect.Pointer:
		return short(v.Elem())
	case reflect.Struct:
		fields := map[string]any{}
		for i := range v.NumField() {
			if !v.Field(i).IsZero() {
				fields[v.Type().Field(i).Name] = short(v.Field(i))
			}
		}
		return fields
	}
	return v.Interface()
}

func tellAll(facts []event.Fact) string {
	var out strings.Builder
	for _, f := range facts {
		out.WriteString(tell(f) + "\n")
	}
	return out.String()
}

func TestHookFacts(t *testing.T) {
	for _, session := range []string{"a-print", "b-interactive", "old-2.1.197", "old-2.0.76", "old-1.0.128"} {
		t.Run(session, func(t *testing.T) {
			golden(t, "hooks-"+session, tellAll(hookFacts(t, testdata+"hooks/claude-code/"+session)))
		})
	}
}

func TestTranscriptFacts(t *testing.T) {
	for _, session := range []string{"b-interactive", "c-fork-setup-image", "old-2.0.76", "old-1.0.128"} {
		t.Run(session, func(t *testing.T) {
			golden(t, "transcript-"+session, tellAll(transcriptFacts(t, transcriptFiles(t, session)...)))
		})
	}
	for _, file := range []string{"g01", "g06", "g09"} {
		t.Run(file, func(t *testing.T) {
			facts := transcriptFacts(t, testdata+"transcripts/claude-code/"+file+"-claude-code.jsonl")
			golden(t, "transcript-"+file, tellAll(facts))
		})
	}
}
