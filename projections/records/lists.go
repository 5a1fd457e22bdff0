package records

import (
	"bytes"
	"encoding/binary"
	"math"
	"path"
	"slices"
	"strings"

	bolt "go.etcd.io/bbolt"
)

// source is how one kind of document is listed.
type source[V, T any] struct {
	kind   kind
	bucket []byte
	read   func(tx *bolt.Tx, id uint64) (*V, error)
	about  func(*V) about
	show   func(*reader, *V) (T, error)
	// ofTurn gives the ids that a turn holds, for lists of one session.
	ofTurn func(*turn) []uint64
}

// about is what filters look at.
type about struct {
	listing  *listing
	session  uint64
	typ      string
	concepts []string
	files    []string
}

func newSource[V, T any, P interface {
	*V
	stored
}](k kind, bucket []byte, about func(*V) about, show func(*reader, *V) (T, error), ofTurn func(*turn) []uint64) source[V, T] {
	read := func(tx *bolt.Tx, id uint64) (*V, error) { return load[V, P](tx, bucket, id) }
	return source[V, T]{kind: k, bucket: bucket, read: read, about: about, show: show, ofTurn: ofTurn}
}

func sessionSource() source[session, Session] {
	return newSource(kindSession, bSessions,
		func(s *session) about { return about{listing: &s.listing, session: s.no} }, (*reader).showSession, nil)
}

func promptSource() source[prompt, Prompt] {
	return newSource(kindPrompt, bPrompts,
		func(p *prompt) about { return about{listing: &p.listing, session: p.session} }, (*reader).showPrompt,
		func(t *turn) []uint64 { return t.prompts })
}

func textSource() source[text, Text] {
	return newSource(kindText, bTexts,
		func(x *text) about { return about{listing: &x.listing, session: x.session} }, (*reader).showText,
		func(t *turn) []uint64 { return t.stepIDs(true) })
}

func toolSource() source[tool, ToolUse] {
	return newSource(kindTool, bTools,
		func(u *tool) about {
			return about{listing: &u.listing, session: u.session, files: append(slices.Clone(u.tool.Reads), u.tool.Writes...)}
		}, (*reader).showTool,
		func(t *turn) []uint64 { return t.stepIDs(false) })
}

func turnSource() source[turn, Turn] {
	return newSource(kindTurn, bTurns,
		func(t *turn) about { return about{listing: &t.listing, session: t.session} }, (*reader).showTurn,
		func(t *turn) []uint64 { return []uint64{t.id} })
}

func observationSource() source[observation, Observation] {
	return newSource(kindObservation, bObservations,
		func(o *observation) about {
			return about{
				listing: &o.listing, session: o.session, typ: o.Type, concepts: o.Concepts,
				files: append(slices.Clone(o.FilesRead), o.FilesModified...),
			}
		}, (*reader).showObservation, (*turn).observationIDs)
}

func summarySource() source[summary, Summary] {
	return newSource(kindSummary, bSummaries,
		func(m *summary) about {
			return about{listing: &m.listing, session: m.session, files: append(slices.Clone(m.FilesRead), m.FilesModified...)}
		}, (*reader).showSummary,
		func(t *turn) []uint64 {
			if !t.summary {
				return nil
			}
			return []uint64{base(t)}
		})
}

func (t *turn) stepIDs(text bool) (ids []uint64) {
	for _, s := range t.steps {
		if s.text == text {
			ids = append(ids, s.id)
		}
	}
	return ids
}

func (t *turn) observationIDs() (ids []uint64) {
	for i := range t.made {
		ids = append(ids, base(t)+i)
	}
	return ids
}

// Sessions lists sessions, the newest first (by when the log first told of them).
func (s *Store) Sessions(f Filter) ([]Session, error) { return listOf(s, sessionSource(), f) }

// Prompts lists prompts, the newest first.
func (s *Store) Prompts(f Filter) ([]Prompt, error) { return listOf(s, promptSource(), f) }

