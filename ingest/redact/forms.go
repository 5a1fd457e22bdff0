package redact

import "unicode/utf8"

func openBracket(s []byte) (form, int) {
	switch s[0] {
	case '<':
		return bracket, 1
	case '&':
		return entity, entityLen(s, "lt", "60", "3c")
	case '%':
		return percent, percentLen(s, "3c")
	case 0xEF:
		return wide, wideLen(s, '＜', '﹤')
	}
	return escape, escapeLen(s, "3c", "74")
}

func closeBracket(s []byte) int {
	if len(s) == 0 {
		return 0
	}
	switch s[0] {
	case '>':
		return 1
	case '&':
		return entityLen(s, "gt", "62", "3e")
	case '%':
		return percentLen(s, "3e")
	case 0xEF:
		return wideLen(s, '＞', '﹥')
	case '\\':
		return escapeLen(s, "3e", "76")
	}
	return 0
}

// percentLen is the length of %HH with any number of 25 after the %.
func percentLen(s []byte, hex string) int {
	i := 1
	for hasFold(s[i:], "25") {
		i += len("25")
	}
	if !hasFold(s[i:], hex) {
		return 0
	}
	return i + len(hex)
}

func wideLen(s []byte, full, small rune) int {
	if r, n := utf8.DecodeRune(s); r == full || r == small {
		return n
	}
	return 0
}

// entityLen is the length of the entity at the start of s: &name; &#dec; &#xhex;
// with any number of amp; after the first &.
func entityLen(s []byte, name, dec, hex string) int {
	i := 1
	for hasFold(s[i:], "amp;") {
		i += len("amp;")
	}
	body, numeric := name, i < len(s) && s[i] == '#'
	if numeric {
		i++
		body = dec
		if i < len(s) && s[i]|0x20 == 'x' {
			i++
			body = hex
		}
		for i < len(s) && s[i] == '0' {
			i++
		}
	}
	if !hasFold(s[i:], body) {
		return 0
	}
	i += len(body)
	if i < len(s) && s[i] == ';' {
		return i + 1
	}
	return 0
}

// escapeLen is the length of \uHHHH \xHH \UHHHHHHHH \u{HH} \x{HH} or \OOO with
// any number of backslashes.
func escapeLen(s []byte, hex, octal string) int {
	i := 0
	for i < len(s) && s[i] == '\\' {
		i++
	}
	if i == 0 || i == len(s) {
		return 0
	}
	body, braced := octal, false
	if c := lower(s[i]); c == 'u' || c == 'x' {
		i++
		body = hex
		if braced = i < len(s) && s[i] == '{'; braced {
			i++
		}
	}
	for i < len(s) && s[i] == '0' {
		i++
	}
	if !hasFold(s[i:], body) {
		return 0
	}
	i += len(body)
	if !braced {
		return i
	}
	if i < len(s) && s[i] == '}' {
		return i + 1
	}
	return 0
}

func slashLen(s []byte) int {
	if len(s) == 0 {
		return 0
	}
	switch s[0] {
	case '/':
		return 1
	case '&':
		return entityLen(s, "sol", "47", "2f")
	case '%':
		return percentLen(s, "2f")
	case 0xEF:
		return wideLen(s, '／', '／')
	case '\\':
		if len(s) > 1 && s[1] == '/' {
			return 2
		}
		return escapeLen(s, "2f", "57")
	}
	return 0
}
