package rules

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// kind is what a command is run for.
type kind string

const (
	testKind    kind = "test"
	lintKind    kind = "lint"
	buildKind   kind = "build"
	installKind kind = "install"
	commitKind  kind = "commit"
	pushKind    kind = "push"
	otherKind   kind = ""
)

// command is one simple command of a shell line: program and arguments without
// environment assignments, redirections or quotes.
type command struct {
	words   []string
	targets []string // files that output is redirected to
	heredoc string   // text of a here-document
	piped   bool     // its input comes from the command before
}

// wrappers are programs that run the command that follows them.
var wrappers = []string{"sudo", "time", "env", "nice", "nohup", "command", "exec", "npx", "bunx", "timeout", "xvfb-run"}

// parse splits a shell line into its simple commands. It understands quotes,
// && || ; | and new lines, here-documents and `bash -lc '…'`; what it does not
// understand stays a word. It is for reading evidence, never for running it.
func parse(line string) []command {
	var out []command
	for _, c := range split(line) {
		for len(c.words) > 0 && (isAssignment(c.words[0]) || slices.Contains(wrappers, path.Base(c.words[0]))) {
			c.words = c.words[1:]
			for len(c.words) > 0 && (strings.HasPrefix(c.words[0], "-") || isNumber(c.words[0])) {
				c.words = c.words[1:]
			}
		}
		if len(c.words) == 0 {
			continue
		}
		if script, ok := inner(c.words); ok {
			out = append(out, parse(script)...)
			continue
		}
		out = append(out, c)
	}
	return out
}

// inner gives the script of `bash -lc script`.
func inner(words []string) (string, bool) {
	switch path.Base(words[0]) {
	case "bash", "sh", "zsh", "dash":
		for i, w := range words[1:] {
			if strings.HasPrefix(w, "-") && strings.HasSuffix(w, "c") && i+2 < len(words) {
				return words[i+2], true
			}
		}
	}
	return "", false
}

func isAssignment(w string) bool {
	name, _, ok := strings.Cut(w, "=")
	return ok && name != "" && !strings.ContainsAny(name, "-/. ")
}

func isNumber(w string) bool {
	return w != "" && strings.Trim(w, "0123456789.smh") == ""
}

// scanner walks a shell line once.
type scanner struct {
	line     string
	at       int
	out      []command
	now      command
	word     strings.Builder
	inWord   bool
	redirect bool   // the next word is a redirection's target
	input    bool   // the next word is the file that input comes from
	here     string // the delimiter of a here-document that starts on the next line
	wantHere bool   // the next word is a here-document's delimiter
}

func split(line string) []command {
	s := &scanner{line: line}
	for s.at < len(s.line) {
		s.step()
	}
	s.endCommand(false)
	return s.out
}

func (s *scanner) step() {
	c := s.line[s.at]
	s.at++
	switch c {
	case '\\':
		if s.at < len(s.line) {
			if s.line[s.at] != '\n' {
				s.add(s.line[s.at])
			}
			s.at++
		}
	case '\'', '"':
		s.quoted(c)
	case ' ', '\t':
		s.endWord()
	case '\n':
		s.endCommand(false)
		s.hereDocument()
	case ';', '(', ')', '`':
		s.endCommand(false)
	case '&', '|':
		s.operator(c)
	case '>', '<':
		s.redirection(c)
	case '#':
		if s.inWord {
			s.add(c)
		} else {
			s.skipLine()
		}
	default:
		s.add(c)
	}
}

func (s *scanner) add(c byte) { s.word.WriteByte(c); s.inWord = true }

func (s *scanner) quoted(q byte) {
	s.inWord = true
	for s.at < len(s.line) && s.line[s.at] != q {
		if q == '"' && s.line[s.at] == '\\' && s.at+1 < len(s.line) && strings.IndexByte("\"\\$`\n", s.line[s.at+1]) >= 0 {
			s.at++
		}
		s.word.WriteByte(s.line[s.at])
		s.at++
	}
	s.at++
}

// operator ends a command at && || | &; 2>&1 was taken by redirection.
func (s *scanner) operator(c byte) {
	twice := s.at < len(s.line) && s.line[s.at] == c
	if twice {
		s.at++
	}
	s.endCommand(c == '|' && !twice)
}

