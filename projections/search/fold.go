package search

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Letters with marks read as their base letter, so that "café" and "cafe" are
// one word. '.' stands for a letter that has none.
const (
	latin1 = "aaaaaa.ceeeeiiiidnooooo.ouuuuy..aaaaaa.ceeeeiiiidnooooo.ouuuuy.y" +
		"aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiii..jjkkklllllll" +
		"lllnnnnnnnnnoooooo..rrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzzs" // from U+00C0
	latinMore = "aabbbbbbccddddddddddeeeeeeeeeeffgghhhhhhhhhhiiiikkkkkkllllllllmm" +
		"mmmmnnnnnnnnoooooooopppprrrrrrrrssssssssssttttttttuuuuuuuuuuvvvv" +
		"wwwwwwwwwwxxxxyyzzzzzzhtwyasss.daaaaaaaaaaaaaaaaaaaaaaaaeeeeeeee" +
		"eeeeeeeeiiiioooooooooooooooooooooooouuuuuuuuuuuuuuyyyyyyyyllvvyy" // from U+1E00
)

// foldRune appends r in lower case and without its marks.
func foldRune(b []byte, r rune) []byte {
	switch {
	case r < utf8.RuneSelf:
		if r >= 'A' && r <= 'Z' {
			r += 'a' - 'A'
		}
		return append(b, byte(r))
	case r >= 0x300 && r < 0x370: // combining marks of Latin, Greek, Cyrillic
		return b
	case r >= 0xFF01 && r <= 0xFF5E: // full-width ASCII
		return foldRune(b, r-0xFF01+'!')
	}
	if s := expand(r); s != "" {
		return append(b, s...)
	}
	if c := base(r); c != 0 {
		return append(b, c)
	}
	return utf8.AppendRune(b, unicode.ToLower(r))
}

func base(r rune) byte {
	var table string
	switch {
	case r >= 0xC0 && int(r-0xC0) < len(latin1):
		table, r = latin1, r-0xC0
	case r >= 0x1E00 && int(r-0x1E00) < len(latinMore):
		table, r = latinMore, r-0x1E00
	default:
		return 0
	}
	if c := table[r]; c != '.' {
		return c
	}
	return 0
}

// expand is for letters that stand for two.
func expand(r rune) string {
	switch r {
	case 'Æ', 'æ':
		return "ae"
	case 'Œ', 'œ':
		return "oe"
	case 'Þ', 'þ':
		return "th"
	case 'ß', 'ẞ':
		return "ss"
	case 'Ĳ', 'ĳ':
		return "ij"
	}
	return ""
}

// lowerASCII keeps every byte where it is, so that offsets into s are offsets
// into the result.
func lowerASCII(s string) string {
	up := strings.IndexFunc(s, func(r rune) bool { return r >= 'A' && r <= 'Z' })
	if up < 0 {
		return s
	}
	b := []byte(s)
	for i := up; i < len(b); i++ {
		if c := b[i]; c >= 'A' && c <= 'Z' {
			b[i] = c + ('a' - 'A')
		}
	}
	return string(b)
}
