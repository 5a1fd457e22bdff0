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
	// Nothing was touched.
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

// Source says what a document holds now. It is called while batches are applied
// and while hits are shown, from more than one goroutine.
type Source interface {
	// Content returns false if there is no such document (any more).
	Content(records.Doc) (Content, bool, error)
}

// Content is a document as it is indexed and shown.
type Content struct {
	records.Doc
	Position               streams.Position
	Time                   time.Time
	Project, Host, Session string
	Type                   string   // observations
	Concepts               []string // observations
	Files                  []string // paths that the Files filter looks at
	Title                  string
	Facts                  []string
	Text                   string
	Paths                  []string // paths whose words are found, weighing least
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

// Query asks for documents. Text is what somebody typed: words, of which all
// must be there; "quoted phrases"; no operators. Filters limit without scoring;
// zero values do not limit, and values of one filter are alternatives.
type Query struct {
	Text     string
	Kinds    []records.DocKind
	Projects []string // keys
	Hosts    []string
	Sessions []string
	Types    []string
	Concepts []string
	Files    []string // a path suffix of whole segments matches
	Folder   bool     // Files name folders: their direct children match
	From, To time.Time
	Sort     Sort
	Offset   int
	Limit    int // 0 is 20
}

// Hit is one document found.
type Hit struct {
	records.Doc
	Position streams.Position
	Score    float64  // comparable within one result only
	Snippet  string   // one line around the words found, "" if the document is gone
	Terms    []string // words of the snippet that matched, as they stand there
}

// Result is a page of hits.
type Result struct {
	Hits  []Hit
	Total int // of all pages
	// Interpreted says in words how Text was read and, if nothing had all the
	// words, what was looked for instead.
	Interpreted string
}
