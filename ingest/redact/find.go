package redact

import "sync"

// findings say which steps a text needs at all.
type findings byte

const (
	findTag    findings = 1 << iota // a tag's name, or a character without width
	findEscape                      // \u \x \/ as text: JSON in a string
	findMedia                       // ;base64,
	findSecret                      // a word or prefix of a secret
)

// finder looks for all literals at once (Aho and Corasick's automaton, made
// deterministic, letters folded): one table look-up a byte. It is built at the
// first use, in about a tenth of a millisecond.
type finder struct {
	class [256]uint8 // byte → column
	width int
	next  []uint16 // state × column → state
	found []findings
	ends  [][]uint16 // state → literals that end here, longest first
	table []literal
}

type literal struct {
	text string
	find findings
	rule *secretRule // findSecret
}

var theFinder = sync.OnceValue(func() *finder { return newFinder(literals()) })

// scan tells what is to be found in s.
func scan(s []byte) findings {
	f := theFinder()
	var seen findings
	state := 0
	for _, c := range s {
		state = int(f.next[state*f.width+int(f.class[c])])
		seen |= f.found[state]
	}
	return seen
}

// each calls yield for every literal that ends at a byte of s, in order.
func (f *finder) each(s []byte, yield func(l *literal, end int)) {
	state := 0
	for i, c := range s {
		state = int(f.next[state*f.width+int(f.class[c])])
		if f.found[state] == 0 {
			continue
		}
		for _, l := range f.ends[state] {
			yield(&f.table[l], i+1)
		}
	}
}

func newFinder(table []literal) *finder {
	f := &finder{table: table, width: 1}
	for _, l := range table {
		for i := range len(l.text) {
			if c := lower(l.text[i]); f.class[c] == 0 {
				f.class[c] = uint8(f.width)
				f.width++
			}
		}
	}
	for c := 'A'; c <= 'Z'; c++ {
		f.class[c] = f.class[c|0x20]
	}
	f.trie()
	f.complete()
	return f
}

func (f *finder) state() uint16 {
	f.next = append(f.next, make([]uint16, f.width)...)
	f.found = append(f.found, 0)
	f.ends = append(f.ends, nil)
	return uint16(len(f.found) - 1)
}

func (f *finder) trie() {
	f.state()
	for id, l := range f.table {
		at := 0
		for i := range len(l.text) {
			cell := at*f.width + int(f.class[l.text[i]])
			if f.next[cell] == 0 {
				to := f.state()
				f.next[cell] = to
			}
			at = int(f.next[cell])
		}
		f.found[at] |= l.find
		f.ends[at] = append(f.ends[at], uint16(id))
	}
}

// complete fills in, breadth first, where each state goes on a byte that does
// not go on with its literal.
func (f *finder) complete() {
	fail := make([]uint16, len(f.found))
	var queue []uint16
	for column := range f.width {
		if to := f.next[column]; to != 0 {
			queue = append(queue, to)
		}
	}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		back := fail[at]
		f.found[at] |= f.found[back]
		f.ends[at] = append(f.ends[at], f.ends[back]...)
		for column := range f.width {
			cell := int(at)*f.width + column
			other := f.next[int(back)*f.width+column]
			if to := f.next[cell]; to != 0 {
				fail[to] = other
				queue = append(queue, to)
			} else {
				f.next[cell] = other
			}
		}
	}
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c | 0x20
	}
	return c
}

// literals lists everything looked for.
func literals() []literal {
	var all []literal
	for _, name := range tagNames {
		all = append(all, literal{text: name, find: findTag})
	}
	all = append(all, literal{text: "system_reminder", find: findTag}, literal{text: "system_instruction", find: findTag},
		literal{text: "claude_mem_context", find: findTag}, literal{text: "cmem_context", find: findTag}, literal{text: "persisted_output", find: findTag})
	for _, r := range "\u00AD\u200B\u200C\u200D\u2060\uFEFF\u180E\u034F" {
		all = append(all, literal{text: string(r), find: findTag})
	}
	for _, e := range []string{`\u`, `\x`, `\/`} {
		all = append(all, literal{text: e, find: findEscape})
	}
	all = append(all, literal{text: ";base64,", find: findMedia})
	for i := range secretRules {
		for _, text := range secretRules[i].literals {
			all = append(all, literal{text: lowerString(text), find: findSecret, rule: &secretRules[i]})
		}
	}
	return all
}

func lowerString(s string) string {
	b := []byte(s)
	for i := range b {
		b[i] = lower(b[i])
	}
	return string(b)
}
