package redact

import (
	"bytes"
	"strings"
)

// style is how a value stands behind its name; it says how much is needed to
// take it for a secret.
type style byte

const (
	bare     style = iota // name: value, name=value: may be code
	quoted                // name = "value": a literal
	environs              // NAME=value: a setting
)

// passwordNames and secretNames are the endings of names, written together, by
// which a value is taken for a secret.
var (
	passwordNames = []string{"password", "passwd", "passphrase", "pwd", "pass"}
	secretNames   = []string{
		"secret", "token", "apikey", "accesskey", "secretkey", "privatekey", "accountkey",
		"encryptionkey", "signingkey", "authkey", "masterkey", "secretkeybase", "credential", "credentials",
	}
)

// secretName gives the kind of secret that a name promises, "" for none.
func secretName(name []byte) string {
	if len(name) > 64 {
		return ""
	}
	var buf [64]byte
	flat := buf[:0]
	for _, c := range name {
		if c != '_' && c != '-' && c != '.' {
			flat = append(flat, lower(c))
		}
	}
	for _, end := range passwordNames {
		if bytes.HasSuffix(flat, []byte(end)) && (end != "pass" || separatePass(name)) {
			return "password"
		}
	}
	for _, end := range secretNames {
		if bytes.HasSuffix(flat, []byte(end)) {
			if bytes.HasSuffix(flat, []byte("secretaccesskey")) {
				return "aws-secret-key"
			}
			return "secret"
		}
	}
	return ""
}

// separatePass tells DB_PASS and dbPass from bypass and compass.
func separatePass(name []byte) bool {
	if len(name) == 4 {
		return true
	}
	head, tail := name[len(name)-5], name[len(name)-4]
	return head == '_' || head == '-' || tail == 'P' && head >= 'a' && head <= 'z'
}

// assignment matches the value in NAME=value, "name": "value", --name value.
func assignment(at *spot, rule *secretRule) (start, stop int, kind string) {
	text := at.text
	from, to := identifier(text, at.start, at.end)
	kind = secretName(text[from:to])
	if kind == "" || from > 2 && string(text[from-3:from]) == "://" { // a URL's user
		return 0, 0, ""
	}
	i, how := separator(text, from, to)
	if i < 0 {
		return 0, 0, ""
	}
	start, stop, how = at.valueAt(i, how)
	value := text[start:stop]
	if how != quoted && stop < len(text) && (text[stop] == '(' || text[stop] == '[') {
		return 0, 0, "" // a call or an index: code
	}
	if !confident(value, kind, how) {
		return 0, 0, ""
	}
	return start, stop, kind
}

// identifier widens [start,end) to the whole name, at most 64 bytes each way.
func identifier(text []byte, start, end int) (from, to int) {
	for from = start; from > 0 && start-from < 64 && (is(text[from-1], cWord) || text[from-1] == '.'); {
		from--
	}
	for to = end; to < len(text) && to-end < 64 && (is(text[to], cWord) || text[to] == '.'); {
		to++
	}
	if from < start && from > 0 && text[from-1] == '\\' { // the n of \nNAME
		from++
	}
	return from, to
}

// separator gives where the value begins after the name [from,to), -1 if none does.
func separator(text []byte, from, to int) (i int, how style) {
	i = skipQuote(text, to)
	direct := i == to
	j := skipBlanks(text, i)
	if j >= len(text) {
		return -1, bare
	}
	switch text[j] {
	case '=', ':':
	default:
		if j > to && direct && bytes.HasPrefix(text[from:], []byte("--")) {
			return j, environs
		}
		return -1, bare
	}
	k := j + 1
	for k < len(text) && (text[k] == '=' || text[k] == '>') {
		k++
	}
	if direct && j == to && k == j+1 && text[j] == '=' && (shouted(text[from:to]) || bytes.HasPrefix(text[from:], []byte("--"))) {
		return k, environs
	}
	return skipBlanks(text, k), bare
}

// shouted says that a name is written as environment variables are.
func shouted(name []byte) bool {
	return len(name) > 0 && !bytes.ContainsFunc(name, func(r rune) bool { return r >= 'a' && r <= 'z' || r == '.' })
}

func skipBlanks(text []byte, i int) int {
	for n := 0; n < 16 && i < len(text) && (text[i] == ' ' || text[i] == '\t'); n++ {
		i++
	}
	return i
}

// skipQuote skips one quote, which may be escaped in JSON that came as text.
func skipQuote(text []byte, i int) int {
	j := i
	for j < len(text) && text[j] == '\\' && j-i < 8 {
		j++
	}
	if j < len(text) && isQuote(text[j]) {
		return j + 1
	}
	return i
}

func isQuote(c byte) bool { return c == '"' || c == '\'' || c == '`' }

// maxValue bounds a secret that only its name betrays; a longer text is none.
const maxValue = 2048

