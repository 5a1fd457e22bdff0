package envelope

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Prefix begins the name of every header that is an attribute.
const Prefix = "ce-"

// SpecVersion is the only version of CloudEvents that is written and read.
const SpecVersion = "1.0"

// FormatVersion counts changes of meaning within SpecVersion. Version 1 is not
// written; a newer one is the attribute "cmemversion".
const FormatVersion = 1

// Reserved names of attributes that the log adds to an envelope and that are no
// part of it: neither Headers nor Canonical give them.
const (
	ChainAttribute = "chain"
	NonceAttribute = "nonce"
)

var (
	// ErrNewer: written by a newer version, whose meaning is not known here.
	ErrNewer = errors.New("written by a newer version of cmem")
	// ErrMalformed: not an envelope in the form that was expected.
	ErrMalformed = errors.New("malformed envelope")
)

// attribute is one context attribute in its text form.
type attribute struct{ name, value string }

// attributes lists what is stored of e, sorted by name, without specversion.
func (e *Envelope) attributes(to []attribute) []attribute {
	add := func(name, value string) {
		if value != "" {
			to = append(to, attribute{name, value})
		}
	}
	add("agent", e.Agent)
	add("datacontenttype", e.ContentType)
	add("digest", e.Digest)
	add("event", e.Event)
	add("file", e.File)
	add("hostversion", e.HostVersion)
	add("id", e.ID)
	if e.Offset != 0 || e.File != "" {
		add("offset", strconv.FormatInt(e.Offset, 10))
	}
	add("origin", e.Origin)
	add("redactions", e.Redactions)
	add("source", e.Source)
	add("subject", e.Subject)
	add("time", formatTime(e.Time))
	add("turn", e.Turn)
	add("type", e.Type)
	if len(e.Extra) == 0 {
		return to
	}
	for name, value := range e.Extra {
		if validName(name) && !known(name) && name != ChainAttribute && name != NonceAttribute {
			add(name, value)
		}
	}
	slices.SortFunc(to, func(a, b attribute) int { return strings.Compare(a.name, b.name) })
	return to
}

// set gives e one attribute in its text form.
func (e *Envelope) set(name, value string) (err error) {
	switch name {
	case "specversion":
		if value != SpecVersion {
			err = fmt.Errorf("specversion %q: %w", value, ErrNewer)
		}
	case "cmemversion":
		if value != strconv.Itoa(FormatVersion) {
			err = fmt.Errorf("format version %q: %w", value, ErrNewer)
		}
	case "id":
		e.ID = value
	case "type":
		e.Type = value
	case "source":
		e.Source = value
	case "subject":
		e.Subject = value
	case "time":
		e.Time, err = parseTime(value)
	case "event":
		e.Event = value
	case "turn":
		e.Turn = value
	case "hostversion":
		e.HostVersion = value
	case "agent":
		e.Agent = value
	case "digest":
		e.Digest = value
	case "origin":
		e.Origin = value
	case "redactions":
		e.Redactions = value
	case "file":
		e.File = value
	case "offset":
		if e.Offset, err = strconv.ParseInt(value, 10, 64); err != nil {
			err = fmt.Errorf("offset %q is no number: %w", value, ErrMalformed)
		}
	case "datacontenttype":
		e.ContentType = value
	default:
		if !validName(name) {
			return fmt.Errorf("attribute name %q: %w", name, ErrMalformed)
		}
		if value == "" {
			return nil
		}
		if e.Extra == nil {
			e.Extra = make(map[string]string)
		}
		e.Extra[name] = value
	}
	return err
}

// known reports whether an attribute has a field of its own (or is structural).
func known(name string) bool {
	switch name {
	case "specversion", "cmemversion", "id", "type", "source", "subject", "time", "event", "turn",
		"hostversion", "agent", "digest", "origin", "redactions", "file", "offset", "datacontenttype",
		"data", "data_base64":
		return true
	}
	return false
}

// validName: CloudEvents names are lower-case letters and digits.
func validName(name string) bool {
	if name == "" || len(name) > 64 {
		return false
	}
	for i := range len(name) {
		if c := name[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// Validate reports what keeps e from being stored: an empty id, type or source,
// or an attribute that is not valid UTF-8.
func (e *Envelope) Validate() error {
	var buf [24]attribute
	for _, a := range e.attributes(buf[:0]) {
		if !utf8.ValidString(a.value) {
			return fmt.Errorf("%s of envelope %q is not valid UTF-8: %w", a.name, e.ID, ErrMalformed)
		}
	}
	switch {
	case e.ID == "":
		return fmt.Errorf("envelope of type %q has no id: %w", e.Type, ErrMalformed)
	case e.Type == "":
		return fmt.Errorf("envelope %q has no type: %w", e.ID, ErrMalformed)
	case e.Source == "":
		return fmt.Errorf("envelope %q has no source: %w", e.ID, ErrMalformed)
	}
	return nil
}

// Headers gives e in binary mode: one ce-* header per attribute, percent-encoded,
// and the body as it is.
func Headers(e Envelope) (map[string][]string, []byte) {
	var buf [24]attribute
	attrs := e.attributes(buf[:0])
	h := make(map[string][]string, len(attrs)+3)
	values := make([]string, len(attrs)+1) // one backing array for all values
	values[0] = SpecVersion
	h[Prefix+"specversion"] = values[0:1:1]
	for i, a := range attrs {
		values[i+1] = Encode(a.value)
		h[Prefix+a.name] = values[i+1 : i+2 : i+2]
	}
	return h, e.Body
}

// FromHeaders is the way back. Headers that do not begin with "ce-" are
// ignored; attributes without a field are kept in Extra. The body is not copied.
func FromHeaders(h map[string][]string, body []byte) (Envelope, error) {
	e := Envelope{Body: body}
	for name, values := range h {
		attr, ok := strings.CutPrefix(name, Prefix)
		if !ok || len(values) == 0 || attr == ChainAttribute || attr == NonceAttribute {
			continue
		}
		value, err := Decode(values[0])
		if err != nil {
			return e, fmt.Errorf("header %s: %w", name, err)
		}
		if err := e.set(attr, value); err != nil {
			return e, err
		}
	}
	return e, e.complete()
}

// complete: the attributes without which nothing is an envelope.
func (e *Envelope) complete() error {
	if e.ID == "" || e.Type == "" || e.Source == "" {
		return fmt.Errorf("id %q, type %q and source %q must all be given: %w", e.ID, e.Type, e.Source, ErrMalformed)
	}
	return nil
}

// Canonical appends the attributes of e in the form that the chain is over:
// "name=value\n" sorted by name, values percent-encoded, then an empty line.
// Equal for equal envelopes, whatever form they were read from; no value can
// imitate another attribute, for an encoded value holds no line break.
func Canonical(to []byte, e *Envelope) []byte {
	var buf [24]attribute
	for _, a := range e.attributes(buf[:0]) {
		to = append(to, a.name...)
		to = append(to, '=')
		to = appendEncoded(to, a.value)
		to = append(to, '\n')
	}
	return append(to, '\n')
}

// formatTime: RFC 3339 in UTC, to the nanosecond; "" for no time and for years
// the format has no room for.
func formatTime(t time.Time) string {
	if t = t.UTC(); t.IsZero() || t.Year() < 1 || t.Year() > 9999 {
		return ""
	}
	return t.Format(time.RFC3339Nano)
}

func parseTime(s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}, fmt.Errorf("time %q is not RFC 3339: %w", s, ErrMalformed)
	}
	return t.UTC(), nil
}
