package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Error says what is wrong with a setting and where.
type Error struct {
	File   string // or "environment"
	Line   int    // 0: not known
	Name   string // "" the file as a whole
	Reason string
}

// Error gives one sentence: file:line: name reason.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	b.WriteString(": ")
	if e.Name != "" {
		b.WriteString(e.Name + " ")
	}
	b.WriteString(e.Reason)
	return b.String()
}

// Notice is something to tell that stops nothing.
type Notice struct {
	File string
	Line int
	Text string
}

// String: see Error.
func (n Notice) String() string { return (&Error{File: n.File, Line: n.Line, Reason: n.Text}).Error() }

// field is one setting inside a Config.
type field struct {
	name  string
	tag   reflect.StructTag
	value reflect.Value
}

// fields lists the settings in the order they are declared; embedded structs
// are part of the list.
func (c *Config) fields() iter.Seq[field] {
	return func(yield func(field) bool) { walk(reflect.ValueOf(c).Elem(), yield) }
}

func walk(v reflect.Value, yield func(field) bool) bool {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.Anonymous {
			if !walk(v.Field(i), yield) {
				return false
			}
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		if !yield(field{name, f.Tag, v.Field(i)}) {
			return false
		}
	}
	return true
}

// set reads text, as the environment and defaults have it.
func (f field) set(text string) error {
	switch p := f.value.Addr().Interface().(type) {
	case *string:
		*p = text
	case *time.Duration:
		d, err := time.ParseDuration(text)
		if err != nil {
			return errors.New("must be a duration like 30s or 10m")
		}
		*p = d
	case *[]string:
		*p = nil
		for part := range strings.SplitSeq(text, ",") {
			if part = strings.TrimSpace(part); part != "" {
				*p = append(*p, part)
			}
		}
	case *bool:
		switch strings.ToLower(text) {
		case "1", "true", "yes", "on":
			*p = true
		case "0", "false", "no", "off":
			*p = false
		default:
			return errors.New("must be true or false")
		}
	case *int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return errors.New("must be a whole number")
		}
		*p = n
	default:
		// Anything richer is JSON in the environment too.
		if text == "" {
			return nil
		}
		return f.setJSON([]byte(text))
	}
	return nil
}

// setJSON reads a JSON value; durations are texts.
func (f field) setJSON(raw []byte) error {
	if _, ok := f.value.Interface().(time.Duration); ok {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			return errors.New(`must be a duration like "30s" or "10m"`)
		}
		return f.set(text)
	}
	fresh := reflect.New(f.value.Type())
	if err := json.Unmarshal(raw, fresh.Interface()); err != nil {
		return fmt.Errorf("must be %s", kindName(f.value.Type()))
	}
	f.value.Set(fresh.Elem())
	return nil
}

func kindName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Struct {
			return `a list like [{"kind": "badge", "pattern": "B-[0-9]{6}"}]`
		}
		return "a list of texts"
	}
	return "a JSON " + t.Kind().String()
}

// readJSON reads a file's text.
func (c *Config) readJSON(file string, text []byte) ([]Notice, error) {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	line := func(offset int64) int { return 1 + bytes.Count(text[:min(int(offset), len(text))], []byte("\n")) }
	broken := func(err error) error { return syntax(file, text, err, line) }

	if t, err := dec.Token(); err != nil {
		return nil, broken(err)
	} else if t != json.Delim('{') {
		return nil, &Error{File: file, Line: 1, Reason: "must be a JSON object"}
	}
	var notices []Notice
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, broken(err)
		}
		name, at := t.(string), line(dec.InputOffset())
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, broken(err)
		}
		f, ok := c.field(name)
		if !ok {
			notices = append(notices, Notice{file, at, fmt.Sprintf("no setting is called %q%s", name, c.like(name))})
			continue
		}
		if err := f.setJSON(raw); err != nil {
			return nil, &Error{File: file, Line: at, Name: name, Reason: err.Error()}
		}
		c.place(f.name, at)
		begin := dec.InputOffset() - int64(len(raw))
		for i, offset := range entries(raw) {
			c.place(entry(f.name, i), line(begin+offset))
		}
	}
	if _, err := dec.Token(); err != nil {
		return nil, broken(err)
	}
	if rest := bytes.TrimSpace(text[dec.InputOffset():]); len(rest) > 0 {
		return nil, &Error{File: file, Line: line(dec.InputOffset()), Reason: "has something after the closing brace"}
	}
	return notices, nil
}

// place remembers the line where a setting, or an entry of one, stands.
func (c *Config) place(name string, line int) {
	if c.lines == nil {
		c.lines = map[string]int{}
	}
	c.lines[name] = line
}

// entries gives where in a JSON list its values end; nil if it is none.
func entries(raw []byte) (ends []int64) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('[') {
		return nil
	}
	for dec.More() {
		var one json.RawMessage
		if dec.Decode(&one) != nil {
			return nil
		}
		ends = append(ends, dec.InputOffset())
	}
	return ends
}

func syntax(file string, text []byte, err error, line func(int64) int) error {
	e := &Error{File: file, Reason: "is not valid JSON: " + err.Error()}
	var s *json.SyntaxError
	if errors.As(err, &s) {
		e.Line = line(s.Offset)
	} else {
		e.Line = line(int64(len(text)))
		e.Reason = "is not valid JSON: it ends too early"
	}
	return e
}

func (c *Config) field(name string) (field, bool) {
	for f := range c.fields() {
		if strings.EqualFold(f.name, name) {
			return f, true
		}
	}
	return field{}, false
}

// like proposes the setting that differs only in case or in - and _.
func (c *Config) like(name string) string {
	plain := func(s string) string {
		return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(s))
	}
	for f := range c.fields() {
		if plain(f.name) == plain(name) {
			return fmt.Sprintf("; did you mean %q?", f.name)
		}
	}
	return ""
}

// prefix begins the name of every variable that is a setting.
const prefix = "CMEM_"

// reserved are variables of ours that are no settings.
var reserved = []string{"CMEM_DATA_DIR", "CMEM_INTERNAL", "CMEM_FAILPOINT", "CMEM_FAILPOINTS"}

func environment(name string) string { return prefix + strings.ToUpper(name) }

func (c *Config) readEnviron(environ []string) ([]Notice, error) {
	var notices []Notice
	for _, kv := range environ {
		key, value, _ := strings.Cut(kv, "=")
		if !strings.HasPrefix(key, prefix) || slices.Contains(reserved, key) || hookSetting(key) {
			continue
		}
		f, ok := c.field(strings.ToLower(strings.TrimPrefix(key, prefix)))
		if !ok {
			notices = append(notices, Notice{File: "environment", Text: "no setting belongs to " + key})
			continue
		}
		if err := f.set(value); err != nil {
			return nil, &Error{File: "environment", Name: key, Reason: err.Error()}
		}
		c.overridden(f.name)
	}
	return notices, c.hookEnvironment(environ)
}
