package redact

import "bytes"

// jwt matches header.payload.signature in base64url. A header begins with the
// base64 of {" and so does the payload, unless it is encrypted (then there are
// five parts).
func jwt(at *spot, rule *secretRule) (start, stop int, kind string) {
	text := at.text
	if string(text[at.start:at.end]) != "eyJ" || !startsAlone(text, at.start) {
		return 0, 0, ""
	}
	stop = at.start
	parts, second := 0, 0
	for {
		from := stop
		for stop < len(text) && isWord(text[stop]) {
			stop++
		}
		if parts < 2 && stop-from < 10 {
			return 0, 0, ""
		}
		if parts == 1 {
			second = from
		}
		parts++
		if parts == 5 || stop >= len(text) || text[stop] != '.' {
			break
		}
		stop++
	}
	if parts < 2 || parts < 3 && !bytes.HasPrefix(text[second:], []byte("eyJ")) {
		return 0, 0, ""
	}
	return at.start, stop, rule.kind
}

const (
	maxPEM     = 64 << 10 // a longer one is no key
	minPEMBody = 16       // base64 characters; less is talk about keys
)

// pem matches a private key block. If its end is missing, the key reaches as
// far as it looks like one.
func pem(at *spot, rule *secretRule) (start, stop int, kind string) {
	text := at.text
	body := pemLabel(text, at.end)
	if body < 0 || at.start < at.pemStop {
		return 0, 0, ""
	}
	stop = pemClose(at, body)
	if stop < 0 || stop-at.start > maxPEM {
		stop = body
		for stop < len(text) && stop-at.start < maxPEM && is(text[stop], cAlnum|cPEM) {
			stop++
		}
	}
	if base64Count(text[body:stop], minPEMBody) < minPEMBody {
		return 0, 0, ""
	}
	at.pemStop = stop
	return at.start, stop, rule.kind
}

// pemLabel gives the end of "… PRIVATE KEY-----" or "… PRIVATE KEY BLOCK-----"
// that begins at i, -1 if it is another label.
func pemLabel(text []byte, i int) int {
	line := text[i:min(len(text), i+64)]
	n := bytes.Index(line, []byte("-----"))
	if n < 0 || !bytes.HasSuffix(bytes.TrimSuffix(line[:n], []byte(" BLOCK")), []byte("PRIVATE KEY")) {
		return -1
	}
	return i + n + 5
}

// pemClose gives the end of the first "-----END …-----" from i on, -1 for none.
// Blocks are found from left to right, so the search never goes back.
func pemClose(at *spot, i int) int {
	if at.pemEnd < i {
		n := bytes.Index(at.text[i:], []byte("-----END "))
		at.pemEnd = len(at.text)
		if n >= 0 {
			at.pemEnd = i + n
		}
	}
	if at.pemEnd >= len(at.text) {
		return -1
	}
	label := at.pemEnd + len("-----END ")
	n := bytes.Index(at.text[label:min(len(at.text), label+64)], []byte("-----"))
	if n < 0 {
		return label
	}
	return label + n + 5
}

// pemCut matches what is left of a key's block that lost its beginning: the
// lines before an END line, or those after half a BEGIN line.
func pemCut(at *spot, rule *secretRule) (start, stop int, kind string) {
	text := at.text
	if at.start < at.pemStop || string(text[at.start:at.start+len("PRIVATE KEY")]) != "PRIVATE KEY" {
		return 0, 0, ""
	}
	head := text[max(at.pemStop, at.start-48):at.start]
	head = head[bytes.LastIndexByte(head, '\n')+1:]
	if bytes.Contains(head, []byte("-----BEGIN ")) {
		return 0, 0, ""
	}
	if n := bytes.LastIndex(head, []byte("-----END ")); n >= 0 {
		label := at.start - len(head) + n
		start = max(at.pemStop, pemBack(text, label, at.pemStop))
		at.pemStop = at.end
		if base64Count(text[start:label], minPEMBody) < minPEMBody {
			return 0, 0, ""
		}
		return start, at.end, rule.kind
	}
	if at.end >= len(text) || isAlnum(text[at.end]) || len(firstWord(text[at.end:min(len(text), at.end+128)])) < minPEMBody {
		return 0, 0, ""
	}
	for stop = at.end; stop < len(text) && stop-at.end < maxPEM && is(text[stop], cAlnum|cPEM); {
		stop++
	}
	if end := pemClose(at, at.end); end >= 0 && end-at.end <= maxPEM {
		stop = end
	}
	at.pemStop = stop
	return at.start, stop, rule.kind
}

