package claudecode

import (
	"testing"

	"cmem/streams/envelope"
)

// fixtures gives the envelopes of every fixture that would be in the log.
func fixtures(b *testing.B) (all []envelope.Envelope, bytes int64) {
	for _, file := range glob(b, testdata+"transcripts/claude-code/*.jsonl") {
		r := Transcript().NewReader(file, nil)
		for _, raw := range values(b, file) {
			if v := r.Value(raw); v.Skip == "" {
				all = append(all, wrap(v, raw))
				bytes += int64(len(raw))
			}
		}
	}
	return all, bytes
}

func perEvent(b *testing.B, events int) {
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(events), "µs/event")
}

func BenchmarkDecode(b *testing.B) {
	all, bytes := fixtures(b)
	b.SetBytes(bytes)
	b.ReportAllocs()
	for b.Loop() {
		for _, e := range all {
			Decode(e)
		}
	}
	perEvent(b, len(all))
}

func BenchmarkReaderValue(b *testing.B) {
	all, bytes := fixtures(b)
	b.SetBytes(bytes)
	for b.Loop() {
		r := Transcript().NewReader("g.jsonl", nil)
		for _, e := range all {
			r.Value(e.Body)
		}
	}
	perEvent(b, len(all))
}

func BenchmarkNormal(b *testing.B) {
	all, bytes := fixtures(b)
	b.SetBytes(bytes)
	for b.Loop() {
		for _, e := range all {
			normal(e.Body)
		}
	}
	perEvent(b, len(all))
}

func BenchmarkIdentify(b *testing.B) {
	body := payloadFile(b, "a-print/047-PostToolUse.json")
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		identify("PostToolUse", body)
	}
}
