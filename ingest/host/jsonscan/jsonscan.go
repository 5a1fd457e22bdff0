// Package jsonscan reads JSON that strangers wrote, without decoding what is
// not asked for.
//
// It promises: keys match exactly (encoding/json matches any letter case); of
// two equal keys the first counts, everywhere; no depth limit and no recursion;
// one odd member spoils only itself; strings come out as valid UTF-8, a lone
// surrogate or a bad byte as U+FFFD. It holds nothing and copies only decoded
// strings. Standard library only, and no reflection: the hook publisher links it.
package jsonscan

import (
	"bytes"
	"iter"
)

// Fields gives the members of the object in data, in order: the key with its
// escapes resolved, and the value as it stands. It ends at the end of the
// object or at the first place that is not JSON; what came before stays good.
// Nothing for data that is no object.
func Fields(data []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		data, i := open(data, '{')
		for i >= 0 && data[i] == '"' {
			end := skipString(data, i)
			if end < 0 {
				return
			}
			key := keyBytes(data[i:end])
			i = space(data, end)
			if i >= len(data) || data[i] != ':' {
				return
			}
			i = space(data, i+1)
			end = skip(data, i)
			if end < 0 || !yield(key, data[i:end]) {
				return
			}
			i = next(data, end)
		}
	}
}

// Elements gives the elements of the array in data as they stand, like Fields.
func Elements(data []byte) iter.Seq[[]byte] {
	return func(yield func(value []byte) bool) {
		data, i := open(data, '[')
		for i >= 0 && data[i] != ']' {
			end := skip(data, i)
			if end < 0 || !yield(data[i:end]) {
				return
			}
			i = next(data, end)
		}
	}
}

// Get gives the value of the first member named key, nil if there is none.
func Get(data []byte, key string) []byte {
	for k, v := range Fields(data) {
		if string(k) == key {
			return v
		}
	}
	return nil
}

// Kind tells what a raw value is by its first byte: '{', '[', '"', 'n' (null),
// 't' or 'f', '0' for a number, 0 for nothing.
func Kind(raw []byte) byte {
	i := space(raw, 0)
	if i >= len(raw) {
		return 0
	}
	switch c := raw[i]; c {
	case '{', '[', '"', 'n', 't', 'f':
		return c
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return '0'
	}
	return 0
}

// True says whether raw is the literal true.
func True(raw []byte) bool { return string(raw) == "true" }

// open gives data without a byte order mark, and the index of the first thing
// inside its container, or -1.
func open(data []byte, bracket byte) ([]byte, int) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	i := space(data, 0)
	if i >= len(data) || data[i] != bracket {
		return data, -1
	}
	if i = space(data, i+1); i >= len(data) {
		return data, -1
	}
	return data, i
}

// next gives the index after the comma that follows a member, or -1.
func next(data []byte, i int) int {
	i = space(data, i)
	if i >= len(data) || data[i] != ',' {
		return -1
	}
	if i = space(data, i+1); i >= len(data) {
		return -1
	}
	return i
}

func space(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\n' || data[i] == '\t' || data[i] == '\r') {
		i++
	}
	return i
}

// skip gives the index after the value that begins at i, or -1.
func skip(data []byte, i int) int {
	if i >= len(data) {
		return -1
	}
	switch data[i] {
	case '"':
		return skipString(data, i)
	case '{', '[':
		return skipContainer(data, i)
	}
	start := i
	for i < len(data) && !ends(data[i]) {
		i++
	}
	if i == start {
		return -1
	}
	return i
}

func ends(c byte) bool {
	return c == ',' || c == ']' || c == '}' || c == ':' || c == ' ' || c == '\n' || c == '\t' || c == '\r'
}

func skipContainer(data []byte, i int) int {
	depth := 0
	for i < len(data) {
		switch data[i] {
		case '"':
			if i = skipString(data, i); i < 0 {
				return -1
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return -1
}

// skipString gives the index after the closing quote of the string at i, or -1.
func skipString(data []byte, i int) int {
	for from := i + 1; ; {
		n := bytes.IndexByte(data[from:], '"')
		if n < 0 {
			return -1
		}
		quote := from + n
		slashes := 0
		for quote-1-slashes > i && data[quote-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return quote + 1
		}
		from = quote + 1
	}
}
