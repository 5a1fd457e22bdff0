package hook

import (
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"cmem/ingest/filter"
)

// Context of a session's start.
const (
	freshFor     = 24 * time.Hour
	askFor       = time.Second // the worker, when the cached context is old
	contextLimit = 9990        // bytes; Claude Code and Codex cut at 10,000
	ownTag       = "cmem-context"
)

// context is what the model is told when a session starts; "" at other events.
// A cached file is enough for a day; then the worker is asked; without one, an
// old text is better than none, and says its age.
func (r *run) context() string {
	if !strings.EqualFold(r.said.Event, "SessionStart") || r.said.Agent != "" || r.dir == "" || r.excluded() {
		return ""
	}
	key := r.where().Key()
	text, age := readContext(r.dir.ContextFile(key, r.host.Name), r.captured)
	if text == "" || age >= freshFor {
		path := "/api/context/inject?project=" + queryEscape(key) + "&platformSource=" + queryEscape(r.host.Name)
		if fresh, ok := r.ask(path, askFor); ok {
			text, age = fresh, 0
		}
	}
	return present(text, age, r.host.ContextBytes)
}

// excluded: nothing is shown where nothing is kept. Without a payload, or where
// it could not be kept, the filter was not asked yet.
func (r *run) excluded() bool {
	if !r.asked {
		where := r.where()
		r.rule(filter.Event{
			Host: r.host.Name, Event: r.said.Event, Session: r.said.Session, Cwd: r.said.Cwd,
			GitRoot: where.Root, ProjectName: where.Display(), Time: r.captured,
		})
	}
	return r.skipped
}

// readContext gives the cached text and its age. A time in the future is the
// age of a day: the clock was wrong, now or then.
func readContext(path string, now time.Time) (text string, age time.Duration) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 {
		return "", freshFor
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", freshFor
	}
	if age = now.Sub(info.ModTime()); age < -time.Hour {
		age = freshFor
	}
	return string(data), age
}

// present makes a text fit to be shown: without control bytes, inside our tag,
// so that it is known for our own when the host's transcript brings it back,
// with no such tag inside, and short enough.
func present(text string, age time.Duration, limit int) string {
	text = strings.TrimSpace(unwrap(strings.TrimSpace(clean(text))))
	if text == "" {
		return ""
	}
	text = escapeTags(text)
	if age >= freshFor {
		text = "(as it was " + days(age) + " ago; newer memories could not be asked for)\n" + text
	}
	if limit <= 0 || limit > contextLimit {
		limit = contextLimit
	}
	open, end := "<"+ownTag+">\n", "\n</"+ownTag+">"
	return open + cutTo(text, limit-len(open)-len(end)) + end
}

func days(age time.Duration) string {
	if n := int(age / (24 * time.Hour)); n > 1 {
		return strconv.Itoa(n) + " days"
	}
	return "a day"
}

// unwrap takes off the tag that a renderer may have put around the text.
func unwrap(text string) string {
	inner, ok := strings.CutPrefix(text, "<"+ownTag+">")
	if !ok {
		return text
	}
	return strings.TrimSuffix(strings.TrimSpace(inner), "</"+ownTag+">")
}

// cutTo keeps whole lines, or whole characters of a single long one.
func cutTo(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	const more = "\n…"
	n := limit - len(more)
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	if line := strings.LastIndexByte(text[:n], '\n'); line > n/2 {
		n = line
	}
	return text[:n] + more
}

// escapeTags makes tags that redaction knows harmless: a memory that talks of
// them must not end or begin one.
func escapeTags(text string) string {
	var out strings.Builder
	for {
		n := strings.IndexByte(text, '<')
		if n < 0 {
			out.WriteString(text)
			return out.String()
		}
		out.WriteString(text[:n])
		if text = text[n:]; isTag(text) {
			out.WriteString("&lt;")
		} else {
			out.WriteByte('<')
		}
		text = text[1:]
	}
}

func isTag(text string) bool {
	name := strings.ToLower(strings.TrimLeft(text[1:min(len(text), 40)], "/ \t\n"))
	for _, tag := range []string{ownTag, "claude-mem-context", "private", "system-reminder", "system_instruction", "system-instruction", "persisted-output"} {
		if strings.HasPrefix(name, tag) {
			return true
		}
	}
	return false
}

// clean drops terminal sequences and control bytes other than line ends and
// tabs, and makes the text valid UTF-8.
func clean(text string) string {
	var out strings.Builder
	for i := 0; i < len(text); {
		c, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case c == 0x1b:
			size = sequence(text[i:])
		case c == utf8.RuneError && size == 1:
			out.WriteRune(utf8.RuneError)
		case c == '\n' || c == '\t' || c >= 0x20 && c < 0x7f || c > 0x9f:
			out.WriteString(text[i : i+size])
		}
		i += size
	}
	return out.String()
}

// sequence is the length of the terminal sequence that s begins with: ESC [ …
// letter, ESC ] … BEL or ESC \, or ESC and one byte.
func sequence(s string) int {
	if len(s) < 2 {
		return len(s)
	}
	switch s[1] {
	case '[':
		for i := 2; i < len(s); i++ {
			if s[i] >= 0x40 && s[i] <= 0x7e {
				return i + 1
			}
			if s[i] < 0x20 || s[i] > 0x7e {
				return i
			}
		}
		return len(s)
	case ']':
		for i := 2; i < len(s) && s[i] != '\n'; i++ {
			if s[i] == 0x07 {
				return i + 1
			}
			if s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\' {
				return i + 2
			}
		}
		return 2
	}
	if s[1] < 0x20 || s[1] >= 0x7f {
		return 1
	}
	return 2
}
