// Package search is the full-text read model: it finds prompts, texts of the
// agent, observations, summaries and the tool uses of a turn by their words.
//
// It promises that a query is never an error because of what somebody typed;
// that a hit names a document records holds, or held a moment ago; and that the
// documents and the checkpoint they reach move together, so that a crash leaves
// an index that is behind and never one that is wrong. Lists without words
// ("the newest of a project") are records' business: see ErrNoText.
//
// Its bytes, under one directory of its own:
//
//	search.json   what made it, and which folder is the store; appears whole
//	lock          held while the index is open
//	store-*/      a scorch index (root.bolt and .zap segments)
//
// The store has a name of its own so that a directory that was renamed while
// open, as a rebuild does, is never written to by the one that takes its place.
//
// In the index one document has the id "<kind letter><records ID>" and three
// fields. Nothing is stored of a document; its words are read from Source again
// when a hit is shown.
//
//	t   every word, with positions; how much a word weighs (title, facts,
//	    text, paths) is its frequency, so one look-up serves all of them
//	f   filters: kind, project, host, session, type, concepts, files
//	o   a doc value: position, time and a hash of the content
//
//	internal "checkpoint"   streams.Checkpoint as JSON, in each batch
package search

import (
	"errors"
	"log/slog"
	"time"

	"cmem/projections/records"
	"cmem/streams"
)

// What Open and Query can say; compare with errors.Is.
var (
	// ErrNoText: the query has no word to look for. Ask records for lists.
	ErrNoText = errors.New("search: the query has no words")
	// ErrLocked: another process holds the index. Nothing was touched.
	ErrLocked = errors.New("search: the index is held by another process")
	// ErrForeign: the directory holds something that is no search index.
	// Nothing was touched; build a new one beside it, which keeps this one.
	ErrForeign = errors.New("search: the directory is not a search index")
	// ErrVersion: the index was made by another version, older or newer, of
	// this package or of what feeds it. Build a new one beside it.
	ErrVersion = errors.New("search: the index was made by another version")
	// ErrOtherLog: the index was made from another log. Build a new one.
	ErrOtherLog = errors.New("search: the index belongs to another log")
	// ErrDamaged: the files cannot be used. Build a new one beside them.
	ErrDamaged = errors.New("search: the index is damaged")
	// ErrClosed: the index was closed.
	ErrClosed = errors.New("search: the index is closed")
)

// Source says what a document holds now; *records.Store is one. It is called
// while batches are applied and while snippets are made, from more than one
// goroutine.
type Source interface {
	// Document returns false if there is no such document (any more).
	Document(records.Doc) (records.Document, bool, error)
}

// Config says what an index is made from.
type Config struct {
	Source Source // required
	// Version names what decides the contents beside this package (decoders,
	// rules, records' schema). An index of another version is ErrVersion.
	Version string
	// Log is the identity of the log; "" accepts any. An index that has a
	// checkpoint of another log is ErrOtherLog.
	Log    string
	Logger *slog.Logger // nil: silent
}

// Sort is the order of hits.
type Sort string

// The orders. Equal scores are newest first; dates are log positions.
const (
	Relevance Sort = ""
	DateDesc  Sort = "date_desc"
	DateAsc   Sort = "date_asc"
)

// Query asks for documents. Text is what somebody typed: words, all of which
// should be there, and "quoted phrases". There are no operators: AND, OR, NOT and
// signs are read as words or not at all, and a leading minus does not exclude, so
// that flags (--error-on-warnings) and numbers can be looked for as they are
// written. Filters limit without scoring; zero values do not limit, and the
// values of one filter are alternatives.
type Query struct {
	Text     string
	Kinds    []records.DocKind
	Projects []string // keys
	Hosts    []string
	Sessions []string
	Types    []string
	Concepts []string
	Files    []string  // a path suffix of whole segments matches; the last 8 count
	Folder   bool      // Files name folders: their direct children match
	From, To time.Time // From ≤ t < To, to the millisecond; what has no time is in no range
	Sort     Sort
	Offset   int
	Limit    int  // 0 is DefaultLimit
	Snippets bool // read the hits' texts and cut a line from each
}

// DefaultLimit is how many hits a page has if the query does not say.
const DefaultLimit = 20

// Hit is one document found.
type Hit struct {
	records.Doc
	Position streams.Position
	Time     time.Time // to the millisecond; zero where none is known
	Score    float64   // comparable within one result only
	Snippet  string    // one line around the words found, "" if not asked for
	Terms    []string  // what matched in the snippet, as it stands there
}

// Result is a page of hits.
type Result struct {
	Hits  []Hit
	Total int // of all pages
	// Interpreted says in words how Text was read and, if nothing had all the
	// words, what was looked for instead.
	Interpreted string
}
