package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
)

// readBody reads a JSON object into the struct v points to. Keys match exactly
// (encoding/json takes any letter case); other keys are let through, since
// claude-mem's clients send some that mean nothing here. A byte order mark may
// stand first.
func readBody(r *http.Request, v any) error {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	b = bytes.TrimSpace(bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")))
	if len(b) == 0 {
		return Errorf(Invalid, "the body is empty; this route expects a JSON object")
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(b, &members); err != nil || members == nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return Errorf(Invalid, "the body is not JSON: %s at byte %d", firstLine(syntax.Error()), syntax.Offset)
		}
		return Errorf(Invalid, "the body is %s; this route expects a JSON object", jsonKind(b))
	}
	return fill(reflect.ValueOf(v).Elem(), members)
}

// fill sets the fields of a struct from the members of their names.
func fill(to reflect.Value, members map[string]json.RawMessage) error {
	for i := range to.NumField() {
		name, _, _ := strings.Cut(to.Type().Field(i).Tag.Get("json"), ",")
		raw, ok := members[name]
		if !ok {
			continue
		}
		err := json.Unmarshal(raw, to.Field(i).Addr().Interface())
		var own *Error
		switch {
		case errors.As(err, &own):
			return own
		case err != nil && raw[0] == '[' && to.Field(i).Kind() == reflect.Slice:
			return Errorf(Invalid, "%s must be %s only", name, wanted(to.Field(i).Type()))
		case err != nil:
			return Errorf(Invalid, "%s must be %s, not %s", name, wanted(to.Field(i).Type()), jsonKind(raw))
		}
	}
	return nil
}

// wanted says in words what a field takes.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a text"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Slice:
		return "a list of texts"
	}
	return "something else"
}

// jsonKind says in words what a JSON value is.
func jsonKind(b []byte) string {
	switch b[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a text"
	case 't', 'f':
		return "true or false"
	case 'n':
		return "null"
	}
	return "the number " + firstLine(string(b[:min(len(b), 20)]))
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}
