package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"

	"cmem/ingest"
	"cmem/ingest/filter"
	"cmem/ingest/host"
	"cmem/ingest/host/adapter"
	"cmem/ingest/identity"
	"cmem/ingest/redact"
	"cmem/ingest/transcript"
	"cmem/streams/envelope"
)

// detectBytes is how much of a file's head is shown to the hosts.
const detectBytes = 64 << 10

// Files opens transcripts; all but SkipTools are required.
type Files struct {
	Key      identity.Key
	Redactor *redact.Redactor
	Filter   *filter.Filter
	// SkipTools says that the user chose the tools to leave out.
	SkipTools bool
}

// item is one value of a transcript as it goes into the log, or why it does not.
type item struct {
	ingest.Transcribed
	bad  *Bad  // no value
	next int64 // where reading goes on after it
}

// file is one open transcript.
type file struct {
	source *transcript.File
	host   adapter.Transcript
	scribe *ingest.Transcriber
	size   int64 // as it is on the disk
}

// open opens the transcript at path; name "" looks at the file. ErrUnknownHost
// if that tells nothing.
func (o Files) open(path, name string) (*file, error) {
	source, err := transcript.Open(path)
	if err != nil {
		return nil, err
	}
	f := &file{source: source}
	if f.host, err = o.hostOf(source, name); err != nil {
		return nil, errors.Join(err, source.Close())
	}
	f.scribe = ingest.NewTranscriber(ingest.TranscriberConfig{
		Host: f.host, Path: source.Path, Key: o.Key, Redactor: o.Redactor, Filter: o.Filter, SkipTools: o.SkipTools,
	})
	if info, err := os.Stat(source.Path); err == nil {
		f.size = info.Size()
	}
	return f, nil
}

func (o Files) hostOf(source *transcript.File, name string) (adapter.Transcript, error) {
	if name != "" {
		h, ok := host.Transcript(name)
		if !ok {
			return h, fmt.Errorf("%w: no host is called %q", ErrUnknownHost, name)
		}
		return h, nil
	}
	head, err := source.Head(detectBytes)
	if err != nil {
		return adapter.Transcript{}, err
	}
	h, ok := host.Detect(source.Path, head)
	if !ok {
		return h, fmt.Errorf("%w: %s", ErrUnknownHost, source.Path)
	}
	return h, nil
}

// items gives the values in order. An item's body is good until the next one.
func (f *file) items(ctx context.Context) iter.Seq2[item, error] {
	return func(yield func(item, error) bool) {
		for v, err := range f.source.Values() {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(item{}, err)
				return
			}
			i := item{Transcribed: f.scribe.Value(v), next: v.Next}
			if v.Bad != transcript.OK && v.Bad != transcript.Noise {
				i.bad = &Bad{File: filepath.Base(f.source.Path), Offset: v.Offset, Bytes: v.Size, Reason: string(v.Bad), Kept: i.Envelope.ID != ""}
			}
			if !yield(i, nil) {
				return
			}
		}
	}
}

// kept is an envelope that outlives the value it was made of.
func kept(e envelope.Envelope) envelope.Envelope {
	e.Body = bytes.Clone(e.Body)
	return e
}
