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
