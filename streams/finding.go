package streams

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"cmem/streams/block"
	"cmem/streams/durable"
	"cmem/streams/envelope"
)

// Finding is damage that was found in the log's files, and what became of it. It
// lies in Evidence as finding.json, beside copies of the files as they were.
type Finding struct {
	Found    time.Time `json:"found"`
	Reason   string    `json:"reason"` // when it was looked for
	Server   string    `json:"server"` // version of the store
	Blocks   []string  `json:"blocks"` // names of the files that were not as they ought to be
	Lost     []Lost    `json:"lost"`
	Spoiled  []Lost    `json:"spoiled,omitempty"` // values in parts of which a part is lost
	Cut      int64     `json:"cut"`               // bytes of appends that were never finished, and nothing else
	Mended   bool      `json:"mended"`            // the files were put right; else that is due at the next start
	Position Position  `json:"position"`          // of the log.damaged that tells it; 0: not yet
	Seen     time.Time `json:"seen,omitzero"`     // when a person said that it was read
	Evidence string    `json:"-"`                 // folder
}

// Lost is a run of sequences that hold nothing any more, with the names of what
// was there, as far as anything still tells them.
type Lost struct {
	First Position `json:"first"`
	Last  Position `json:"last"`
	Names []Name   `json:"names,omitempty"`
}

// Name names an envelope that is gone. What is not known is empty.
type Name struct {
	Position Position  `json:"position,omitempty"`
	ID       string    `json:"id,omitempty"`
	Type     string    `json:"type,omitempty"`
	Source   string    `json:"source,omitempty"`
	Session  string    `json:"session,omitempty"`
	Time     time.Time `json:"time,omitzero"`
}

// String is the finding in one sentence.
func (f *Finding) String() string {
	what := fmt.Sprintf("%d damaged block files, %d positions lost", len(f.Blocks), f.Count())
	if n := len(f.Spoiled); n > 0 {
		what += fmt.Sprintf(", %d more values incomplete", n)
	}
	return fmt.Sprintf("%s: %s; copies of the files are in %s", f.Found.Format(time.DateTime), what, f.Evidence)
}

// Count is how many sequences are lost.
func (f *Finding) Count() (n uint64) {
	for _, l := range f.Lost {
		n += uint64(l.Last-l.First) + 1
	}
	return n
}

func (l layout) evidence() string { return filepath.Join(l.dir, "evidence") }

const findingName = "finding.json"

// Findings lists all damage that was ever found in the log's files, oldest first.
func (l *Log) Findings() ([]Finding, error) { return l.layout.findings() }

func (l layout) findings() ([]Finding, error) {
	entries, err := os.ReadDir(l.evidence())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("findings: %w", err)
	}
	var all []Finding
	for _, e := range entries {
		dir := filepath.Join(l.evidence(), e.Name())
		data, err := os.ReadFile(filepath.Join(dir, findingName))
		if errors.Is(err, fs.ErrNotExist) {
			continue // a copy that was not finished; what it is of was not changed
		}
		var f Finding
		if err == nil {
			err = json.Unmarshal(data, &f)
		}
		if err != nil {
			return nil, fmt.Errorf("findings: %s: %w", dir, err)
		}
		f.Evidence = dir
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b Finding) int { return a.Found.Compare(b.Found) })
	return all, nil
}

func (f *Finding) write() error {
	return writeJSON(filepath.Join(f.Evidence, findingName), f)
}

// envelope is how the log itself tells a finding.
func (f *Finding) envelope() (envelope.Envelope, error) {
	body, err := json.Marshal(f)
	return envelope.Envelope{
		ID: "log-damaged/" + filepath.Base(f.Evidence), Type: envelope.LogDamaged, Source: "cmem",
		Time: f.Found, Body: body,
	}, err
}

// recallFindings reads what was found before and just now.
func (l *Log) recallFindings() error {
	all, err := l.layout.findings()
	if err != nil {
		return err
	}
	for _, f := range all {
		if f.Position == 0 && f.Count() > 0 {
			l.find("%s", f.String())
		}
	}
	l.gaps.told = explain(all)
	return nil
}