// valueAt gives the bounds of the value that begins at i.
func (at *spot) valueAt(i int, how style) (start, stop int, _ style) {
	text := at.text
	start = skipQuote(text, i)
	if start > i {
		quote := text[start-1]
		for stop = start; stop < len(text) && stop-start < maxValue; stop++ {
			if c := text[stop]; c == quote || c == '\n' || c == '\\' && stop+1 < len(text) && isQuote(text[stop+1]) {
				break
			}
		}
		if how == environs {
			return start, stop, environs
		}
		return start, stop, quoted
	}
	stop = at.bareEnd(start)
	if how == bare {
		if n := bytes.IndexAny(text[start:stop], ",;"); n >= 0 {
			stop = start + n
		}
	}
	return start, stop, how
}

// maxChain is how many names are followed that end in one value:
// token=https://host/?password=… has two.
const maxChain = 8

// bareEnd gives the end of the unquoted value that begins at i; i itself if it
// is too long, or one of too many that end there. So a text made of names takes
// linear time.
func (at *spot) bareEnd(i int) int {
	if at.valueEnd < i || at.values == 0 {
		at.valueEnd, at.values = i, 0
		for at.valueEnd < len(at.text) && !is(at.text[at.valueEnd], cValue) {
			at.valueEnd++
		}
	}
	if at.values++; at.values > maxChain || at.valueEnd-i > maxValue {
		return i
	}
	return at.valueEnd
}

// confident says that a value behind a name of this kind is a secret and not a
// placeholder, a variable, a type or a sentence.
func confident(value []byte, kind string, how style) bool {
	if len(value) < 4 || placeholder(value) || bytes.ContainsAny(value, " \t\n") || pathLike(value) {
		return false
	}
	if how == bare && expression(value) {
		return false
	}
	if kind == "password" {
		switch {
		case how == environs:
			return true
		case len(value) >= 16:
			return hasDigit(value) || how == quoted
		}
		return mixed(value) && len(value) >= 5 || hasSymbol(value) && len(value) >= 5
	}
	if how == environs && len(value) >= 8 && (hasDigit(value) || len(value) >= 16 && has(value, cUpper) && has(value, cLower)) {
		return true
	}
	return len(value) >= 16 && mixed(value) && !identifierLike(value)
}

func hasSymbol(s []byte) bool {
	return bytes.ContainsAny(s, "!@#$%^&*+=?~")
}

// placeholder says that a value only stands for a secret.
func placeholder(value []byte) bool {
	if bytes.Contains(value, []byte("[redacted:")) || len(value) == 0 {
		return true
	}
	switch value[0] {
	case '$', '{', '<', '%', '*', '[', '(':
		return true
	}
	if bytes.Count(value, value[:1]) == len(value) || bytes.Contains(value, []byte("${")) || bytes.Contains(value, []byte("{{")) {
		return true
	}
	low := strings.ToLower(string(value[:min(len(value), 16)]))
	for _, word := range []string{"your", "xxx", "...", "changeme", "replace", "placeholder", "redacted", "process.env", "os.environ", "undefined"} {
		if strings.HasPrefix(low, word) {
			return true
		}
	}
	return false
}

func pathLike(value []byte) bool {
	for _, head := range []string{"http://", "https://", "./", "../", "~/", "file:"} {
		if bytes.HasPrefix(value, []byte(head)) {
			return true
		}
	}
	return value[0] == '/' && !hasDigit(value)
}

// expression says that a bare value may be a variable or a field: names joined
// by dots, nothing else. One name with a digit in it is not taken for code.
func expression(value []byte) bool {
	if !isLetter(value[0]) && value[0] != '_' {
		return false
	}
	for _, c := range value {
		if !isAlnum(c) && c != '_' && c != '.' {
			return false
		}
	}
	return bytes.IndexByte(value, '.') > 0 || !hasDigit(value)
}

// identifierLike says that a value is an id or hash of a common form, which a
// name like "token" does not make a secret.
func identifierLike(value []byte) bool {
	for _, head := range []string{"toolu_", "call_", "msg_", "req_", "prt_", "ses_"} {
		if bytes.HasPrefix(value, []byte(head)) {
			return true
		}
	}
	hex := len(value) == 40 || len(value) == 64 || len(value) == 36
	for _, c := range value {
		hex = hex && (isHex(c) || c == '-')
	}
	return hex
}

// userOption matches the password in -u user:password, as curl takes it. Two
// numbers or a name twice are a container's user and group.
func userOption(at *spot, rule *secretRule) (start, stop int, kind string) {
	text := at.text
	from := skipQuote(text, at.end)
	stop = from
	for stop < len(text) && !is(text[stop], cValue) && text[stop] != ';' {
		stop++
	}
	user, password, ok := bytes.Cut(text[from:stop], []byte(":"))
	if !ok || len(user) == 0 || len(password) < 4 || placeholder(password) || bytes.Equal(user, password) || !has(password, cLetter) {
		return 0, 0, ""
	}
	return stop - len(password), stop, rule.kind
}

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
