// Package host is the table of hosts.
//
// It holds functions and no data: the hook publisher asks only for Hook, so the
// linker leaves out the transcript readers and decoders it does not use. A new
// host is one package beside claudecode and one line in each function here.
package host

import (
	"cmem/ingest/host/adapter"
	"cmem/ingest/host/claudecode"
	"cmem/ingest/host/codex"
)

// Names gives the adapters' names, sorted.
func Names() []string { return []string{claudecode.Name, codex.Name} }

// Hook gives the live side of a host.
func Hook(name string) (adapter.Hook, bool) {
	switch name {
	case claudecode.Name:
		return claudecode.Hook(), true
	case codex.Name:
		return codex.Hook(), true
	}
	return adapter.Hook{}, false
}

// Transcript gives the file side of a host.
func Transcript(name string) (adapter.Transcript, bool) {
	switch name {
	case claudecode.Name:
		return claudecode.Transcript(), true
	case codex.Name:
		return codex.Transcript(), true
	}
	return adapter.Transcript{}, false
}

// Decode gives the decoder of a host's envelopes.
func Decode(name string) (adapter.Decode, bool) {
	switch name {
	case claudecode.Name:
		return claudecode.Decode, true
	case codex.Name:
		return codex.Decode, true
	}
	return nil, false
}

// Transcripts gives the file side of every host, sorted by name.
func Transcripts() []adapter.Transcript {
	var all []adapter.Transcript
	for _, name := range Names() {
		if t, ok := Transcript(name); ok {
			all = append(all, t)
		}
	}
	return all
}

// Detect finds the host whose transcript path is, from its first 64 KiB.
func Detect(path string, head []byte) (adapter.Transcript, bool) {
	for _, t := range Transcripts() {
		if t.Detect(path, head) {
			return t, true
		}
	}
	return adapter.Transcript{}, false
}
