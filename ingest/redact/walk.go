package redact

import (
	"bytes"
	"math"

	"cmem/ingest/internal/jsontext"
)

// walker goes through one JSON value and copies it only from the first change on.
type walker struct {
	*Redactor
	sum     *tally
	nesting int

	src    []byte
	out    []byte
	copied int // src up to here is in out
	open   []bracketed
	key    memberKey
	words  []byte // of the innermost array, see element
}

// bracketed is what is known of an open object or array.
type bracketed struct {
	media   int32 // where an object's media type stands
	array   bool
	block   bool    // an object's type is that of a block of text
	carry   carry   // what the blocks of an array left open
	inherit promise // what the name of the whole says of values inside
	pair    promise // what the member "name" says of the member "value"
	option  promise // what an array's last string says of the next
	shouted bool    // the name behind pair or option is a setting's
}

// memberKey is what the key just read says of its value.
type memberKey struct {
	media, data, text   bool // names a type; names base64 bytes; names a block's text
	pairName, pairValue bool // "name", "value"
	secret              promise
}

// walk gives the redacted value; ok is false if src is not one JSON value.
func (w *walker) walk(src []byte) (out []byte, ok bool) {
	w.src = src
	if bytes.HasPrefix(src, []byte(jsontext.BOM)) {
		w.copied = len(jsontext.BOM)
	}
	s := jsontext.Scanner{Src: src}
	for {
		t, err := s.Next()
		if err != nil {
			return nil, false
		}
		switch t.Kind {
		case jsontext.EOF:
			return w.finish(), true
		case jsontext.BeginObject, jsontext.BeginArray:
			w.begin(t.Kind == jsontext.BeginArray)
		case jsontext.EndObject, jsontext.EndArray:
			w.open = w.open[:len(w.open)-1]
			w.words = w.words[:0]
		case jsontext.Literal:
			w.number(t)
			w.key = memberKey{}
		case jsontext.Key:
			w.key = w.member(jsontext.Decode(src, t))
			w.plain(t)
		case jsontext.String:
			w.value(t, s)
			w.key = memberKey{}
		}
	}
}

func (w *walker) finish() []byte {
	if w.copied == 0 {
		return w.src
	}
	return append(w.out, w.src[w.copied:]...)
}

func (w *walker) put(t jsontext.Token, text []byte) {
	w.out = append(w.out, w.src[w.copied:t.Start]...)
	w.out = jsontext.Quote(w.out, text)
	w.copied = t.End
}

// plain redacts a key, or a string whose key says nothing.
func (w *walker) plain(t jsontext.Token) {
	if text, changed := w.clean(t, nil); changed {
		w.put(t, text)
	}
}

// clean gives a string's text without what must not be kept. changed says that
// the string cannot stay as it stands; else text may be nil. left: see removeTags.
func (w *walker) clean(t jsontext.Token, left *carry) (text []byte, changed bool) {
	sound := jsontext.Sound(w.src, t)
	hidden := t.Marks&jsontext.Unicode != 0
	if sound && !hidden && len(w.user) == 0 && scan(w.src[t.Start+1:t.End-1]) == 0 {
		return nil, false
	}
	before := w.sum.total()
	text = w.text(jsontext.Decode(w.src, t), w.nesting, w.sum, left)
	return text, !sound || w.sum.total() != before
}

func (t tally) total() int {
	n := 0
	for _, r := range t {
		n += r.Bytes
	}
	return n
}

// value redacts a string value. next is the scanner behind it, by value: it may
// look ahead.
func (w *walker) value(t jsontext.Token, next jsontext.Scanner) {
	switch k := w.key; {
	case k.media:
		kind := jsontext.Decode(w.src, t)
		if isMediaType(kind) && t.Start < math.MaxInt32 {
			w.in().media = int32(t.Start)
		}
		w.in().block = w.in().block || isBlockType(kind)
	case k.data:
		text := jsontext.Decode(w.src, t)
		if note, kind := mediaNote(text, func() []byte { return w.mediaType(next) }); note != nil {
			w.sum.add(kind, len(text))
			w.put(t, note)
			return
		}
	case k.pairName:
		in := w.in()
		name := jsontext.Decode(w.src, t)
		in.pair, in.shouted = promiseOf(name), shouted(name)
	case k.pairValue:
		if p, how := w.paired(t, next); p != nothing {
			w.secret(t, p, how)
			return
		}
	case k.secret != nothing:
		w.secret(t, k.secret, quoted)
		return
	case k.text:
		w.blockText(t, next)
		return
	case w.in() != nil && w.in().array:
		w.element(t)
		return
	}
	w.plain(t)
}

// lookAhead bounds the search for a media type behind its bytes.
const lookAhead = 1 << 10

// mediaType finds the media type among the direct members of the open object:
// those read already, or those within the next KiB.
func (w *walker) mediaType(next jsontext.Scanner) []byte {
	if at := w.in().media; at != 0 {
		again := jsontext.Scanner{Src: w.src[at:]}
		if t, err := again.Next(); err == nil {
			return jsontext.Decode(again.Src, t)
		}
	}
	return w.ahead(next, lookAhead, func(k memberKey) bool { return k.media }, isMediaType)
}

// ahead finds a string among the members of the open object that follow within
// limit bytes, by its key and by what it is.
func (w *walker) ahead(next jsontext.Scanner, limit int, key func(memberKey) bool, is func([]byte) bool) []byte {
	depth, named, end := next.Depth(), false, -1
	for {
		t, err := next.Next()
		if err != nil || t.Kind == jsontext.EOF || next.Depth() < depth {
			return nil
		}
		if end < 0 {
			end = t.Start + limit
		}
		if t.End > end {
			return nil
		}
		if next.Depth() > depth {
			named = false
			continue
		}
		if t.Kind == jsontext.Key {
			named = key(classify(jsontext.Decode(w.src, t)))
			continue
		}
		if named && t.Kind == jsontext.String {
			if text := jsontext.Decode(w.src, t); is(text) {
				return text
			}
		}
		named = false
	}
}

func classify(key []byte) (k memberKey) {
	switch string(key) {
	case "type", "media_type", "mediaType", "mime_type", "mimeType", "mime":
		k.media = true
	case "data", "base64":
		k.data = true
	case "text":
		k.text = true
	default:
		k.pairName, k.pairValue = oneOf(key, pairNames), oneOf(key, pairValues)
		k.secret = promiseOf(key)
	}
	return k
}
