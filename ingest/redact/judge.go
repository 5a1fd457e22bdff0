package redact

import (
	"bytes"
	"strings"
)

// confident says that a value behind a name of this promise is a secret and not
// a placeholder, a variable, a type or a sentence.
func confident(value []byte, p promise, how style) bool {
	if p == aBasicAuth {
		return basicAuth(value)
	}
	if len(value) < 4 || placeholder(value) || pathLike(value, p) {
		return false
	}
	if bytes.ContainsAny(value, " \t\n") {
		return words(value, p, how)
	}
	if how <= direct && expression(value) {
		return false
	}
	switch p {
	case aPassword, aPass, aPhrase:
		return passwordLike(value, p, how)
	case aKey:
		return keyLike(value, how)
	}
	if how == environs && len(value) >= 8 && (hasDigit(value) || len(value) >= 16 && has(value, cUpper) && has(value, cLower)) {
		return true
	}
	if p != aToken && how != bare && len(value) >= 8 && mixed(value) && scattered(value) {
		return !identifierHead(value)
	}
	return len(value) >= 16 && mixed(value) && !identifierHead(value) && (p != aToken || !hashLike(value))
}

func passwordLike(value []byte, p promise, how style) bool {
	switch {
	case p == aPass && !has(value, cLetter):
		return false // a count of tests
	case how == environs:
		return p != aPass || mixed(value) || hasSymbol(value)
	case how == quoted && p == aPassword && has(value, cLetter):
		return !label(value)
	case len(value) >= 16:
		return hasDigit(value) || how == quoted
	case !has(value, cLetter) && !hasSymbol(value):
		return len(value) >= 6 && digitsOnly(value)
	}
	if label(bytes.TrimRight(value, "!?")) {
		return false // String! of a schema
	}
	return len(value) >= 5 && (mixed(value) || hasSymbol(value))
}

// label says that a value is what a form or a schema calls a password.
func label(value []byte) bool {
	switch strings.ToLower(string(value[:min(len(value), 16)])) {
	case "password", "passwort", "passwd", "passphrase", "contraseña", "senha", "wachtwoord", "hasło", "text", "string", "varchar", "bytes", "hidden", "input", "secret", "reset", "bcrypt", "argon2", "scrypt", "plain", "basic":
		return true
	}
	return false
}

func digitsOnly(s []byte) bool { return len(bytes.TrimFunc(s, isDigitRune)) == 0 }

// scattered says that the digits of a short value are not one number behind a
// word, as in sha256hash.
func scattered(value []byte) bool {
	digits, runs := 0, 0
	for i, c := range value {
		if is(c, cDigit) {
			if digits++; i == 0 || !is(value[i-1], cDigit) {
				runs++
			}
		}
	}
	return digits >= 4 || runs >= 2
}

// keyLike says that a value looks made by chance, as keys are, whatever key its
// name speaks of: long, of the letters of keys, and neither words nor a number.
func keyLike(value []byte, how style) bool {
	least := 16
	if how == environs {
		least = 12
	}
	if len(value) < least || !mixed(value) || identifierHead(value) || how != environs && hashLike(value) {
		return false
	}
	var seen [256]bool
	kinds := 0
	for _, c := range value {
		if !isTokenChar(c) {
			return false
		}
		if !seen[c] {
			seen[c] = true
			kinds++
		}
	}
	if kinds < 8 || fileLike(value) {
		return false
	}
	joined := bytes.ContainsAny(value, "_-./")
	return has(value, cUpper) && (how == environs || has(value, cLower)) || !joined && scattered(value)
}

// fileLike: keys are also given as the names of their files.
func fileLike(value []byte) bool {
	dot := bytes.LastIndexByte(value, '.')
	return value[0] == '/' || value[0] == '.' || value[0] == '~' || dot > 0 && len(value)-dot <= 6 && bytes.IndexByte(value[dot:], '/') < 0
}

// words judges a value with blanks in it. A quoted setting may be a password of
// words; a passphrase may be one anywhere, if it is no sentence about one.
func words(value []byte, p promise, how style) bool {
	if p != aPassword && p != aPhrase || len(value) > 256 || bytes.IndexByte(value, '\n') >= 0 {
		return false
	}
	if how == environs && p == aPassword {
		return !sentence(value)
	}
	return p == aPhrase && how >= quoted && len(bytes.Fields(value)) >= 2 && !sentence(value)
}

// sentence says that words are said to a reader: "Enter your passphrase".
func sentence(value []byte) bool {
	if bytes.ContainsAny(value, ".?:()<>{}") {
		return true
	}
	for word := range bytes.FieldsSeq(value) {
		switch strings.ToLower(string(word)) {
		case "enter", "your", "the", "must", "should", "cannot", "is", "too", "not", "be", "required", "invalid", "for", "repeat", "confirm", "password", "passphrase":
			return true
		}
	}
	return false
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
	switch low {
	case "true", "false", "null", "none", "string", "prompt", "required", "optional", "value":
		return true
	}
	for _, word := range []string{"your", "xxx", "...", "changeme", "replace", "placeholder", "redacted", "process.env", "os.environ", "undefined"} {
		if strings.HasPrefix(low, word) {
			return true
		}
	}
	return false
}

func pathLike(value []byte, p promise) bool {
	for _, head := range []string{"http://", "https://", "./", "../", "~/", "file:"} {
		if bytes.HasPrefix(value, []byte(head)) {
			return true
		}
	}
	if value[0] != '/' {
		return false
	}
	folders := bytes.Count(value, []byte("/")) > 1 && !hasSymbol(value)
	return !hasDigit(value) || folders && (p == aPassword || p == aPass || p == aKey)
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

// identifierHead says that a value is an id of a host, which no name makes a
// secret.
func identifierHead(value []byte) bool {
	for _, head := range []string{"toolu_", "call_", "msg_", "req_", "prt_", "ses_"} {
		if bytes.HasPrefix(value, []byte(head)) {
			return true
		}
	}
	return false
}

// hashLike says that a value has the form of a hash or a UUID.
func hashLike(value []byte) bool {
	hex := len(value) == 40 || len(value) == 64 || len(value) == 36
	for _, c := range value {
		hex = hex && (isHex(c) || c == '-')
	}
	return hex
}
