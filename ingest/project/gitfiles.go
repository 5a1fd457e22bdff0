package project

import (
	"bytes"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// The caps on what is read.
const (
	maxLine   = 4 << 10   // HEAD, a ref, a pointer
	maxConfig = 256 << 10 // config
	maxPacked = 2 << 20   // packed-refs; a ref further on has no commit here
)

// read gives the first bytes of a plain file, nothing for anything else: a pipe
// would hold us up for ever.
func read(name string, limit int64) []byte {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit))
	if err != nil {
		return nil
	}
	return data
}

func firstLine(name string) string {
	text, _, _ := strings.Cut(string(read(name, maxLine)), "\n")
	return strings.TrimSpace(text)
}

// head gives branch and commit.
func (r repo) head() (branch, commit string) {
	text := firstLine(filepath.Join(r.gitDir, "HEAD"))
	ref, ok := strings.CutPrefix(text, "ref:")
	if !ok {
		return "", short(text)
	}
	ref = strings.TrimSpace(ref)
	if !strings.HasPrefix(ref, "refs/") || path.Clean(ref) != ref {
		return "", ""
	}
	branch = line(strings.TrimPrefix(ref, "refs/heads/"))
	if branch == ".invalid" { // the reftable format keeps refs elsewhere
		return "", ""
	}
	for _, dir := range []string{r.gitDir, r.common} {
		if commit = short(firstLine(filepath.Join(dir, filepath.FromSlash(ref)))); commit != "" {
			return branch, commit
		}
	}
	return branch, r.packed(ref)
}

func (r repo) packed(ref string) string {
	data := read(filepath.Join(r.common, "packed-refs"), maxPacked)
	i := bytes.Index(data, []byte(" "+ref+"\n"))
	if i < 0 {
		return ""
	}
	start := bytes.LastIndexByte(data[:i], '\n') + 1
	return short(string(data[start:i]))
}

// short gives the first 12 digits of an object's name, "" for any other text.
func short(text string) string {
	if len(text) != 40 && len(text) != 64 || strings.Trim(text, "0123456789abcdef") != "" {
		return ""
	}
	return text[:12]
}

// line makes a text of a stranger's fit for an attribute.
func line(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\uFFFD' {
			return -1
		}
		return r
	}, text)
	return strings.ToValidUTF8(text[:min(len(text), 200)], "")
}

// config is what is read of a repository's config file.
type config struct {
	remotes  map[string]string // name → url
	worktree string
}

// readConfig knows sections, names in any letter case, quotes and comments; it
// follows no include.
func readConfig(name string) config {
	c := config{remotes: map[string]string{}}
	section := ""
	for row := range strings.Lines(string(read(name, maxConfig))) {
		row = strings.TrimSpace(row)
		if strings.HasPrefix(row, "[") {
			section, _, _ = strings.Cut(row[1:], "]")
			continue
		}
		key, value, ok := strings.Cut(row, "=")
		if !ok {
			continue
		}
		c.set(section, strings.ToLower(strings.TrimSpace(key)), unquote(value))
	}
	return c
}

func (c *config) set(section, key, value string) {
	kind, name, _ := strings.Cut(section, " ")
	switch {
	case strings.EqualFold(kind, "core") && key == "worktree":
		c.worktree = value
	case strings.EqualFold(kind, "remote") && key == "url":
		name = strings.Trim(strings.TrimSpace(name), `"`)
		if c.remotes[name] == "" {
			c.remotes[name] = value
		}
	}
}

func unquote(value string) string {
	value = strings.TrimSpace(value)
	if rest, ok := strings.CutPrefix(value, `"`); ok {
		value, _, _ = strings.Cut(rest, `"`)
		return value
	}
	for _, comment := range []string{" #", " ;", "\t#", "\t;"} {
		value, _, _ = strings.Cut(value, comment)
	}
	return strings.TrimSpace(value)
}

// url is the remote that names the project: origin, upstream, or the only one.
func (c config) url() string {
	for _, name := range []string{"origin", "upstream"} {
		if u := c.remotes[name]; u != "" {
			return u
		}
	}
	if len(c.remotes) == 1 {
		for _, u := range c.remotes {
			return u
		}
	}
	return ""
}