func (s *scanner) redirection(c byte) {
	if s.inWord && isNumber(s.word.String()) {
		s.word.Reset() // a file descriptor
		s.inWord = false
	}
	s.endWord()
	rest := s.line[s.at:]
	switch {
	case c == '<' && strings.HasPrefix(rest, "<"):
		s.at += len(rest) - len(strings.TrimLeft(rest, "<-"))
		s.wantHere = true
	case strings.HasPrefix(rest, "&"):
		s.at++
		for s.at < len(s.line) && strings.IndexByte("0123456789-", s.line[s.at]) >= 0 {
			s.at++
		}
	default:
		s.at += len(rest) - len(strings.TrimLeft(rest, ">|"))
		s.redirect, s.input = c == '>', c == '<'
	}
}

func (s *scanner) endWord() {
	if !s.inWord {
		return
	}
	w := s.word.String()
	s.word.Reset()
	s.inWord = false
	switch {
	case s.wantHere:
		s.here, s.wantHere = w, false
	case s.input:
		s.input = false
	case s.redirect:
		s.now.targets, s.redirect = append(s.now.targets, w), false
	default:
		s.now.words = append(s.now.words, w)
	}
}

func (s *scanner) endCommand(pipe bool) {
	s.endWord()
	if len(s.now.words) > 0 || len(s.now.targets) > 0 {
		s.out = append(s.out, s.now)
	}
	s.now = command{piped: pipe}
	s.redirect, s.wantHere, s.input = false, false, false
}

// hereDocument reads the lines up to the delimiter into the last command.
func (s *scanner) hereDocument() {
	if s.here == "" {
		return
	}
	var body []string
	for s.at < len(s.line) {
		text, _, more := strings.Cut(s.line[s.at:], "\n")
		s.at += len(text)
		if more {
			s.at++
		}
		if strings.TrimSpace(text) == s.here {
			break
		}
		body = append(body, text)
	}
	s.here = ""
	if n := len(s.out); n > 0 {
		s.out[n-1].heredoc = strings.Join(body, "\n")
	}
}

func (s *scanner) skipLine() {
	if i := strings.IndexByte(s.line[s.at:], '\n'); i >= 0 {
		s.at += i
	} else {
		s.at = len(s.line)
	}
}

// args are the words after the program that are no flags.
func (c command) args() []string {
	var out []string
	for _, w := range c.words[1:] {
		if !strings.HasPrefix(w, "-") {
			out = append(out, w)
		}
	}
	return out
}

func (c command) program() string {
	if len(c.words) == 0 {
		return ""
	}
	return path.Base(c.words[0])
}

var patchFile = regexp.MustCompile(`(?m)^\*\*\* (?:Add|Update|Delete) File: (.+)$`)

// writes gives the files a command changed, as far as its words show it.
func (c command) writes() []string {
	var out []string
	for _, t := range c.targets {
		out = append(out, plainPaths([]string{t})...)
	}
	for _, m := range patchFile.FindAllStringSubmatch(c.heredoc, -1) {
		out = append(out, strings.TrimSpace(m[1]))
	}
	if len(c.words) == 0 {
		return out
	}
	args := c.args()
	switch c.program() {
	case "sed":
		if slices.ContainsFunc(c.words, func(w string) bool { return strings.HasPrefix(w, "-i") || w == "--in-place" }) {
			out = append(out, sedFiles(args)...)
		}
	case "rm", "touch", "tee", "truncate":
		out = append(out, plainPaths(args)...)
	case "mv":
		out = append(out, plainPaths(args)...)
	case "cp":
		if len(args) > 1 {
			out = append(out, plainPaths(args[len(args)-1:])...)
		}
	}
	return out
}

// sedFiles drops an empty backup suffix and the script.
func sedFiles(args []string) []string {
	for len(args) > 0 && args[0] == "" {
		args = args[1:]
	}
	if len(args) < 2 {
		return nil
	}
	return plainPaths(args[1:])
}

func plainPaths(words []string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool {
		return w == "" || strings.ContainsAny(w, "$*?{}()\n") || strings.HasPrefix(w, "/dev/") || strings.HasPrefix(w, "/tmp/")
	})
}
