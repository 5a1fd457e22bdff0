package identity

import (
	"bytes"
	"slices"

	"cmem/ingest/internal/jsontext"
)

// CanonicalJSON gives equal bytes for equal JSON values however they are
// spelled: keys sorted by their bytes, no space, numbers as written, strings
// with no escape that is not needed, of two equal keys the first. What is not
// one JSON value comes back as it is, without the space around it. Any depth;
// time is that of sorting.
func CanonicalJSON(raw []byte) []byte {
	tree, ok := parse(raw)
	if !ok {
		return bytes.Trim(bytes.TrimPrefix(raw, []byte(jsontext.BOM)), " \t\r\n")
	}
	return tree.write(make([]byte, 0, len(raw)))
}

// node is one value. Members of an object and elements of an array are chained
// through next; trees and not recursion, because depth is the sender's choice.
type node struct {
	kind        jsontext.Kind
	text        []byte // decoded string, or literal as written
	key         []byte
	first, next int32 // indexes into nodes; 0 none (the root is nobody's child)
}

type jsonTree []node

func parse(raw []byte) (jsonTree, bool) {
	s := jsontext.Scanner{Src: raw}
	tree := jsonTree{}
	open := []int32{} // containers being read
	last := []int32{} // the last child of each
	var key []byte
	for {
		t, err := s.Next()
		if err != nil {
			return nil, false
		}
		switch t.Kind {
		case jsontext.EOF:
			return tree, true
		case jsontext.Key:
			key = jsontext.Decode(raw, t)
			continue
		case jsontext.EndObject, jsontext.EndArray:
			tree.settle(open[len(open)-1])
			open, last = open[:len(open)-1], last[:len(last)-1]
			continue
		}
		at := int32(len(tree))
		n := node{kind: t.Kind, key: key}
		key = nil
		switch t.Kind {
		case jsontext.String:
			n.text = jsontext.Decode(raw, t)
		case jsontext.Literal:
			n.text = raw[t.Start:t.End]
		}
		tree = append(tree, n)
		if len(open) > 0 {
			tree.link(open[len(open)-1], last[len(last)-1], at)
			last[len(last)-1] = at
		}
		if t.Kind == jsontext.BeginObject || t.Kind == jsontext.BeginArray {
			open, last = append(open, at), append(last, 0)
		}
	}
}

func (tree jsonTree) link(parent, before, at int32) {
	if before == 0 {
		tree[parent].first = at
	} else {
		tree[before].next = at
	}
}

// settle sorts the members of a finished object and drops repeated keys.
func (tree jsonTree) settle(object int32) {
	if tree[object].kind != jsontext.BeginObject {
		return
	}
	var members []int32
	for at := tree[object].first; at != 0; at = tree[at].next {
		members = append(members, at)
	}
	slices.SortStableFunc(members, func(a, b int32) int { return bytes.Compare(tree[a].key, tree[b].key) })
	members = slices.CompactFunc(members, func(a, b int32) bool { return bytes.Equal(tree[a].key, tree[b].key) })
	var before int32
	for _, at := range members {
		tree[at].next = 0
		tree.link(object, before, at)
		before = at
	}
}

// write appends the value at the root.
func (tree jsonTree) write(out []byte) []byte {
	open := []int32{}
	at := int32(0)
	for {
		n := tree[at]
		if len(open) > 0 && tree[open[len(open)-1]].kind == jsontext.BeginObject {
			out = append(jsontext.Quote(out, n.key), ':')
		}
		switch n.kind {
		case jsontext.String:
			out = jsontext.Quote(out, n.text)
		case jsontext.Literal:
			out = append(out, n.text...)
		default:
			out = append(out, byte(n.kind))
			if n.first != 0 {
				open = append(open, at)
				at = n.first
				continue
			}
			out = append(out, byte(n.kind)+2)
		}
		for {
			if len(open) == 0 {
				return out
			}
			if next := tree[at].next; next != 0 {
				out = append(out, ',')
				at = next
				break
			}
			at = open[len(open)-1]
			open = open[:len(open)-1]
			out = append(out, byte(tree[at].kind)+2)
		}
	}
}
