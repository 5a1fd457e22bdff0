package redact

import "bytes"

// promise is what a name says of its value.
type promise byte

const (
	nothing    promise = iota
	aPassword          // password, DB_PASSWD
	aPass              // pass: also a word of test runners and of Python
	aPhrase            // passphrase, mnemonic: may be words
	aSecret            // client_secret, api_key
	anAWSKey           // aws_secret_access_key
	aToken             // token, credential: these name ids and hashes too
	aKey               // any other key: the value must look like one
	aCookie            // Cookie
	aSetCookie         // Set-Cookie
	aScheme            // Authorization: a scheme and its credentials
	aBasicAuth         // auth: base64 of user:password
)

// kind names the secret in a marker.
func (p promise) kind() string {
	switch p {
	case nothing:
		return ""
	case aPassword, aPass, aPhrase, aBasicAuth:
		return "password"
	case anAWSKey:
		return "aws-secret-key"
	case aCookie, aSetCookie:
		return "cookie"
	case aScheme:
		return "authorization"
	}
	return "secret"
}

// endings are the ends of names, written together, that make a promise.
var endings = []struct {
	end string
	promise
}{
	{"password", aPassword}, {"passwd", aPassword}, {"pwd", aPassword}, {"passphrase", aPhrase}, {"mnemonic", aPhrase},
	{"seedphrase", aPhrase}, {"recoveryphrase", aPhrase}, {"secretaccesskey", anAWSKey}, {"secret", aSecret}, {"apikey", aSecret},
	{"accesskey", aSecret}, {"secretkey", aSecret}, {"privatekey", aSecret}, {"accountkey", aSecret}, {"encryptionkey", aSecret},
	{"signingkey", aSecret}, {"authkey", aSecret}, {"masterkey", aSecret}, {"secretkeybase", aSecret},
	{"token", aToken}, {"credential", aToken}, {"credentials", aToken},
}

const maxName = 64

// promiseOf reads a name.
func promiseOf(name []byte) promise {
	if len(name) > maxName {
		return nothing
	}
	var buf [maxName]byte
	flat := buf[:0]
	for _, c := range name {
		if c != '_' && c != '-' && c != '.' {
			flat = append(flat, lower(c))
		}
	}
	switch string(flat) {
	case "cookie":
		return aCookie
	case "setcookie":
		return aSetCookie
	case "authorization", "proxyauthorization":
		return aScheme
	case "auth":
		return aBasicAuth
	}
	for _, e := range endings {
		if bytes.HasSuffix(flat, []byte(e.end)) {
			return e.promise
		}
	}
	if bytes.HasSuffix(flat, []byte("pass")) && separatePass(name) {
		if len(flat) == len("pass") {
			return aPass
		}
		return aPassword
	}
	if separateKey(name) && !openKey(flat[:len(flat)-len("key")]) {
		return aKey
	}
	return nothing
}

// separatePass tells DB_PASS and dbPass from bypass and compass.
func separatePass(name []byte) bool {
	if len(name) == 4 {
		return true
	}
	head, tail := name[len(name)-5], name[len(name)-4]
	return head == '_' || head == '-' || head == '.' || tail == 'P' && head >= 'a' && head <= 'z'
}

// separateKey tells STRIPE_KEY, OPENAIKEY and stripeKey from monkey and from a
// mere key.
func separateKey(name []byte) bool {
	n := len(name) - len("key")
	if n < 2 || !bytes.EqualFold(name[n:], []byte("key")) {
		return false
	}
	head := name[n-1]
	return head == '_' || head == '-' || head == '.' || name[n] == 'K' && (head >= 'a' && head <= 'z' || isDigitRune(rune(head))) || shouted(name)
}

// openKeys are the words before "key" that name what anybody may see.
var openKeys = []string{
	"primary", "foreign", "public", "pub", "unique", "publishable", "site", "cache", "sort", "partition", "shard", "object", "row", "index",
	"group", "routing", "lookup", "idempotency", "storage", "map", "state", "query", "hash", "range", "s3", "host",
}

func openKey(flat []byte) bool {
	for _, word := range openKeys {
		if bytes.HasSuffix(flat, []byte(word)) {
			return true
		}
	}
	return false
}
