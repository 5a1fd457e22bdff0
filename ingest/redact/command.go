package redact

import "bytes"

// How a tool takes an option's value.
const (
	separate = 1 << iota // -p VALUE
	attached             // -pVALUE
)

// maxCommand is how much of a command is read for its options.
const maxCommand = 400

// optionOf matches the password that a tool, the rule's literal, takes by a
// short option, whose letter means other things to other tools.
func optionOf(option string, form int) func(*spot, *secretRule) (int, int, string) {
	return func(at *spot, rule *secretRule) (start, stop int, kind string) {
		if !startsAlone(at.text, at.start) || at.start > 0 && at.text[at.start-1] == '-' {
			return 0, 0, ""
		}
		end := min(len(at.text), at.end+maxCommand)
		i := at.end
		for i < end && is(at.text[i], cWord) { // mysqldump
			i++
		}
		text := at.text[:end]
		for {
			from := nextWord(text, i)
			to := wordEnd(text, from)
			if to <= from {
				return 0, 0, ""
			}
			i = to
			from, to = unquote(text, from, to)
			word := text[from:to]
			switch {
			case form&separate != 0 && string(word) == option:
				start = nextWord(text, i)
				stop = wordEnd(text, start)
			case form&attached != 0 && len(word) > len(option) && bytes.HasPrefix(word, []byte(option)) && !otherOption(word):
				start, stop = from+len(option), to
			default:
				continue
			}
			if start, stop = unquote(text, start, stop); stop-start < 2 || placeholder(text[start:stop]) || text[start] == '-' {
				return 0, 0, ""
			}
			return start, stop, rule.kind
		}
	}
}

// otherOption knows what looks like -pVALUE: options of find after a folder
// called mysql, and ports.
func otherOption(word []byte) bool {
	switch string(word) {
	case "-print", "-print0", "-printf", "-path", "-perm", "-prune":
		return true
	}
	value := word[2:]
	if value[0] == ':' || value[0] == '=' || len(bytes.Trim(value, "0123456789:./")) == 0 && (len(value) < 6 || bytes.IndexByte(value, ':') >= 0) {
		return true
	}
	return false
}

// nextWord goes to the next word of a command; len(text) or an operator if
// there is none.
func nextWord(text []byte, i int) int {
	for i < len(text) {
		switch {
		case text[i] == ' ' || text[i] == '\t':
			i++
		case text[i] == '\\' && i+1 < len(text) && text[i+1] == '\n':
			i += 2
		default:
			return i
		}
	}
	return i
}

// wordEnd gives the end of the shell word at i, quotes included; i itself if an
// operator or the end of the line stands there.
func wordEnd(text []byte, i int) int {
	for i < len(text) {
		switch c := text[i]; c {
		case ' ', '\t', '\n', '\r', ';', '|', '&', ')', '(', '`', '<', '>':
			return i
		case '"', '\'':
			n := bytes.IndexByte(text[i+1:], c)
			if n < 0 {
				return i
			}
			i += n + 2
		case '\\':
			if i+1 < len(text) && text[i+1] == '\n' {
				return i
			}
			i = min(i+2, len(text))
		default:
			i++
		}
	}
	return i
}

func unquote(text []byte, start, stop int) (int, int) {
	if stop-start >= 2 && (text[start] == '"' || text[start] == '\'') && text[stop-1] == text[start] {
		return start + 1, stop - 1
	}
	return start, stop
}

// userOption matches the password in -u user:password, as curl takes it. For
// other tools two numbers or a name twice are a container's user and group.
func userOption(at *spot, rule *secretRule) (start, stop int, kind string) {
	text := at.text
	if at.start > 0 && !is(text[at.start-1], cValue) {
		return 0, 0, ""
	}
	i, long := at.end, at.end-at.start > 2
	curl := false
	switch {
	case i >= len(text):
		return 0, 0, ""
	case long && text[i] == '=', text[i] == ' ', text[i] == '\t':
		i = skipBlanks(text, i+1)
	case long:
		return 0, 0, ""
	default:
		curl = true // only curl takes -uuser:password
	}
	from := skipQuote(text, i)
	stop = from
	if from > i {
		for quote := text[from-1]; stop < len(text) && stop-from < maxValue && text[stop] != quote && text[stop] != '\n'; {
			stop++
		}
	} else {
		for stop < len(text) && stop-from < maxValue && !is(text[stop], cValue) && text[stop] != ';' {
			stop++
		}
	}
	user, password, ok := bytes.Cut(text[from:stop], []byte(":"))
	if !ok || len(user) == 0 || len(password) == 0 || placeholder(password) || bytes.ContainsAny(user, " \t") {
		return 0, 0, ""
	}
	switch line := at.lineBefore(); {
	case bytes.Contains(line, []byte("curl")):
	case curl || bytes.Contains(line, []byte("docker")) || bytes.Contains(line, []byte("podman")) || bytes.Contains(line, []byte("kubectl")):
		return 0, 0, ""
	case len(password) < 4 || bytes.Equal(user, password) || !has(password, cLetter):
		return 0, 0, ""
	}
	return stop - len(password), stop, rule.kind
}

// lineBefore gives what stands before the literal on its line.
func (at *spot) lineBefore() []byte {
	line := at.text[max(0, at.start-maxCommand):at.start]
	return line[bytes.LastIndexByte(line, '\n')+1:]
}

// netrc matches the password of "machine HOST login NAME password VALUE", on one
// line or on several.
func netrc(at *spot, rule *secretRule) (start, stop int, kind string) {
	text := at.text
	i := at.end
	login := is(text[at.start], cLetter) && lower(text[at.start]) == 'd'
	if _, i = field(text, i); login { // the name behind "default login"
		if i < 0 {
			return 0, 0, ""
		}
	}
	for range 3 {
		var word []byte
		if word, i = field(text, i); i < 0 {
			return 0, 0, ""
		}
		switch string(word) {
		case "login", "account":
			login = true
			if _, i = field(text, i); i < 0 {
				return 0, 0, ""
			}
		case "password":
			start = skipSpace(text, i)
			value, end := field(text, i)
			if end < 0 || placeholder(value) || !login && !netrcNext(text, end) {
				return 0, 0, ""
			}
			start, stop = unquote(text, start, end)
			return start, stop, rule.kind
		default:
			return 0, 0, ""
		}
	}
	return 0, 0, ""
}

// netrcNext: a password may stand before the login.
func netrcNext(text []byte, i int) bool {
	word, _ := field(text, i)
	return string(word) == "login"
}

// field gives the next word after white space and where it ends, -1 for none.
func field(text []byte, i int) (word []byte, end int) {
	if i < 0 {
		return nil, -1
	}
	from := skipSpace(text, i)
	end = from
	for end < len(text) && end-from < 256 && text[end] > ' ' && text[end] != '\\' {
		end++
	}
	if end == from || end-from == 256 {
		return nil, -1
	}
	return text[from:end], end
}
