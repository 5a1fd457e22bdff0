package home

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
)

// maxConfig caps what is read as a settings file.
const maxConfig = 4 << 20

// ReadJSON reads a settings file into v, a pointer to a struct. It is the one
// reader for all such files, so they all forgive the same things: a byte order
// mark, an empty file (v stays as it is), keys that v does not know, which come
// back in unknown as dotted paths, sorted.
//
// An error names file, line, column and reason. Where the JSON is whole and one
// value has the wrong type, the other values are set all the same. A missing
// file is an error for which errors.Is(err, fs.ErrNotExist).
func ReadJSON(path string, v any) (unknown []string, err error) {
	data, err := readRegular(path)
	if err != nil {
		return nil, err
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, nil
	}
	err = json.Unmarshal(data, v)
	var typed *json.UnmarshalTypeError
	if err != nil && !errors.As(err, &typed) {
		return nil, explain(path, data, err)
	}
	unknown = unknownKeys(nil, "", data, reflect.TypeOf(v))
	slices.Sort(unknown)
	if err != nil {
		err = explain(path, data, err)
	}
	return unknown, err
}

// readRegular does not wait on a pipe that lies where a file should.
func readRegular(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(data) > maxConfig {
		return nil, fmt.Errorf("%s: larger than %d bytes", path, maxConfig)
	}
	return data, nil
}

func explain(path string, data []byte, err error) error {
	var syntax *json.SyntaxError
	var typed *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		line, column := place(data, syntax.Offset)
		return fmt.Errorf("%s:%d:%d: %w", path, line, column, err)
	case errors.As(err, &typed):
		line, column := place(data, typed.Offset)
		return fmt.Errorf("%s:%d:%d: %q wants %s, not %s: %w", path, line, column, typed.Field, words(typed.Type), typed.Value, err)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// place turns an offset (bytes read so far) into a line and a column, from 1.
func place(data []byte, offset int64) (line, column int) {
	before := data[:max(0, min(int(offset)-1, len(data)))]
	return bytes.Count(before, []byte("\n")) + 1, len(before) - (bytes.LastIndexByte(before, '\n') + 1) + 1
}

func words(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return words(t.Elem())
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a text"
	case reflect.Slice:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	}
	return "a number"
}

func unknownKeys(out []string, prefix string, data []byte, t reflect.Type) []string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	var object map[string]json.RawMessage
	if t.Kind() != reflect.Struct || json.Unmarshal(data, &object) != nil {
		return out
	}
	known := fields(t)
	for key, value := range object {
		i := slices.IndexFunc(known, func(f field) bool { return strings.EqualFold(f.name, key) })
		if i < 0 {
			out = append(out, prefix+key)
			continue
		}
		out = unknownKeys(out, prefix+key+".", value, known[i].typ)
	}
	return out
}

type field struct {
	name string
	typ  reflect.Type
}

// fields lists the JSON names of a struct, those of embedded structs included.
func fields(t reflect.Type) []field {
	var out []field
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			out = append(out, fields(f.Type)...)
		case !f.IsExported():
		case name == "":
			out = append(out, field{f.Name, f.Type})
		default:
			out = append(out, field{name, f.Type})
		}
	}
	return out
}
