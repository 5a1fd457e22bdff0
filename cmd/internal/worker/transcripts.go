package worker

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"

	"cmem/ingest"
	"cmem/ingest/filter"
	"cmem/ingest/host"
	"cmem/ingest/host/adapter"
	"cmem/ingest/home"
	"cmem/ingest/redact"
	"cmem/ingest/transcript"
	"cmem/replay"
)

// headBytes is how much of a file a host may look at to know its own.
const headBytes = 64 << 10

// openTranscript opens path for a replay: from its beginning, since ids decide
// what is new.
func (n *Node) openTranscript(path, hostName string) (replay.File, error) {
	f, err := transcript.Open(path)
	if err != nil {
		return nil, err
	}
	t, err := transcriptHost(f, hostName)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	settings, err := home.LoadSettings(n.dir, os.Getenv)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	r, problems := redact.New(settings)
	for _, p := range problems {
		n.log.Warn("redaction pattern left out", "err", p)
	}
	size := int64(0)
	if info, err := os.Stat(f.Path); err == nil {
		size = info.Size()
	}
	return &transcriptFile{
		file: f, host: t.Name, size: size,
		to: ingest.NewTranscriber(ingest.TranscriberConfig{
			Host: t, Path: f.Path, Key: n.key, Redactor: r,
			Filter: filter.New(settings, n.dir), SkipTools: settings.SkipTools != nil,
		}),
	}, nil
}

// transcriptHost finds whose transcript it is; a name that was given must be one.
func transcriptHost(f *transcript.File, name string) (adapter.Transcript, error) {
	if name != "" {
		if t, ok := host.Transcript(name); ok {
			return t, nil
		}
		return adapter.Transcript{}, fmt.Errorf("host %q: %w", name, replay.ErrUnknownHost)
	}
	head, err := f.Head(headBytes)
	if err != nil {
		return adapter.Transcript{}, err
	}
	t, ok := host.Detect(f.Path, head)
	if !ok {
		return adapter.Transcript{}, fmt.Errorf("%s: %w", f.Path, replay.ErrUnknownHost)
	}
	return t, nil
}

// transcriptFile is a transcript as replay reads it.
type transcriptFile struct {
	file *transcript.File
	host string
	size int64
	to   *ingest.Transcriber
}

func (t *transcriptFile) Host() string { return t.host }
func (t *transcriptFile) Size() int64  { return t.size }
func (t *transcriptFile) Close() error { return t.file.Close() }

// Items gives what becomes of each value. A body is copied where it is the
// file's own buffer, which the next value overwrites.
func (t *transcriptFile) Items(ctx context.Context) iter.Seq2[replay.Item, error] {
	return func(yield func(replay.Item, error) bool) {
		for v, err := range t.file.Values() {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(replay.Item{}, err)
				return
			}
			if !yield(t.item(v), nil) {
				return
			}
		}
	}
}

func (t *transcriptFile) item(v transcript.Value) replay.Item {
	said := t.to.Value(v)
	if len(said.Envelope.Body) > 0 {
		said.Envelope.Body = append([]byte(nil), said.Envelope.Body...)
	}
	item := replay.Item{Envelope: said.Envelope, Rule: said.Rule, Copied: said.Copied, Redacted: said.Redacted, Offset: v.Next}
	if v.Bad != transcript.OK && v.Bad != transcript.Noise {
		item.Bad = &replay.Bad{
			File: t.file.Path, Offset: v.Offset, Bytes: v.Size, Reason: string(v.Bad),
			Kept: said.Envelope.ID != "",
		}
	}
	return item
}
