package redact

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"cmem/ingest/home"
)

func input(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("../../testdata/faults/inputs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func lines(t testing.TB, name string) [][]byte {
	return bytes.Split(bytes.TrimSpace(input(t, name)), []byte("\n"))
}

func builtin(t testing.TB, patterns ...home.Pattern) *Redactor {
	t.Helper()
	r, problems := New(home.Settings{Redact: patterns})
	for _, p := range problems {
		t.Fatal(p)
	}
	return r
}

// member gives one member of a JSON object as text.
func member(t testing.TB, raw []byte, name string) string {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal(raw, &object); err != nil {
		t.Fatalf("%v: %.300s", err, raw)
	}
	text, ok := object[name].(string)
	if !ok {
		t.Fatalf("no text %q in %.300s", name, raw)
	}
	return text
}

func TestFaults(t *testing.T) {
	r := builtin(t)
	t.Run("priv-03", func(t *testing.T) {
		want := []string{"my key is ", "", " after", "", "", "", "", "shown  text"}
		for i, line := range lines(t, "priv-03.jsonl") {
			out, removed := r.JSON(line)
			if bytes.Contains(out, []byte("CANARY")) {
				t.Errorf("line %d leaks: %s", i+1, out)
			}
			if len(removed) != 1 || removed[0].Kind != "private" {
				t.Errorf("line %d: removed %v, want private", i+1, removed)
			}
			if got := member(t, out, "prompt"); i < len(want) && got != want[i] {
				t.Errorf("line %d: prompt %q, want %q", i+1, got, want[i])
			}
		}
	})
	t.Run("priv-04", func(t *testing.T) {
		out, removed := r.JSON(input(t, "priv-04.json"))
		for _, secret := range []string{"CANARY", "AKIA", "wJalr", "BEGIN"} {
			if bytes.Contains(out, []byte(secret)) {
				t.Errorf("%s is left: %s", secret, out)
			}
		}
		var kinds []string
		for _, x := range removed {
			kinds = append(kinds, x.Kind)
		}
		if got, want := strings.Join(kinds, " "), "authorization aws-access-key aws-secret-key password private-key"; got != want {
			t.Errorf("kinds %q, want %q", got, want)
		}
		for _, kept := range []string{`AWS_ACCESS_KEY_ID=`, `postgres://u:`, `@db/x`, `toolu_0300`} {
			if !bytes.Contains(out, []byte(kept)) {
				t.Errorf("%s is gone: %s", kept, out)
			}
		}
	})
	t.Run("priv-07", func(t *testing.T) {
		// The time is BenchmarkHostile's; here the answer.
		for unit, want := range map[string]string{"<private>": "", "<": strings.Repeat("<", 1<<20)} {
			text := strings.Repeat(unit, 1<<20/len(unit))
			if got, _ := r.Text(text); got != want {
				t.Errorf("%d bytes of %q: %d bytes are left, want %d", len(text), unit, len(got), len(want))
			}
		}
	})
	t.Run("priv-08", func(t *testing.T) {
		mine, problems := New(home.Settings{Redact: []home.Pattern{
			{Kind: "acme", Pattern: `ghp_[A-Za-z]+-acme`}, {Kind: "bad", Pattern: `(`}, {Kind: "all", Pattern: `x*`}, {Kind: "badge", Pattern: `BADGE-\d+`},
		}})
		if len(problems) != 2 || !strings.Contains(problems[0].Error(), `"bad"`) || !strings.Contains(problems[1].Error(), `"all"`) {
			t.Errorf("problems %v, want bad and all", problems)
		}
		in := "a ghp_" + strings.Repeat("A", 36) + "-acme b BADGE-12 c ghp_" + strings.Repeat("B", 36) + " d"
		got, _ := mine.Text(in)
		if want := "a [redacted:acme] b [redacted:badge] c [redacted:github-token] d"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	t.Run("own-15", func(t *testing.T) {
		out, _ := r.JSON(input(t, "own-15.json"))
		want := `"prompt":"open ","PROMPT":"CANARY-own-15-upper ","prompt":"last CANARY "}`
		if !bytes.HasSuffix(bytes.TrimSpace(out), []byte(want)) {
			t.Errorf("got %s, want … %s", out, want)
		}
	})
	t.Run("own-04", func(t *testing.T) {
		in := input(t, "own-04.json")
		if out, _ := r.JSON(in); !bytes.Equal(out, in) {
			t.Errorf("10,050 levels change: %d bytes, want %d", len(out), len(in))
		}
		deep := strings.Repeat(`[{"a":`, 10_050) + `"x <private>CANARY</private>"` + strings.Repeat(`}]`, 10_050)
		if out, _ := r.JSON([]byte(deep)); string(out) != strings.Replace(deep, "<private>CANARY</private>", "", 1) {
			t.Errorf("a tag 20,100 levels deep: … %.60s", out[len(out)/2:])
		}
	})
	t.Run("enc-03", func(t *testing.T) {
		in := lines(t, "enc-03.jsonl")
		out, _ := r.JSON(in[1])
		if !json.Valid(out) || !bytes.Contains(out, []byte("\U0001F680 \uFFFD…)")) {
			t.Errorf("got %s, want the pair kept and the lone half as U+FFFD", out)
		}
		for _, i := range []int{0, 2} {
			if out, _ := r.JSON(in[i]); !bytes.Equal(out, in[i]) {
				t.Errorf("line %d changes: %s", i+1, out)
			}
		}
	})
	t.Run("enc-04", func(t *testing.T) {
		out, _ := r.JSON(input(t, "enc-04.json"))
		if got, want := member(t, out, "prompt"), "line one\nline two\tand \x01 and \x1b[31mred\x1b[0m"; got != want {
			t.Errorf("prompt %q, want %q", got, want)
		}
	})
	t.Run("shape-01", func(t *testing.T) {
		out, removed := r.JSON(input(t, "shape-01.json"))
		if len(out) > 1000 || !json.Valid(out) {
			t.Errorf("%d bytes are left: %.300s", len(out), out)
		}
		if want := `"[image/png, 300000 bytes, sha256 `; !bytes.Contains(out, []byte(want)) {
			t.Errorf("got %s, want %s", out, want)
		}
		if len(removed) != 1 || removed[0] != (Removal{"image", 400_000}) {
			t.Errorf("removed %v", removed)
		}
	})
}
