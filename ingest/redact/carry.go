package redact

import "cmem/ingest/internal/jsontext"

// carry is the user's private region that a text left open, by the form of its
// tags. A message may come as several blocks of text, one object each in one
// list: hosts make them of one prompt, and its region goes on in the next block.
type carry [forms]int

func (p carry) isOpen() bool { return p != carry{} }

// rest gives what of s is not inside the carry, which comes first and may end
// in s; s begins inside.
func (p *carry) rest(s []byte) []byte {
	r := region{own: tag{name: private}}
	for f, n := range p {
		r.depth[private][f] = n
		r.hidden += n
	}
	end, _ := r.end(s, 0)
	*p = r.depth[private]
	return s[end:]
}

// blockTypes are what hosts call a block of text; others of a message's blocks
// (images, tool calls, results with blocks of their own) are not text of it.
var blockTypes = []string{"text", "input_text", "output_text"}

func isBlockType(text []byte) bool { return oneOf(text, blockTypes) }

// blockText redacts the member "text" of an object in a list: with what the blocks
// before it left open.
func (w *walker) blockText(t jsontext.Token, next jsontext.Scanner) {
	list := w.list()
	if list == nil {
		w.plain(t)
		return
	}
	var left carry
	if list.carry.isOpen() && w.isBlock(next) {
		left = list.carry
		inside := jsontext.Decode(w.src, t)
		text := left.rest(inside)
		w.sum.add(tagNames[private], len(inside)-len(text))
		w.put(t, w.text(text, w.nesting, w.sum, &left))
		list.carry = left
		return
	}
	if text, changed := w.clean(t, &left); changed {
		w.put(t, text)
	}
	if left.isOpen() && w.isBlock(next) {
		list.carry = left
	}
}

// list is the array whose element the open object is.
func (w *walker) list() *bracketed {
	if n := len(w.open) - 2; n >= 0 && w.open[n].array {
		return &w.open[n]
	}
	return nil
}

// isBlock looks for the open object's type: before, or behind its text.
func (w *walker) isBlock(next jsontext.Scanner) bool {
	return w.in().block || w.ahead(next, lookAhead, func(k memberKey) bool { return k.media }, isBlockType) != nil
}