// firstWord gives the first word after white space, escaped or not.
func firstWord(s []byte) []byte {
	s = s[skipSpace(s, 0):]
	n := 0
	for n < len(s) && is(s[n], cAlnum|cToken) {
		n++
	}
	return s[:n]
}

// pemBack goes back from an END line over the lines of base64 before it, to
// floor at most. Line ends may be escaped; numbers and bars may stand before a
// line.
func pemBack(text []byte, i, floor int) int {
	floor = max(floor, i-maxPEM)
	start := i
	for {
		i = backLineEnd(text, backSpace(text, i, floor), floor)
		if i < 0 {
			return start
		}
		end := backSpace(text, i, floor)
		for i = end; i > floor && is(text[i-1], cAlnum|cToken) && text[i-1] != '.' && text[i-1] != '~' && !escapedN(text, i-1); {
			i--
		}
		word := i
		if end-word >= minPEMBody {
			start = word // the cut may be inside this line
		}
		if word == end {
			return start
		}
		for n := 0; i > floor && n < 16 && text[i-1] != '\n' && is(text[i-1], cPEM|cDigit) && !escapedN(text, i-1); n++ {
			i--
		}
		if i > floor && text[i-1] != '\n' && !escapedN(text, i-1) {
			return start
		}
		start = word
	}
}

// escapedN says that text[i] is the letter of a \n, \r or \t written as two
// characters.
func escapedN(text []byte, i int) bool {
	return i > 0 && (text[i] == 'n' || text[i] == 'r' || text[i] == 't') && text[i-1] == '\\'
}

func backSpace(text []byte, i, floor int) int {
	for i > floor {
		switch {
		case text[i-1] == ' ' || text[i-1] == '\t' || text[i-1] == '\r':
			i--
		case i > floor+1 && text[i-1] == 't' && text[i-2] == '\\':
			i -= 2
		default:
			return i
		}
	}
	return i
}

// backLineEnd goes back over one line end, -1 if there is none. The number of
// an END line stands between.
func backLineEnd(text []byte, i, floor int) int {
	for n := 0; i > floor && n < 16 && text[i-1] != '\n' && is(text[i-1], cPEM|cDigit) && !escapedN(text, i-1); n++ {
		i = backSpace(text, i-1, floor)
	}
	switch {
	case i > floor && text[i-1] == '\n':
		return i - 1
	case i > floor+1 && escapedN(text, i-1):
		for i -= 2; i > floor && text[i-1] == '\\'; {
			i--
		}
		return i
	}
	return -1
}

func base64Count(s []byte, enough int) int {
	n := 0
	for _, c := range s {
		if isAlnum(c) || c == '+' || c == '/' {
			if n++; n >= enough {
				break
			}
		}
	}
	return n
}

// urlPassword matches the password of scheme://user:password@host, and a long
// token that stands alone before the @.
func urlPassword(at *spot, rule *secretRule) (start, stop int, kind string) {
	text := at.text
	if at.start == 0 || !isAlnum(text[at.start-1]) {
		return 0, 0, ""
	}
	info := userinfo(text[at.end:])
	if info == nil {
		return 0, 0, ""
	}
	user, password, ok := bytes.Cut(info, []byte(":"))
	if !ok {
		if len(user) < 20 || !mixed(user) || placeholder(user) {
			return 0, 0, ""
		}
		return at.end, at.end + len(user), "url-token"
	}
	if len(password) == 0 || placeholder(password) {
		return 0, 0, ""
	}
	start = at.end + len(user) + 1
	return start, start + len(password), rule.kind
}

// userinfo gives what stands before the @ of a URL's authority, nil if nothing
// does. A slash ends the authority, but a password may hold one that should
// have been escaped: after the colon, only a number (a port) may precede it.
func userinfo(s []byte) []byte {
	end, slash, at := 0, -1, -1
	for ; end < len(s) && !is(s[end], cURL); end++ {
		if s[end] == '@' && (slash < 0 || at < 0) {
			at = end
		}
		if s[end] == '/' && slash < 0 {
			if slash = end; at >= 0 {
				break
			}
		}
	}
	if at < 0 {
		return nil
	}
	if slash >= 0 && slash < at {
		_, port, colon := bytes.Cut(s[:slash], []byte(":"))
		if !colon || len(bytes.TrimFunc(port, isDigitRune)) == 0 {
			return nil
		}
	}
	return s[:at]
}