// TellDamage appends a log.damaged for every finding that has none yet. name, which
// may be nil, says what else is known of a position that is lost.
func (l *Log) TellDamage(ctx context.Context, name func(Position) (Name, bool)) error {
	all, err := l.layout.findings()
	if err != nil {
		return err
	}
	for i := range all {
		f := &all[i]
		if f.Position > 0 || !f.Mended || f.Count() == 0 {
			continue
		}
		durable.Reached("log.damage-told")
		f.complete(name)
		e, err := f.envelope()
		if err != nil {
			return err
		}
		at, err := l.Append(ctx, e)
		if err != nil {
			return fmt.Errorf("tell of damage: %w", err)
		}
		f.Position = at[0]
		if err := f.write(); err != nil {
			return fmt.Errorf("tell of damage: %w", err)
		}
	}
	return nil
}

// SeeDamage notes of every finding that a person has read of it, and says of how
// many that was not noted before.
func (l *Log) SeeDamage(now time.Time) (n int, err error) {
	all, err := l.layout.findings()
	if err != nil {
		return 0, err
	}
	for i := range all {
		f := &all[i]
		if !f.Seen.IsZero() || f.Position == 0 && f.Count() > 0 {
			continue
		}
		f.Seen = now.UTC()
		if err := f.write(); err != nil {
			return n, fmt.Errorf("note that damage was seen: %w", err)
		}
		n++
	}
	return n, nil
}

// maxNamed bounds what one log.damaged names.
const maxNamed = 10_000

// complete adds what name knows of the positions that nothing in the files names.
func (f *Finding) complete(name func(Position) (Name, bool)) {
	if name == nil {
		return
	}
	left := maxNamed
	for i := range f.Lost {
		l := &f.Lost[i]
		for at := l.First; at <= l.Last && left > 0; at++ {
			if n, ok := name(at); ok && !l.names(n) {
				n.Position = at
				l.Names = append(l.Names, n)
				left--
			}
		}
	}
}

// names says whether the name is there already, by id or by place.
func (l *Lost) names(n Name) bool {
	return slices.ContainsFunc(l.Names, func(have Name) bool {
		return have.ID != "" && have.ID == n.ID || have.Position != 0 && have.Position == n.Position
	})
}

// explained says of each sequence whether a finding tells that it is gone.
type explained []Lost

func (e explained) has(sequence uint64) bool {
	return slices.ContainsFunc(e, func(l Lost) bool {
		return uint64(l.First) <= sequence && sequence <= uint64(l.Last)
	})
}

func explain(findings []Finding) (all explained) {
	for _, f := range findings {
		all = append(append(all, f.Lost...), f.Spoiled...)
	}
	return all
}

// nameOf reads what is left of a header.
func nameOf(position Position, h map[string][]string) (n Name, ok bool) {
	e, _ := envelope.FromHeaders(h, nil) // what is left need not be whole
	n = Name{Position: position, ID: e.ID, Type: e.Type, Source: e.Source, Session: e.Subject, Time: e.Time}
	return n, n.ID != ""
}

// lostOf makes of erased sequences what is told of them.
func (s *survey) lostOf(b *surveyed, erased []block.Span, known explained) (all []Lost) {
	for _, span := range erased {
		for _, l := range unexplained(span, known) {
			for _, h := range b.headersIn(l) {
				l.Names = appendName(l.Names, 0, h)
			}
			if l.First == l.Last && len(l.Names) == 1 {
				l.Names[0].Position = l.First
			}
			all = append(all, l)
		}
	}
	return all
}

func appendName(to []Name, at Position, h map[string][]string) []Name {
	if n, ok := nameOf(at, h); ok {
		return append(to, n)
	}
	return to
}

// headersIn are the headers that can be read in damage where l was.
func (b *surveyed) headersIn(l Lost) (all []map[string][]string) {
	for _, d := range b.report.Damage {
		if d.After < uint64(l.First) && (d.Before == 0 || d.Before > uint64(l.Last)) {
			all = append(all, d.Headers...)
		}
	}
	return all
}

// unexplained cuts what earlier findings tell out of a span.
func unexplained(span block.Span, known explained) (all []Lost) {
	for at := span.First; at <= span.Last; at++ {
		if known.has(at) {
			continue
		}
		if n := len(all); n > 0 && uint64(all[n-1].Last)+1 == at {
			all[n-1].Last = Position(at)
		} else {
			all = append(all, Lost{First: Position(at), Last: Position(at)})
		}
	}
	return all
}