// Texts lists texts of the agent, the newest first.
func (s *Store) Texts(f Filter) ([]Text, error) { return listOf(s, textSource(), f) }

// ToolUses lists tool uses, the newest first. Containers are listed too.
func (s *Store) ToolUses(f Filter) ([]ToolUse, error) { return listOf(s, toolSource(), f) }

// Turns lists turns, the newest first.
func (s *Store) Turns(f Filter) ([]Turn, error) { return listOf(s, turnSource(), f) }

// Observations lists observations, the newest first. Files and Concepts are
// looked up, not scanned for.
func (s *Store) Observations(f Filter) ([]Observation, error) {
	return listOf(s, observationSource(), f)
}

// Summaries lists summaries, the newest first; of each session one is current,
// the others are Superseded. Files are looked up.
func (s *Store) Summaries(f Filter) ([]Summary, error) { return listOf(s, summarySource(), f) }

// listOf gives the page of f. Order is the log's; times only limit.
func listOf[V, T any](s *Store, src source[V, T], f Filter) (out []T, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		r := newReader(tx)
		ids, err := candidates(r, src, f)
		if err != nil {
			return err
		}
		skip := max(f.Offset, 0)
		for c, ok := ids.next(); ok; c, ok = ids.next() {
			if c.at != untold && !inTime(c.at, f) {
				continue
			}
			v, fits, err := fitting(r, src, c.id, f)
			if err != nil {
				return err
			}
			if !fits {
				continue
			}
			if skip > 0 {
				skip--
				continue
			}
			doc, err := src.show(r, v)
			if err != nil {
				return err
			}
			if out = append(out, doc); f.Limit > 0 && len(out) >= f.Limit {
				return nil
			}
		}
		return nil
	})
	return out, err
}

func inTime(at int64, f Filter) bool {
	return (f.From.IsZero() || at >= nanos(f.From) && at != 0) && (f.To.IsZero() || at < nanos(f.To) && at != 0)
}

// fitting reads a document and says whether f lets it through.
func fitting[V, T any](r *reader, src source[V, T], id uint64, f Filter) (*V, bool, error) {
	v, err := src.read(r.tx, id)
	if v == nil || err != nil {
		return nil, false, err
	}
	a := src.about(v)
	if a.listing.project == 0 || !inTime(a.listing.listedAt, f) {
		return nil, false, nil
	}
	s, err := r.session(a.session)
	if err != nil {
		return nil, false, err
	}
	ok := (f.Host == "" || f.Host == s.host) && (f.Session == "" || f.Session == s.key) &&
		anyOf(f.Types, a.typ) && anyIn(f.Concepts, a.concepts) && anyFile(f, a.files)
	if ok && len(f.Projects) > 0 {
		key, err := r.project(a.listing.project - 1)
		if err != nil {
			return nil, false, err
		}
		ok = slices.Contains(f.Projects, key)
	}
	return v, ok, nil
}

func anyOf(wanted []string, have string) bool {
	return len(wanted) == 0 || slices.Contains(wanted, have)
}

func anyIn(wanted, have []string) bool {
	return len(wanted) == 0 || slices.ContainsFunc(have, func(s string) bool { return slices.Contains(wanted, s) })
}

func anyFile(f Filter, have []string) bool {
	if len(f.Files) == 0 {
		return true
	}
	for _, want := range f.Files {
		want = strings.Trim(strings.TrimPrefix(slashed(want), "./"), "/")
		for _, file := range have {
			file = slashed(file)
			if f.Folder {
				file = strings.TrimSuffix(path.Dir(file), "/")
			}
			if file = strings.TrimPrefix(file, "/"); file == want || strings.HasSuffix(file, "/"+want) {
				return true
			}
		}
	}
	return false
}

// candidate is a document that may be in a list, and its time.
type candidate struct {
	id uint64
	at int64
}

// walk gives candidates in order.
type walk interface{ next() (candidate, bool) }

