package envelope

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// maxEmbeddedDepth is how deeply nested a body may be and still be written as
// data; readers of JSON refuse more than 10,000 levels.
const maxEmbeddedDepth = 1000

// MarshalLine gives e as structured JSON on one line, without the line break.
// A body that is one line of valid JSON is the member data, byte for byte; any
// other is data_base64.
func MarshalLine(e Envelope) ([]byte, error) {
	return AppendLine(make([]byte, 0, len(e.Body)+512), e)
}

// AppendLine appends what MarshalLine gives. The error is Validate's.
func AppendLine(to []byte, e Envelope) ([]byte, error) {
	if err := e.Validate(); err != nil {
		return to, err
	}
	to = append(to, `{"specversion":"`+SpecVersion+`"`...)
	var buf [24]attribute
	for _, a := range e.attributes(buf[:0]) {
		to = append(to, ',', '"')
		to = append(to, a.name...)
		to = append(to, '"', ':')
		to = appendString(to, a.value)
	}
	return append(appendData(to, &e), '}'), nil
}

func appendData(to []byte, e *Envelope) []byte {
	switch {
	case e.Body == nil:
		return to
	case jsonType(e.ContentType) && embeddable(e.Body):
		to = append(to, `,"data":`...)
		return append(to, e.Body...)
	default:
		to = append(to, `,"data_base64":"`...)
		to = base64.StdEncoding.AppendEncode(to, e.Body)
		return append(to, '"')
	}
}

// jsonType: only data of a JSON type may be written as itself; for any other
// type the JSON format gives a string another meaning.
func jsonType(contentType string) bool {
	if contentType == "" {
		return true
	}
	media, _, _ := strings.Cut(contentType, ";")
	media = strings.ToLower(strings.TrimSpace(media))
	return media == "application/json" || media == "text/json" || strings.HasSuffix(media, "+json")
}

// embeddable reports whether body comes out of a line exactly as it went in.
func embeddable(body []byte) bool {
	if len(body) == 0 || isSpace(body[0]) || isSpace(body[len(body)-1]) || string(body) == "null" {
		return false
	}
	return bytes.IndexByte(body, '\n') < 0 && bytes.IndexByte(body, '\r') < 0 &&
		utf8.Valid(body) && shallow(body) && json.Valid(body)
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// shallow counts brackets outside of strings.
func shallow(body []byte) bool {
	depth, quoted := 0, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case quoted:
			if c == '\\' {
				i++
			} else if c == '"' {
				quoted = false
			}
		case c == '"':
			quoted = true
		case c == '{' || c == '[':
			if depth++; depth > maxEmbeddedDepth {
				return false
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return true
}

// Parse reads one structured line. Names count in their exact letters; a name
// given twice, an attribute that is no scalar, both forms of data, or anything
// after the object is ErrMalformed; a version that is not known is ErrNewer.
// Attributes without a field are kept in Extra.
func Parse(line []byte) (Envelope, error) {
	var e Envelope
	dec := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return e, fmt.Errorf("a line must be one JSON object: %w", malformed(err))
	}
	seen := make(map[string]bool, 16)
	for dec.More() {
		name, value, err := member(dec)
		if err != nil {
			return e, fmt.Errorf("byte %d: %w", dec.InputOffset(), malformed(err))
		}
		if seen[name] {
			return e, fmt.Errorf("%q is given twice: %w", name, ErrMalformed)
		}
		seen[name] = true
		if err := e.setMember(name, value); err != nil {
			return e, err
		}
	}
	if _, err := dec.Token(); err != nil {
		return e, fmt.Errorf("byte %d: %w", dec.InputOffset(), malformed(err))
	}
	if _, err := dec.Token(); err != io.EOF {
		return e, fmt.Errorf("more after the object at byte %d: %w", dec.InputOffset(), ErrMalformed)
	}
	if !seen["specversion"] {
		return e, fmt.Errorf("no specversion: %w", ErrMalformed)
	}
	if seen["data"] && seen["data_base64"] {
		return e, fmt.Errorf("both data and data_base64: %w", ErrMalformed)
	}
	return e, e.complete()
}

func member(dec *json.Decoder) (name string, value json.RawMessage, err error) {
	t, err := dec.Token()
	if err != nil {
		return "", nil, err
	}
	name, _ = t.(string)
	return name, value, dec.Decode(&value)
}

func (e *Envelope) setMember(name string, value json.RawMessage) error {
	switch {
	case name == "data":
		e.Body = value
		return nil
	case string(value) == "null":
		return nil // absent, by the JSON format
	case value[0] == '{' || value[0] == '[':
		return fmt.Errorf("attribute %q is no scalar: %w", name, ErrMalformed)
	}
	text := string(value)
	if value[0] == '"' {
		if err := json.Unmarshal(value, &text); err != nil {
			return fmt.Errorf("attribute %q: %w", name, malformed(err))
		}
	}
	if name != "data_base64" {
		return e.set(name, text)
	}
	body, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil {
		return fmt.Errorf("data_base64: %w", malformed(err))
	}
	e.Body = body
	return nil
}

// malformed makes err answer to ErrMalformed.
func malformed(err error) error {
	if err == nil {
		return ErrMalformed
	}
	return errors.Join(ErrMalformed, err)
}

// appendString writes s as a JSON string, control characters escaped and
// invalid UTF-8 replaced.
func appendString(to []byte, s string) []byte {
	const hex = "0123456789abcdef"
	to = append(to, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			to = append(to, '\\', byte(r))
		case r == '\n':
			to = append(to, '\\', 'n')
		case r == '\r':
			to = append(to, '\\', 'r')
		case r == '\t':
			to = append(to, '\\', 't')
		case r < ' ' || r == 0x7f:
			to = append(to, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		default:
			to = utf8.AppendRune(to, r)
		}
	}
	return append(to, '"')
}
