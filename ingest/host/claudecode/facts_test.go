package claudecode

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cmem/ingest/host/adapter"
	"cmem/streams/envelope"
	"cmem/streams/event"
)

const testdata = "../../../testdata/"

// values splits a file as a reader of it must: values, not lines; what cannot
// be read is left out.
func values(t testing.TB, file string) []json.RawMessage {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return split(data)
}

func split(data []byte) []json.RawMessage {
	var all []json.RawMessage
	for line := range bytes.Lines(data) {
		dec := json.NewDecoder(bytes.NewReader(line))
		for {
			var raw json.RawMessage
			if err := dec.Decode(&raw); err == io.EOF || err != nil {
				break
			}
			all = append(all, raw)
		}
	}
	return all
}

// wrap makes the envelope that capture makes of a value.
func wrap(v adapter.Value, raw []byte) envelope.Envelope {
	return envelope.Envelope{
		ID: "claude-code/" + v.Type + "/" + v.ID, Type: envelope.TranscriptValue, Source: Name,
		Subject: v.Session, Time: v.Time, Event: v.Type, Turn: v.Turn, Agent: v.Agent, Body: raw,
	}
}

// transcriptFacts reads files in order into one log: the first envelope of an
// id counts, noise is left out.
func transcriptFacts(t testing.TB, files ...string) []event.Fact {
	t.Helper()
	var facts []event.Fact
	seen := map[string]bool{}
	for _, file := range files {
		r := Transcript().NewReader(file, nil)
		for _, raw := range values(t, file) {
			v := r.Value(raw)
			e := wrap(v, raw)
			if v.Skip != "" || v.ID != "" && seen[e.ID] {
				continue
			}
			seen[e.ID] = true
			facts = append(facts, Decode(e)...)
		}
	}
	return facts
}

// hookFacts reads payloads, named NNN-Event.json, in order.
func hookFacts(t testing.TB, dir string) []event.Fact {
	t.Helper()
	var facts []event.Fact
	for _, file := range glob(t, dir+"/*.json") {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		facts = append(facts, Decode(hookEnvelope(eventOf(file), body))...)
	}
	return facts
}

func eventOf(file string) string {
	_, name, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".json"), "-")
	return name
}

func hookEnvelope(name string, body []byte) envelope.Envelope {
	said := Hook().Identify(name, body)
	source := Name
	if said.Source != "" {
		source = said.Source
	}
	return envelope.Envelope{
		ID: source + "/" + said.Event + "/" + said.ID, Type: envelope.HookReceived, Source: source,
		Subject: said.Session, Event: said.Event, Agent: said.Agent, Body: body,
	}
}

func glob(t testing.TB, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no files for %s: %v", pattern, err)
	}
	slices.Sort(files)
	return files
}

// bodies gives the facts' bodies of one type.
func bodies[B event.Body](facts []event.Fact) []B {
	var all []B
	for _, f := range facts {
		if b, ok := f.Body.(B); ok {
			all = append(all, b)
		}
	}
	return all
}

func payloadFile(t testing.TB, name string) []byte {
	t.Helper()
	body, err := os.ReadFile(testdata + "hooks/claude-code/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return body
}
