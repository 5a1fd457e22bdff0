package redact

import (
	"bytes"
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

// authorization matches the value of an Authorization header.
func authorization(at *spot, rule *secretRule) (start, stop int, kind string) {
	text := at.text
	i := skipBlanks(text, skipQuote(text, at.end))
	if i >= len(text) || text[i] != ':' && text[i] != '=' {
		return 0, 0, ""
	}
	start = skipQuote(text, skipBlanks(text, i+1))
	scheme := tokenRun(text, start)
	if next := skipBlanks(text, scheme); next > scheme && isScheme(text[start:scheme]) {
		start = next
		stop = tokenRun(text, start)
		return start, stop, kindIf(credential(text[start:stop], 8), rule, &start, &stop)
	}
	stop = scheme
	return start, stop, kindIf(credential(text[start:stop], 16) && hasDigit(text[start:stop]), rule, &start, &stop)
}

// bearer matches "Bearer TOKEN" wherever it stands.
func bearer(at *spot, rule *secretRule) (start, stop int, kind string) {
	text := at.text
	if !startsAlone(text, at.start) {
		return 0, 0, ""
	}
	start = skipBlanks(text, at.end)
	stop = tokenRun(text, start)
	return start, stop, kindIf(credential(text[start:stop], 16) && hasDigit(text[start:stop]), rule, &start, &stop)
}

// kindIf gives the rule's kind, or empties the span.
func kindIf(ok bool, rule *secretRule, start, stop *int) string {
	if !ok {
		*stop = *start
		return ""
	}
	return rule.kind
}

func tokenRun(text []byte, i int) int {
	for i < len(text) && (is(text[i], cWord|cToken) || text[i] == ':') {
		i++
	}
	return i
}

func isScheme(word []byte) bool {
	switch strings.ToLower(string(word)) {
	case "bearer", "basic", "token", "digest", "apikey", "key", "negotiate", "bot", "aws4-hmac-sha256":
		return true
	}
	return false
}

// credential: long enough, and not a plain word of prose.
func credential(value []byte, least int) bool {
	if len(value) < least || placeholder(value) {
		return false
	}
	return hasDigit(value) || bytes.IndexByte(value, '=') >= 0 || bytes.ContainsFunc(value[1:], func(r rune) bool { return r >= 'A' && r <= 'Z' })
}

// cookie matches the values of a Cookie or Set-Cookie header, --cookie too.
func cookie(at *spot, rule *secretRule) (start, stop int, kind string) {
	text := at.text
	from, to := identifier(text, at.start, at.end)
	if from < at.cookieEnd {
		return 0, 0, ""
	}
	p := promiseOf(bytes.TrimLeft(text[from:to], "-"))
	if p != aCookie && p != aSetCookie {
		return 0, 0, ""
	}
	i := skipQuote(text, to)
	j := skipBlanks(text, i)
	switch {
	case j < len(text) && text[j] == ':':
		j++
	case j > to && bytes.HasPrefix(text[from:], []byte("--")):
	default:
		return 0, 0, ""
	}
	start, stop = cookieSpan(text, skipQuote(text, skipBlanks(text, j)), p)
	at.cookieEnd = max(at.cookieEnd, stop)
	return start, stop, rule.kind
}

// cookieSpan gives what is secret of a header's value that begins at i: of
// Set-Cookie the first value, of Cookie all from the first value on.
func cookieSpan(text []byte, i int, p promise) (start, stop int) {
	telling := false
	for {
		name := i
		for i < len(text) && i-name < 128 && (is(text[i], cWord) || text[i] == '.') {
			i++
		}
		if i == name || i >= len(text) || text[i] != '=' {
			break
		}
		value := i + 1
		for i = value; i < len(text) && !is(text[i], cCookie); {
			i++
		}
		if !placeholder(text[value:i]) || start > 0 {
			if start == 0 {
				start = value
			}
			stop = i
			telling = telling || i-value >= 6 || i-value >= 4 && mixed(text[value:i])
		}
		if p == aSetCookie || i >= len(text) || text[i] != ';' {
			break
		}
		i = skipBlanks(text, i+1)
	}
	if !telling {
		return 0, 0
	}
	return start, stop
}

// signature matches what signs a URL: sig=, Signature=, X-Amz-Signature=.
func signature(at *spot, rule *secretRule) (start, stop int, kind string) {
	text := at.text
	from, _ := identifier(text, at.start, at.start)
	name := text[from : at.end-1]
	if from == 0 || !bytes.HasPrefix(name, []byte("X-")) && !isQueryMark(text, from) {
		return 0, 0, ""
	}
	start = at.end
	for stop = start; stop < len(text) && (is(text[stop], cWord|cToken) || text[stop] == '%'); {
		stop++
	}
	if stop-start < 16 || !hasDigit(text[start:stop]) {
		return 0, 0, ""
	}
	return start, stop, rule.kind
}

// isQueryMark: ?name, &name, &amp;name, \u0026name.
func isQueryMark(text []byte, i int) bool {
	switch text[i-1] {
	case '?', '&', ';':
		return true
	}
	return i >= 2 && bytes.HasSuffix(text[:i], []byte("26"))
}

// storedAuth matches "auth": base64 of user:password, as docker and npm store it.
func storedAuth(at *spot, rule *secretRule) (start, stop int, kind string) {
	text := at.text
	from, to := identifier(text, at.start, at.start+len("auth"))
	if promiseOf(text[from:to]) != aBasicAuth {
		return 0, 0, ""
	}
	j := skipBlanks(text, skipQuote(text, to))
	if j >= len(text) || mark(text[j:]) == 0 {
		return 0, 0, ""
	}
	start, stop, _ = at.valueAt(skipBlanks(text, j+1), environs)
	return start, stop, kindIf(basicAuth(text[start:stop]), rule, &start, &stop)
}

// basicAuth says that a text is the base64 of user:password.
func basicAuth(text []byte) bool {
	if len(text) < 8 || len(text) > maxValue {
		return false
	}
	plain, err := base64.RawStdEncoding.AppendDecode(nil, bytes.TrimRight(text, "="))
	user, password, ok := bytes.Cut(plain, []byte(":"))
	printable := !bytes.ContainsFunc(plain, func(r rune) bool { return r < ' ' || r == utf8.RuneError })
	return err == nil && ok && len(user) > 0 && len(password) > 0 && printable
}
