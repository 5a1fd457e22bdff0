package redact

import (
	"encoding/json"
	"strings"
	"testing"

	"cmem/ingest/home"
)

// TestAPrivateRegionGoesOnInTheNextBlockOfItsMessage: hosts make several blocks of
// one prompt. Each row is looked at alone, inside a record, and as JSON in a string.
func TestAPrivateRegionGoesOnInTheNextBlockOfItsMessage(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"closed in the next":    {`[{"type":"text","text":"a <private>b"},{"type":"text","text":"CANARY</private> c"}]`, `[{"type":"text","text":"a "},{"type":"text","text":" c"}]`},
		"over a third":          {`[{"type":"text","text":"a <private>b"},{"type":"text","text":"CANARY"},{"type":"text","text":"d</private>e"}]`, `[{"type":"text","text":"a "},{"type":"text","text":""},{"type":"text","text":"e"}]`},
		"never closed":          {`[{"type":"text","text":"a <private>b"},{"type":"text","text":"CANARY"}]`, `[{"type":"text","text":"a "},{"type":"text","text":""}]`},
		"over an image":         {`[{"type":"text","text":"<private>"},{"type":"image","source":{"type":"url","url":"u"}},{"type":"text","text":"CANARY"}]`, `[{"type":"text","text":""},{"type":"image","source":{"type":"url","url":"u"}},{"type":"text","text":""}]`},
		"of codex":              {`[{"type":"input_text","text":"<private>"},{"type":"input_text","text":"CANARY</private>x"}]`, `[{"type":"input_text","text":""},{"type":"input_text","text":"x"}]`},
		"said by codex":         {`[{"type":"output_text","text":"<private>"},{"type":"output_text","text":"CANARY</private>x"}]`, `[{"type":"output_text","text":""},{"type":"output_text","text":"x"}]`},
		"the type behind":       {`[{"text":"<private>","type":"text"},{"text":"CANARY</private>x","type":"text"}]`, `[{"text":"","type":"text"},{"text":"x","type":"text"}]`},
		"opened again":          {`[{"type":"text","text":"<private>"},{"type":"text","text":"CANARY</private>x<private>"},{"type":"text","text":"CANARY"}]`, `[{"type":"text","text":""},{"type":"text","text":"x"},{"type":"text","text":""}]`},
		"nested":                {`[{"type":"text","text":"<private><private>"},{"type":"text","text":"CANARY</private>CANARY"},{"type":"text","text":"CANARY</private>x"}]`, `[{"type":"text","text":""},{"type":"text","text":""},{"type":"text","text":"x"}]`},
		"closed in its form":    {`[{"type":"text","text":"&lt;private&gt;"},{"type":"text","text":"CANARY</private>CANARY&lt;/private&gt;x"}]`, `[{"type":"text","text":""},{"type":"text","text":"x"}]`},
		"inside a reminder":     {`[{"type":"text","text":"<system-reminder><private>"},{"type":"text","text":"CANARY</private>x"}]`, `[{"type":"text","text":""},{"type":"text","text":"x"}]`},
		"escapes":               {`[{"type":"text","text":"\u003cprivate\u003e"},{"type":"text","text":"CANARY\u003c/private\u003ex"}]`, `[{"type":"text","text":""},{"type":"text","text":"x"}]`},
		"with a secret behind":  {`[{"type":"text","text":"<private>"},{"type":"text","text":"CANARY</private>DB_PASSWORD=hunter2x1"}]`, `[{"type":"text","text":""},{"type":"text","text":"DB_PASSWORD=[redacted:password]"}]`},
		"a tag made by removal": {`[{"type":"text","text":"<pri<private>x</private>vate>"},{"type":"text","text":"CANARY"}]`, `[{"type":"text","text":""},{"type":"text","text":""}]`},
		// What is not of the message's text stays.
		"a reminder":          {`[{"type":"text","text":"<system-reminder>x"},{"type":"text","text":"kept"}]`, `[{"type":"text","text":""},{"type":"text","text":"kept"}]`},
		"closed in its own":   {`[{"type":"text","text":"<private>x</private>"},{"type":"text","text":"kept"}]`, `[{"type":"text","text":""},{"type":"text","text":"kept"}]`},
		"another message":     {`[[{"type":"text","text":"<private>x"}],[{"type":"text","text":"kept"}]]`, `[[{"type":"text","text":""}],[{"type":"text","text":"kept"}]]`},
		"a result inside":     {`[{"type":"text","text":"<private>x"},{"type":"tool_result","content":[{"type":"text","text":"kept"}]}]`, `[{"type":"text","text":""},{"type":"tool_result","content":[{"type":"text","text":"kept"}]}]`},
		"from a result":       {`[{"type":"tool_result","content":[{"type":"text","text":"<private>x"}]},{"type":"text","text":"kept"}]`, `[{"type":"tool_result","content":[{"type":"text","text":""}]},{"type":"text","text":"kept"}]`},
		"blocks of no text":   {`[{"text":"<private>x"},{"text":"kept"},{"type":"option","text":"kept"}]`, `[{"text":""},{"text":"kept"},{"type":"option","text":"kept"}]`},
		"other members":       {`[{"type":"text","text":"<private>x"},{"type":"text","title":"kept","text":"x"}]`, `[{"type":"text","text":""},{"type":"text","title":"kept","text":""}]`},
		"members of a record": {`{"type":"text","text":"<private>x","prompt":"kept"}`, `{"type":"text","text":"","prompt":"kept"}`},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := New(home.Settings{})
			inner, err := json.Marshal(c.in)
			if err != nil {
				t.Fatal(err)
			}
			for _, wrap := range [][2]string{{"", ""}, {`{"message":{"role":"user","content":`, `},"uuid":"u"}`}} {
				got, removed := r.JSON([]byte(wrap[0] + c.in + wrap[1]))
				if string(got) != wrap[0]+c.want+wrap[1] || len(removed) == 0 {
					t.Errorf("got  %s\nwant %s", got, wrap[0]+c.want+wrap[1])
				}
				if again, more := r.JSON(got); string(again) != string(got) || len(more) > 0 {
					t.Errorf("a second time: %s, %v", again, more)
				}
			}
			got, _ := r.JSON([]byte(`{"arguments":` + string(inner) + `}`))
			var out struct{ Arguments string }
			if err := json.Unmarshal(got, &out); err != nil || out.Arguments != c.want {
				t.Errorf("in a string: %s, %v", got, err)
			}
			if strings.Contains(string(got), "CANARY") {
				t.Errorf("in a string: %s", got)
			}
		})
	}
}
