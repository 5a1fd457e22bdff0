package redact

import "bytes"

// Some forms give a name and its value as two members: key="password"
// value="…", name: DB_PASSWORD with value: … on the next line, and the same in
// JSON. pairNames and pairValues are what those members are called, in small
// letters; ParameterKey and ParameterValue too.
var (
	pairNames  = []string{"name", "key", "variable", "header", "parameterkey", "parametername", "id", "option", "property"}
	pairValues = []string{"value", "parametervalue", "val", "stringvalue", "secretvalue"}
)

func oneOf(word []byte, names []string) bool {
	for _, name := range names {
		if len(word) == len(name) && bytes.EqualFold(word, []byte(name)) {
			return true
		}
	}
	return false
}

// pairValue gives where the value begins if [from,to) is the name of such a
// pair, -1 else.
func pairValue(text []byte, from, to int) (i int, how style) {
	if !oneOf(wordBefore(text, from), pairNames) {
		return -1, bare
	}
	i = skipSpace(text, skipQuote(text, to))
	if i < len(text) && (text[i] == ',' || text[i] == ';') {
		i = skipSpace(text, i+1)
	}
	i = skipQuote(text, i)
	start := i
	for i < len(text) && i-start < 16 && isLetter(text[i]) {
		i++
	}
	if !oneOf(text[start:i], pairValues) {
		return -1, bare
	}
	i = skipBlanks(text, skipQuote(text, i))
	if i >= len(text) || mark(text[i:]) == 0 {
		return -1, bare
	}
	how = bare
	if shouted(text[from:to]) {
		how = environs
	}
	return skipBlanks(text, i+mark(text[i:])), how
}

// wordBefore gives the word that names what begins at i: the name of name="…,
// "name": "…, name: ….
func wordBefore(text []byte, i int) []byte {
	i = backQuote(text, i)
	i = backBlanks(text, i)
	if i == 0 || text[i-1] != '=' && text[i-1] != ':' {
		return nil
	}
	end := backQuote(text, backBlanks(text, i-1))
	for i = end; i > 0 && end-i < 16 && isLetter(text[i-1]); i-- {
	}
	if i > 0 && end-i > 1 && text[i-1] == '\\' { // the n of \nname
		i++
	}
	return text[i:end]
}

// backQuote goes back over one quote, which may be escaped.
func backQuote(text []byte, i int) int {
	if i == 0 || !isQuote(text[i-1]) {
		return i
	}
	j := i - 1
	for n := 0; j > 0 && n < 8 && text[j-1] == '\\'; n++ {
		j--
	}
	return j
}

func backBlanks(text []byte, i int) int {
	for n := 0; n < 16 && i > 0 && (text[i-1] == ' ' || text[i-1] == '\t'); n++ {
		i--
	}
	return i
}
