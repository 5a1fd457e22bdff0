package redact

import (
	"bytes"

	"cmem/ingest/internal/jsontext"
)

// What a JSON value's place says of it: its own name, the name of the array or
// object it stands in, the member "name" beside it, the option before it.

// in is the innermost open object or array, nil at the top.
func (w *walker) in() *bracketed {
	if len(w.open) == 0 {
		return nil
	}
	return &w.open[len(w.open)-1]
}

// begin opens an object or array, which takes over what its own name says.
func (w *walker) begin(array bool) {
	inherit := w.key.secret
	if in := w.in(); in != nil && in.array {
		inherit = in.inherit
	}
	w.open = append(w.open, bracketed{array: array, inherit: inherit})
	w.key = memberKey{}
	w.words = w.words[:0]
}

// member reads a key. In {"password":{"value":"…"}} the inner name says nothing
// and the outer one counts; other inner names, a schema's, are their own.
func (w *walker) member(key []byte) memberKey {
	k := classify(key)
	in := w.in()
	if k.secret == nothing && in.inherit != nothing && (k.pairValue || oneOf(key, innerNames)) {
		k = memberKey{secret: in.inherit}
	}
	return k
}

var innerNames = []string{"values", "plain", "plaintext", "raw", "data", "text", "content", "string", "current", "new", "old", "$value", "#text", "_"}

// secret redacts a string value whose place promises a secret.
func (w *walker) secret(t jsontext.Token, p promise, how style) {
	text, changed := w.clean(t, nil)
	if text == nil {
		text = jsontext.Decode(w.src, t)
	}
	start, stop := secretSpan(text, p, how)
	switch {
	case stop > start:
		w.sum.add(p.kind(), stop-start)
		w.put(t, bytes.Join([][]byte{text[:start], marker(p.kind()), text[stop:]}, nil))
	case changed:
		w.put(t, text)
	}
}

// secretSpan gives what is secret of a whole value.
func secretSpan(text []byte, p promise, how style) (start, stop int) {
	switch p {
	case aCookie, aSetCookie:
		return cookieSpan(text, 0, p)
	case aScheme:
		i := tokenRun(text, 0)
		if next := skipBlanks(text, i); next > i && isScheme(text[:i]) && credential(text[next:], 8) {
			return next, len(text)
		}
		return 0, 0
	}
	if confident(text, p, how) {
		return 0, len(text)
	}
	return 0, 0
}

// number redacts a number whose place promises a password; counts have names
// that end in token, and in pass.
func (w *walker) number(t jsontext.Token) {
	p := w.key.secret
	if in := w.in(); in != nil && in.array {
		p = in.inherit
	}
	least := 4
	switch p {
	case aPassword, aPhrase:
	case aSecret:
		least = 8
	default:
		return
	}
	digits := w.src[t.Start:t.End]
	if len(digits) < least || !digitsOnly(digits) {
		return
	}
	w.sum.add(p.kind(), len(digits))
	w.put(t, marker(p.kind()))
}

// pairAhead bounds the search for the name of a value that stands before it.
const pairAhead = 256

// paired says what the member "name" of the open object says of this "value".
func (w *walker) paired(t jsontext.Token, next jsontext.Scanner) (promise, style) {
	in := w.in()
	p, loud := in.pair, in.shouted
	if p == nothing && t.End-t.Start >= 4 && t.End-t.Start < maxValue {
		name := w.ahead(next, pairAhead, func(k memberKey) bool { return k.pairName },
			func(text []byte) bool { return promiseOf(text) != nothing })
		p, loud = promiseOf(name), shouted(name)
	}
	if loud {
		return p, environs
	}
	return p, quoted
}

// maxWords is how much of an array's words is remembered.
const maxWords = 256

// element redacts a string of an array, which may be a list of arguments.
func (w *walker) element(t jsontext.Token) {
	in := w.in()
	text := jsontext.Decode(w.src, t)
	switch before := in.option; {
	case before != nothing:
		w.secret(t, before, environs)
	case in.inherit != nothing:
		w.secret(t, in.inherit, quoted)
	default:
		w.argument(t, text)
	}
	in.option = nothing
	if name := bytes.TrimLeft(text, "-"); len(name) < len(text) {
		in.option = promiseOf(name)
	} else if p := promiseOf(text); p == aCookie || p == aSetCookie || p == aScheme {
		in.option = p // ["Cookie", "…"]
	}
	w.remember(text)
}

// argument looks at a string together with those before it, as a shell would
// show them: ["curl", "-u", "name:password"].
func (w *walker) argument(t jsontext.Token, text []byte) {
	last := w.words[bytes.LastIndexByte(bytes.TrimSuffix(w.words, []byte(" ")), ' ')+1:]
	if len(w.words) == 0 || len(text) > maxValue || !bytes.HasPrefix(text, []byte("-")) && !bytes.HasPrefix(last, []byte("-")) || bytes.ContainsAny(text, "'\n") {
		w.plain(t)
		return
	}
	line := append(append([]byte(nil), w.words...), '\'')
	from := len(line)
	line = append(append(line, text...), '\'')
	for _, s := range w.find(line) {
		if s.start >= from && s.end <= from+len(text) {
			out := cutOut(text, []span{{s.start - from, s.end - from, s.kind, s.weight}}, w.sum)
			w.put(t, w.text(out, w.nesting, w.sum, nil))
			return
		}
	}
	w.plain(t)
}

func (w *walker) remember(text []byte) {
	if len(text) > 64 || bytes.ContainsAny(text, " '\"\n") {
		text = []byte("_")
	}
	w.words = append(append(w.words, text...), ' ')
	if n := len(w.words) - maxWords; n > 0 {
		w.words = append(w.words[:0], w.words[n:]...)
	}
}
