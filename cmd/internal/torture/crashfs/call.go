package crashfs

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// call is one finished system call: its name, arguments and result as strace
// wrote them with -y -xx.
type call struct {
	name   string
	args   []string
	result int64
	told   string // what follows the result: the descriptor's path
}

// parseCall reads a line without its process id; ok is false for lines that are
// no call: signals and exits.
func parseCall(line string) (c call, ok bool, err error) {
	name, rest, found := strings.Cut(line, "(")
	if !found || strings.HasPrefix(line, "+++") || strings.HasPrefix(line, "---") {
		return c, false, nil
	}
	c.name = name
	end := strings.LastIndex(rest, ") ")
	if end < 0 || !strings.HasPrefix(strings.TrimLeft(rest[end+1:], " "), "= ") {
		return c, false, fmt.Errorf("not a call: %.200s", line)
	}
	c.args = splitArgs(rest[:end])
	result := strings.TrimPrefix(strings.TrimLeft(rest[end+1:], " "), "= ")
	number, _, _ := strings.Cut(result, " ")
	number, path, _ := strings.Cut(number, "<")
	c.told = unhex(strings.TrimSuffix(path, ">"))
	if number == "?" {
		return c, false, nil // the process died in it
	}
	if c.result, err = strconv.ParseInt(number, 0, 64); err != nil {
		return c, false, fmt.Errorf("result %q of %.200s", result, line)
	}
	return c, true, nil
}

// splitArgs cuts at commas that are within no bracket. Text is hex and holds none.
func splitArgs(s string) (all []string) {
	depth, from := 0, 0
	for i := range len(s) {
		switch s[i] {
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		case ',':
			if depth == 0 {
				all = append(all, strings.TrimSpace(s[from:i]))
				from = i + 1
			}
		}
	}
	if rest := strings.TrimSpace(s[from:]); rest != "" {
		all = append(all, rest)
	}
	return all
}

// unhex reads text that strace wrote as \x…\x…, with or without quotes.
func unhex(s string) string {
	s = strings.Trim(s, `"`)
	b, err := hex.DecodeString(strings.ReplaceAll(s, `\x`, ""))
	if err != nil {
		return s
	}
	return string(b)
}

func (c *call) text(i int) string {
	if i >= len(c.args) {
		return ""
	}
	return unhex(c.args[i])
}

func (c *call) number(i int) int64 {
	if i >= len(c.args) {
		return 0
	}
	n, _ := strconv.ParseInt(c.args[i], 0, 64) // NULL is 0
	return n
}

// descriptor gives the number and path of an argument like 3</a/b>. A path with
// "(deleted)" behind it has no name any more: it is "".
func (c *call) descriptor(i int) (fd, path string) {
	if i >= len(c.args) {
		return "", ""
	}
	fd, rest, _ := strings.Cut(c.args[i], "<")
	hexed, after, _ := strings.Cut(rest, ">")
	if after != "" {
		return fd, ""
	}
	return fd, strings.TrimSuffix(unhex(hexed), " (deleted)")
}

// path joins a folder's descriptor and a name.
func (c *call) path(folder, name int) string {
	p := c.text(name)
	if strings.HasPrefix(p, "/") {
		return p
	}
	_, dir := c.descriptor(folder)
	return dir + "/" + p
}

// vector is the data of writev: [{iov_base="…", iov_len=n}, …].
func (c *call) vector(i int) []byte {
	var all []byte
	for part := range strings.SplitSeq(c.args[i], "iov_base=") {
		if quoted, _, ok := strings.Cut(part, ", iov_len"); ok {
			all = append(all, unhex(quoted)...)
		}
	}
	return all
}

func (c *call) has(i int, flag string) bool {
	return i < len(c.args) && strings.Contains(c.args[i], flag)
}