// candidates chooses the shortest way to f's documents: a session's own, those
// about a file or concept, or the projects' lists merged.
func candidates[V, T any](r *reader, src source[V, T], f Filter) (walk, error) {
	projects, err := r.numbers(f.Projects)
	if err != nil {
		return nil, err
	}
	var ids []uint64
	switch k := src.kind; {
	case f.Session != "":
		if ids, err = ofSession(r, src, f); err != nil {
			return nil, err
		}
	case len(f.Files) > 0 && (k == kindObservation || k == kindSummary):
		ids = r.aboutFiles(k, projects, f)
	case len(f.Concepts) > 0 && k == kindObservation:
		for _, c := range f.Concepts {
			ids = append(ids, r.aboutIDs(byConcept, projects, c, k)...)
		}
	default:
		return newMerge(r.tx, []kind{k}, projects, f.Ascending), nil
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if !f.Ascending {
		slices.Reverse(ids)
	}
	return (*given)(&ids), nil
}

// untold is the time of a candidate that only its document tells.
const untold = math.MinInt64

// given walks ids that were looked up.
type given []uint64

func (g *given) next() (candidate, bool) {
	if len(*g) == 0 {
		return candidate{}, false
	}
	id := (*g)[0]
	*g = (*g)[1:]
	return candidate{id, untold}, true
}

// numbers are those of the keys; all projects if there are none. A key nobody
// has gives no number, and so an empty list.
func (r *reader) numbers(keys []string) ([]uint64, error) {
	if len(keys) == 0 {
		t, err := readTotals(r.tx)
		if err != nil {
			return nil, err
		}
		all := make([]uint64, t.Projects+1)
		for i := range all {
			all[i] = uint64(i)
		}
		return all, nil
	}
	var out []uint64
	for _, k := range keys {
		if k == "" {
			out = append(out, 0)
			continue
		}
		no, err := r.named(projectName(k))
		if err != nil {
			return nil, err
		}
		if no != 0 {
			out = append(out, no)
		}
	}
	return out, nil
}

func (r *reader) named(name hash) (uint64, error) {
	return referred(look(r.tx.Bucket(freshOf(pNames)), r.tx.Bucket([]byte(pNames)), name))
}

// sessionNumber finds a session by the host's id; 0 if there is none.
func (r *reader) sessionNumber(host, key string) (uint64, error) {
	return r.named(sessionName(host, key))
}

func ofSession[V, T any](r *reader, src source[V, T], f Filter) ([]uint64, error) {
	no, err := r.sessionNumber(f.Host, f.Session)
	if no == 0 || err != nil {
		return nil, err
	}
	if src.kind == kindSession {
		return []uint64{no}, nil
	}
	s, err := r.session(no)
	if err != nil {
		return nil, err
	}
	var ids []uint64
	if src.kind == kindObservation {
		ids = slices.Clone(s.notes)
	}
	for _, id := range turnsOf(r.tx, no) {
		t, err := load[turn](r.tx, bTurns, id)
		if err != nil {
			return nil, err
		}
		if t != nil {
			ids = append(ids, src.ofTurn(t)...)
		}
	}
	return ids, nil
}

func (r *reader) aboutFiles(k kind, projects []uint64, f Filter) (ids []uint64) {
	for _, file := range f.Files {
		file = strings.TrimRight(slashed(file), "/")
		what := byte(byFile)
		if f.Folder {
			what = byFolder
		}
		ids = append(ids, r.aboutIDs(what, projects, path.Base(file), k)...)
	}
	return ids
}

func (r *reader) aboutIDs(what byte, projects []uint64, name string, k kind) (ids []uint64) {
	c := r.tx.Bucket(bLists).Cursor()
	for _, no := range projects {
		prefix := aboutKey(what, no, name, k, 0)
		prefix = prefix[:len(prefix)-8]
		for key, _ := c.Seek(prefix); bytes.HasPrefix(key, prefix); key, _ = c.Next() {
			ids = append(ids, binary.BigEndian.Uint64(key[len(prefix):]))
		}
	}
	return ids
}
