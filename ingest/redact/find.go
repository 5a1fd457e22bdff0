package redact

import "sync"

// findings say which steps a text needs at all.
type findings byte

const (
	findTag    findings = 1 << iota // a tag's name, or a character without width
	findEscape                      // \u \x \/ as text: JSON in a string
	findMedia                       // ;base64,
	findZero                        // a zero byte
	findSecret                      // a word or prefix of a secret
)

// finder looks for all literals at once (Aho and Corasick's automaton, made
// deterministic, letters folded): one table look-up a byte. It is built at the
// first use, which takes some 50 µs.
type finder struct {
	class [256]uint8 // byte → column
	width int
	next  []uint16 // state × column → state
	found []findings
	table []literal
	// The literals that end at a state: ends of the state (an index + 1) and same
	// of that, then those of its back, the longest end of it that is a state.
	ends, same, back []uint16
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
		for at := uint16(state); at != 0; at = f.back[at] {
			for id := f.ends[at]; id != 0; id = f.same[id-1] {
				yield(&f.table[id-1], i+1)
			}
		}
	}
}

func newFinder(table []literal) *finder {
	f := &finder{table: table, width: 1}
	most := 1 // states there can be
	for _, l := range table {
		most += len(l.text)
		for i := range len(l.text) {
			if c := l.text[i]; f.class[c] == 0 {
				f.class[c] = uint8(f.width)
				f.width++
			}
		}
	}
	for c := 'A'; c <= 'Z'; c++ {
		f.class[c] = f.class[c|0x20]
	}
	f.complete(f.grow(most))
	return f
}

// branch is a state of the tree of literals, before it becomes a row of next.
type branch struct {
	column             uint8
	child, twin, first uint16 // first child, next child of the parent; first literal + 1
}

// grow makes the tree; states are numbered as they come, the root is 0.
func (f *finder) grow(most int) []branch {
	tree := make([]branch, 1, most)
	f.same = make([]uint16, len(f.table))
	for id := range f.table {
		at := uint16(0)
		text := f.table[id].text
		for i := range len(text) {
			at = step(&tree, at, f.class[text[i]])
		}
		f.same[id] = tree[at].first
		tree[at].first = uint16(id) + 1
	}
	return tree
}

func step(tree *[]branch, at uint16, column uint8) uint16 {
	t := *tree
	for to := t[at].child; to != 0; to = t[to].twin {
		if t[to].column == column {
			return to
		}
	}
	to := uint16(len(t))
	*tree = append(t, branch{column: column, twin: t[at].child})
	t[at].child = to
	return to
}

// complete makes rows of the tree, breadth first: a state goes on as the longest
// end of it that is a state itself (back), except where its literals go on.
func (f *finder) complete(tree []branch) {
	f.next = make([]uint16, len(tree)*f.width)
	f.found = make([]findings, len(tree))
	f.ends = make([]uint16, len(tree))
	f.back = make([]uint16, len(tree))
	queue := make([]uint16, 1, len(tree))
	for n := 0; n < len(queue); n++ {
		at := queue[n]
		row := f.next[int(at)*f.width:][:f.width]
		back := f.back[at]
		if at != 0 {
			copy(row, f.next[int(back)*f.width:][:f.width])
			f.found[at] = f.found[back]
		}
		f.ends[at] = tree[at].first
		for id := tree[at].first; id != 0; id = f.same[id-1] {
			f.found[at] |= f.table[id-1].find
		}
		for to := tree[at].child; to != 0; to = tree[to].twin {
			f.back[to] = row[tree[to].column]
			row[tree[to].column] = to
			queue = append(queue, to)
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
	all := make([]literal, 0, 256)
	for _, name := range tagNames {
		all = append(all, literal{text: name, find: findTag})
	}
	all = append(all, literal{text: "system_reminder", find: findTag}, literal{text: "system_instruction", find: findTag},
		literal{text: "claude_mem_context", find: findTag}, literal{text: "cmem_context", find: findTag}, literal{text: "persisted_output", find: findTag})
	for _, r := range "＜﹤\u00AD\u200B\u200C\u200D\u2060\uFEFF\u180E\u034F" {
		all = append(all, literal{text: string(r), find: findTag})
	}
	for _, e := range []string{`\u`, `\x`, `\/`} {
		all = append(all, literal{text: e, find: findEscape})
	}
	all = append(all, literal{text: ";base64,", find: findMedia}, literal{text: "\x00", find: findZero})
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
