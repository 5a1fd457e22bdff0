package jsonscan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func members(data string) string {
	var out []string
	for k, v := range Fields([]byte(data)) {
		out = append(out, fmt.Sprintf("%s=%s", k, v))
	}
	return strings.Join(out, " ")
}

func elements(data string) string {
	var out []string
	for v := range Elements([]byte(data)) {
		out = append(out, string(v))
	}
	return strings.Join(out, " ")
}

func TestFields(t *testing.T) {
	for data, want := range map[string]string{
		`{"a":1,"A":"x","a":[{"}":"]"}]}`:           `a=1 A="x" a=[{"}":"]"}]`,
		" \n{ \"a\" : null , \"b\" : {} } trailing": `a=null b={}`,
		"\xef\xbb\xbf{\"a\":true}":                  `a=true`,
		`{"\u0061\n":"\\\""}`:                       "a\n=\"\\\\\\\"\"",
		`{"a":1,"b":"cut`:                           `a=1`,
		`{"a":1,"b"`:                                `a=1`,
		`{"a":1,`:                                   `a=1`,
		`{"a":1 "b":2}`:                             `a=1`,
		`{"a":,"b":2}`:                              ``,
		`{a:1}`:                                     ``,
		`{}`:                                        ``,
		`{`:                                         ``,
		`[1]`:                                       ``,
		``:                                          ``,
		"{\"raw\":\"\x01\xff\n\"}":                  "raw=\"\x01\xff\n\"",
	} {
		if got := members(data); got != want {
			t.Errorf("%q: got %q, want %q", data, got, want)
		}
	}
	for range Fields([]byte(`{"a":1,"b":2}`)) {
		break // a reader may stop
	}
}

func TestElements(t *testing.T) {
	for data, want := range map[string]string{
		`[1, "a,]" ,{"b":[2]},[],null]`: `1 "a,]" {"b":[2]} [] null`,
		`[]`:                            ``,
		`[1,`:                           `1`,
		`[1,"cut`:                       `1`,
		`{"a":1}`:                       ``,
	} {
		if got := elements(data); got != want {
			t.Errorf("%q: got %q, want %q", data, got, want)
		}
	}
}

func TestDepthIsTheSenders(t *testing.T) {
	deep := strings.Repeat("[", 1_000_000) + strings.Repeat("]", 1_000_000)
	if got := Get([]byte(`{"deep":`+deep+`,"after":1}`), "after"); string(got) != "1" {
		t.Errorf("got %q, want 1", got)
	}
}

func TestKindAndTrue(t *testing.T) {
	for raw, want := range map[string]byte{`{}`: '{', ` [`: '[', `"s"`: '"', `null`: 'n', `true`: 't', `false`: 'f', `-1`: '0', `9`: '0', ``: 0, `x`: 0} {
		if got := Kind([]byte(raw)); got != want {
			t.Errorf("%q: got %q, want %q", raw, got, want)
		}
	}
	if True([]byte("false")) || True([]byte(`"true"`)) || !True([]byte("true")) {
		t.Error("only true is true")
	}
}

func TestText(t *testing.T) {
	for raw, want := range map[string]string{
		`"plain"`:                      "plain",
		`"\"\\\/\b\f\n\r\t"`:           "\"\\/\b\f\n\r\t",
		`"\u00e9\ud83d\ude80"`:         "é🚀",
		`"\ud83d\u2026 \udE80 \ud83d"`: "\uFFFD… \uFFFD \uFFFD",
		`"\ud83d\ud83d\ude80"`:         "\uFFFD🚀",
		`"\u12"`:                       "u12",
		`"\x"`:                         "x",
		"\"\xff\x01\"":                 "\uFFFD\x01",
		`""`:                           "",
		`"`:                            "",
		`5`:                            "",
		`null`:                         "",
		``:                             "",
	} {
		if got := Text([]byte(raw)); got != want {
			t.Errorf("%s: got %q, want %q", raw, got, want)
		}
	}
}

func FuzzFields(f *testing.F) {
	for _, s := range []string{`{"a":1,"b":[{"c":"\ud83d"}]}`, `{"a":"\\\"","a":null}`, `[1,{"x":2}]`, "{\"\\u00ff\":\x00}", `"x"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got := map[string]string{}
		for k, v := range Fields(data) {
			if _, ok := got[string(k)]; !ok {
				got[string(k)] = string(v)
			}
			_ = Text(v)
			for range Elements(v) {
			}
		}
		// Whatever encoding/json accepts is read in the same way.
		if !json.Valid(data) || Kind(data) != '{' {
			return
		}
		d := json.NewDecoder(bytes.NewReader(data))
		first := map[string]string{}
		if _, err := d.Token(); err != nil {
			return
		}
		for d.More() {
			key, err := d.Token()
			var raw json.RawMessage
			if err != nil || d.Decode(&raw) != nil {
				return // deeper than encoding/json goes
			}
			if _, ok := first[key.(string)]; !ok {
				first[key.(string)] = string(raw)
			}
		}
		for k, v := range got {
			if k = string([]rune(k)); len(first) == len(got) && first[k] != v {
				t.Errorf("%q = %q, want %q", k, v, first[k])
			}
		}
		if len(got) < len(first) {
			t.Errorf("%d members, want %d", len(got), len(first))
		}
	})
}

func FuzzText(f *testing.F) {
	for _, s := range []string{`"\ud83d\ude80"`, `"\u0000"`, "\"\xff\"", `"\\"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got := Text(raw)
		if !utf8.ValidString(got) {
			t.Errorf("%q is not UTF-8", got)
		}
		var want string
		if Kind(raw) == '"' && utf8.Valid(raw) && json.Unmarshal(raw, &want) == nil && len(bytes.TrimSpace(raw)) == len(raw) && got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		quoted := AppendText(nil, string(raw))
		if err := json.Unmarshal(quoted, &want); err != nil || want != strings.ToValidUTF8(string(raw), "\uFFFD") && utf8.Valid(raw) {
			t.Errorf("%q is quoted %s: %v", raw, quoted, err)
		}
		if back := Text(quoted); back != want {
			t.Errorf("%s reads %q, want %q", quoted, back, want)
		}
	})
}
