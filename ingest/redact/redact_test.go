package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cmem/ingest/home"
)

// Secrets in these tables are put together here, so that no scanner of this
// repository takes them for real ones.
func TestSecrets(t *testing.T) {
	long := func(n int) string { return strings.Repeat("aB3", n/3+1)[:n] }
	jwtText := "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0NTY3ODkwIn0" + ".dozjgNryP4J3jVmNHl0w5N"
	key := "-----BEGIN " + "OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA\nBG5vbmU=\n-----END " + "OPENSSH PRIVATE KEY-----"
	for _, c := range []struct{ in, want string }{
		{"key AKIA" + "IOSFODNN7EXAMPLE.", "key [redacted:aws-access-key]."},
		{"t=ghp_" + long(36), "t=[redacted:github-token]"},
		{`\nghp_` + long(36) + `\n`, `\n[redacted:github-token]\n`},
		{"github_pat_" + long(60), "[redacted:github-token]"},
		{"glpat-" + long(20), "[redacted:gitlab-token]"},
		{"sk-ant-api03-" + long(90), "[redacted:anthropic-key]"},
		{"sk-proj-" + long(48), "[redacted:openai-key]"},
		{"'sk-" + long(48) + "'", "'[redacted:openai-key]'"},
		{"xoxb-123456789012-" + long(20), "[redacted:slack-token]"},
		{"AIza" + long(35), "[redacted:google-api-key]"},
		{"sk_live_" + long(24), "[redacted:stripe-key]"},
		{"npm_" + long(36), "[redacted:npm-token]"},
		{"AGE-SECRET-KEY-1" + strings.Repeat("QZ7", 20), "[redacted:age-key]"},
		{"x " + jwtText + " y", "x [redacted:jwt] y"},
		{"a\n" + key + "\nb", "a\n[redacted:private-key]\nb"},
		{strings.TrimSuffix(key, "-----END "+"OPENSSH PRIVATE KEY-----") + "", "[redacted:private-key]"},
		{"Authorization: Bearer abc.DEF-123456", "Authorization: Bearer [redacted:authorization]"},
		{`-H "authorization: Basic dXNlcjpwYXNz"`, `-H "authorization: Basic [redacted:authorization]"`},
		{"got Bearer " + long(30), "got Bearer [redacted:authorization]"},
		{"postgres://u:pw@db/x", "postgres://u:[redacted:password]@db/x"},
		{"redis://:p%40ss@h:6379/0", "redis://:[redacted:password]@h:6379/0"},
		{"mysql://u:a/b@h/x and c@d", "mysql://u:[redacted:password]@h/x and c@d"},
		{"https://x-token:" + long(30) + "@git.example.com/a", "https://x-token:[redacted:password]@git.example.com/a"},
		{"DB_PASSWORD=letmein\nX=1", "DB_PASSWORD=[redacted:password]\nX=1"},
		{"export MY_TOKEN='" + long(20) + "'", "export MY_TOKEN='[redacted:secret]'"},
		{`{"password": "hunter2"}`, `{"password": "[redacted:password]"}`},
		{`say {\"client_secret\":\"` + long(24) + `\"}`, `say {\"client_secret\":\"[redacted:secret]\"}`},
		{"password: hunter2 # yaml", "password: [redacted:password] # yaml"},
		{"mytool --password s3cret! go", "mytool --password [redacted:password] go"},
		{"curl x?access_token=" + long(32) + "&y=1", "curl x?access_token=[redacted:secret]&y=1"},
		{"aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYEXAMPLEKEY", "aws_secret_access_key = [redacted:aws-secret-key]"},
		{"curl -u admin:hunter2 https://h", "curl -u admin:[redacted:password] https://h"},
		{"API_KEY=AbCdEfGhIjKlMnOp", "API_KEY=[redacted:secret]"},
		{"X-Api-Key: " + long(32), "X-Api-Key: [redacted:secret]"},
	} {
		got, removed := builtin(t).Text(c.in)
		if got != c.want {
			t.Errorf("%q:\n got %q\nwant %q", c.in, got, c.want)
		}
		if len(removed) == 0 {
			t.Errorf("%q: nothing is told as removed", c.in)
		}
	}
}

func TestWhatStays(t *testing.T) {
	for _, text := range []string{
		"commit 356a192b7913b04c54574d18c28d46e6395428ab, sha256 " + strings.Repeat("0a1b2c3d", 8),
		"id 3f2504e0-4f89-41d3-9a0c-0305e82c3301 toolu_01LqZAajr6LwAG5nwddpOkz1 call_uOPogANmzDyJfgQJNKYZ7L",
		"the task-runner asks a disk-based risk-analysis-of-many-words-in-one-identifier",
		"token: string; password: z.string().min(8)", "const token = getToken(user)", "password = os.environ['X']",
		"password=${DB_PASSWORD} TOKEN=$TOKEN SECRET=<your secret>", "connect(user=user, password=password)",
		"input_tokens: 12345, max_tokens=200000", "http://localhost:3000/@vite/client", "https://example.com:8080/@scope/pkg a@b",
		"ssh://git@github.com/acme/inv", "Authorization: Bearer <token>", "bearer of good news 2026", "the bypass: compass123",
		`grep -rn "BEGIN RSA PRIVATE KEY" . # "-----BEGIN RSA PRIVATE KEY-----"`, "-----BEGIN CERTIFICATE-----\nMIIBszCCARwCAQAw\n-----END CERTIFICATE-----",
		"<privateer> private <p> List<Privates> a < private && b > c <br>", "the private tag, and cmem-context without brackets",
		"secret_name: projects/x/secrets/y", "tokenizer=whitespace12345678901", "PWD=/home/u/x1", "x.svg;base64,PHN2Zz4=",
		"docker run -u 1000:1000 x; chown -u root:root; sudo -u postgres psql; git push -u origin main",
		"public static private void f() {}", "sha512-" + strings.Repeat("aB3/", 21) + "==", "",
	} {
		if got, removed := builtin(t).Text(text); got != text || len(removed) > 0 {
			t.Errorf("%q\nbecame %q (%v)", text, got, removed)
		}
	}
}

func TestTags(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"a <private>X</private> b", "a  b"},
		{"a <private/> b", "a  b"},
		{"<private>X", ""}, {"a <private", "a "}, {"X</private>", "X"},
		{"<private a='<b>' c=\"/>\">X</private>y", "y"},
		{"< private >X< / private >y", "y"},
		{"<PRIVATE\n\tx>X</\nPrivate\n>y", "y"},
		{"<pri\u200bvate>X</private>y", "y"},
		{"<private>X<private>Y</private>Z</private>w", "w"},
		{"<system-reminder>a<private>b</system-reminder>X</private>c", "c"},
		{"<private>a<system-reminder>b</private>c", "c"},
		{"<private>X&lt;/private&gt;Y", ""}, {"&lt;private&gt;X&lt;/private&gt;y", "y"},
		{"&#60;private&#x3E;X&#x003c;/PRIVATE&gt;y", "y"}, {"&amp;lt;private&amp;gt;X&amp;lt;/private&amp;gt;y", "y"},
		{`\u003cprivate\u003eX\u003c/private\u003ey`, "y"}, {`\\u003Cprivate\\u003eX\\u003c\/private>y`, "y"},
		{`<private>X<\/private>y`, "y"},
		{"<pri<private>a</private>vate>X</private>y", ""}, // what only the removal made a tag is not closed
		{"<system-reminder>X</system-reminder><cmem-context p=1>X</cmem-context><claude-mem-context>X</claude-mem-context>y", "y"},
		{"<system_instruction>X</system_instruction><system-instruction>X</system-instruction><persisted-output>X</persisted-output>y", "y"},
	} {
		if got, _ := builtin(t).Text(c.in); got != c.want {
			t.Errorf("%q: got %q, want %q", c.in, got, c.want)
		}
	}
}

// A tag in JSON is found whatever the JSON looks like, and the bytes around its
// string stay.
func TestJSON(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"a":"\u003cprivate\u003eX\u003c/private\u003ey"}`, `{"a":"y"}`},
		{`{"a":"<\u0070rivate>X"}`, `{"a":""}`},
		{"\xef\xbb\xbf{\"a\":1}", `{"a":1}`},
		{`{ "n" : 1.50e+3 , "s":"\u00e9\/", "x":["<private>X"] }`, `{ "n" : 1.50e+3 , "s":"\u00e9\/", "x":[""] }`},
		{`{"<private>X":1,"k":"v"}`, `{"":1,"k":"v"}`},
		{`{"password":"hunter2","passwordHint":"hunter2"}`, `{"password":"[redacted:password]","passwordHint":"hunter2"}`},
		{`{"arguments":"{\"cmd\":\"echo <private>X</private>y\",\"n\":1}"}`, `{"arguments":"{\"cmd\":\"echo y\",\"n\":1}"}`},
		{`{"arguments":"{\"cmd\":\"<private>X\",\"n\":1}"}`, `{"arguments":"{\"cmd\":\"\",\"n\":1}"}`},
		{`{"a":"<private>X","b":"kept"}`, `{"a":"","b":"kept"}`},
		{"{\"a\":\"raw\tand\xff\"}", `{"a":"raw\tand` + "\uFFFD" + `"}`},
		{`{"a":"\q"}`, `{"a":"\\q"}`},
		{`"\ud83d"`, "\"\uFFFD\""}, {`"\ud83d\ude80"`, `"\ud83d\ude80"`}, {`"\ufffd"`, `"\ufffd"`},
		{`{"cut":"<private>X`, `{"cut":"`}, {"no json <private>X</private>y", "no json y"}, {"\xff <private>X", "\xff "},
		{`{"a":1} {"b":"<private>X"}`, `{"a":1} {"b":"`}, {"", ""}, {`nul`, `nul`}, {`[1,]`, `[1,]`},
	} {
		if got, _ := builtin(t).JSON([]byte(c.in)); string(got) != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.in, got, c.want)
		}
	}
}

func TestMedia(t *testing.T) {
	image := append([]byte("\x89PNG\r\n\x1a\n"), bytes.Repeat([]byte{1, 2, 3, 4}, 30)...)
	text := base64.StdEncoding.EncodeToString(image)
	note, _ := describe([]byte("image/png"), []byte(text))
	if want := fmt.Sprintf("[image/png, %d bytes, sha256 ", len(image)); !strings.HasPrefix(string(note), want) {
		t.Fatalf("note %s, want %s…", note, want)
	}
	for _, c := range []struct{ in, want string }{
		{`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"%s"}}`, `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"%s"}}`},
		{`{"source":{"data":"%s","deep":{"media_type":"image/gif"},"media_type":"image/png"}}`, `{"source":{"data":"%s","deep":{"media_type":"image/gif"},"media_type":"image/png"}}`},
		{`{"file":{"base64":"%s","type":"image/png"}}`, `{"file":{"base64":"%s","type":"image/png"}}`},
		{`{"data":"%s"}`, `{"data":"%s"}`},
		{`{"image_url":"data:image/png;base64,%s","detail":"high"}`, `{"image_url":"%s","detail":"high"}`},
		{`{"t":"see data:image/png;base64,%s here"}`, `{"t":"see data:image/png;base64,%s here"}`},
	} {
		in := fmt.Sprintf(c.in, text)
		want := fmt.Sprintf(c.want, note)
		if strings.Contains(c.in, "see data:") { // short and inside a text: stays
			want = in
		}
		if got, _ := builtin(t).JSON([]byte(in)); string(got) != want {
			t.Errorf("%s:\n got %s\nwant %s", c.in, got, want)
		}
	}
	for _, in := range []string{`{"data":"aGVsbG8="}`, `{"type":"text","data":"` + strings.Repeat("abcd", 100) + `"}`, `{"base64":true,"data":[1]}`} {
		if got, _ := builtin(t).JSON([]byte(in)); string(got) != in {
			t.Errorf("%s became %s", in, got)
		}
	}
}

// Every recorded session comes through as valid JSON, twice the same, with
// nothing taken for a secret.
func TestRecorded(t *testing.T) {
	r := builtin(t)
	for _, line := range recorded(t) {
		out, removed := r.JSON(line)
		if json.Valid(line) && !json.Valid(out) {
			t.Fatalf("no JSON: %.500s", out)
		}
		for _, x := range removed {
			switch x.Kind {
			case "image", "media", "private", "system-reminder", "persisted-output", "cmem-context":
			default:
				t.Errorf("taken for %s: %.300s", x.Kind, line)
			}
		}
		if again, more := r.JSON(out); !bytes.Equal(again, out) || len(more) > 0 {
			t.Errorf("redacted twice: %v in %.300s", more, out)
		}
	}
}

// recorded gives every line of the recorded transcripts and payloads.
func recorded(t testing.TB) (all [][]byte) {
	t.Helper()
	for _, dir := range []string{"transcripts", "hooks", "clients"} {
		err := filepath.Walk("../../testdata/"+dir, func(path string, info os.FileInfo, err error) error {
			if err != nil || info.IsDir() || !strings.HasPrefix(filepath.Ext(path), ".json") {
				return err
			}
			data, err := os.ReadFile(path)
			for line := range bytes.Lines(data) {
				all = append(all, bytes.TrimSpace(line))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(all) < 1000 {
		t.Fatalf("only %d recorded lines", len(all))
	}
	return all
}

func TestBadPatternMarkers(t *testing.T) {
	_, problems := New(home.Settings{Redact: []home.Pattern{{Kind: "a b\n", Pattern: "red"}}})
	if len(problems) != 1 {
		t.Errorf("a pattern that matches its own marker gives %v", problems)
	}
}

func FuzzJSON(f *testing.F) {
	for _, name := range []string{"priv-04.json", "own-15.json", "enc-04.json"} {
		f.Add(input(f, name))
	}
	f.Add([]byte(`{"a":"<private>CANARY</private>","data":"iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAA"}`))
	f.Add([]byte("{\"a\":\"\\ud83d\\u003cprivate\xff&lt;private&gt;\"}"))
	f.Add([]byte(`"{\"password\":\"hunter2\",\"x\":\"<pri<private>a</private>vate>CANARY\"}"`))
	f.Add([]byte(`eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozj postgres://u:pw@h Authorization: Bearer abc123456789`))
	r, _ := New(home.Settings{})
	mine, _ := New(home.Settings{Redact: []home.Pattern{{Kind: "mine", Pattern: "[0-9]{4}"}}})
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := bytes.Clone(raw)
		for _, r := range []*Redactor{r, mine} {
			out, removed := r.JSON(raw)
			if !bytes.Equal(raw, before) {
				t.Fatal("the input was written to")
			}
			if json.Valid(raw) && !json.Valid(out) {
				t.Fatalf("no JSON: %q became %q", raw, out)
			}
			// A text can become JSON when its end goes, and is then mended.
			again, more := r.JSON(out)
			if json.Valid(raw) && !bytes.Equal(again, out) || json.Valid(raw) && len(more) > 0 {
				t.Fatalf("not idempotent: %q, %q, %q", raw, out, again)
			}
			if len(removed) == 0 && json.Valid(raw) && !bytes.Equal(out, raw) && !strange(raw) {
				t.Fatalf("changed without need: %q became %q", raw, out)
			}
		}
	})
}

// strange: bytes that JSON redacts by mending alone.
func strange(raw []byte) bool {
	return bytes.Contains(raw, []byte(`\u`)) || !bytes.Equal(raw, bytes.ToValidUTF8(raw, nil)) || bytes.HasPrefix(raw, []byte("\xef\xbb\xbf"))
}

// Whatever stands before and after: what a tag hides does not come out.
func FuzzTags(f *testing.F) {
	f.Add("a", "b", uint8(0))
	f.Add("<system-reminder>", "</private>", uint8(3))
	f.Add("&lt;private", "<private/>", uint8(5))
	forms := []string{"<private>", "<PRIVATE x='>'>", "&lt;private&gt;", `\u003cprivate\u003e`, "<private\n>", "<private/ >"}
	r, _ := New(home.Settings{})
	f.Fuzz(func(t *testing.T, before, inside string, n uint8) {
		form := forms[int(n)%(len(forms)-1)]
		if strings.Contains(before+inside, "CANARY") || strings.Contains(inside, "/") {
			return
		}
		text := before + form + inside + "CANARY"
		if got, _ := r.Text(text); strings.Contains(got, "CANARY") && alone(before, form) {
			t.Fatalf("%q leaks: %q", text, got)
		}
		quoted, err := json.Marshal(map[string]string{"x": text})
		if err != nil {
			t.Fatal(err)
		}
		if out, _ := r.JSON(quoted); bytes.Contains(out, []byte("CANARY")) && alone(before, form) {
			t.Fatalf("%s leaks: %s", quoted, out)
		}
	})
}

// alone says that the form's bracket is not made part of something else by
// what stands before it.
func alone(before, form string) bool {
	return before == "" || !strings.ContainsAny(before[len(before)-1:], `\&<`) && !strings.Contains(before, "<") && !strings.Contains(before, "&") && !strings.Contains(before, `\`)
}

func BenchmarkRecorded(b *testing.B) {
	r, _ := New(home.Settings{})
	all := recorded(b)
	size := 0
	for _, line := range all {
		size += len(line)
	}
	b.SetBytes(int64(size))
	for b.Loop() {
		for _, line := range all {
			r.JSON(line)
		}
	}
}

// Linear time: each size takes about twice the time of the one before.
func BenchmarkHostile(b *testing.B) {
	r, _ := New(home.Settings{})
	for _, unit := range append(hostile,
		"<private>", "<", "<private ", "<private x='", "&amp;", "</private ", "<private>&lt;private&gt;", "private<", "token", "token=", "://a:",
		"-----BEGIN PRIVATE KEY-----", "eyJhbGciOiJI.", "Authorization: ", "data:a/b;base64,", `{"a":`, `[`, `"{\"`,
	) {
		for _, mb := range []int{1, 2, 4} {
			text := strings.Repeat(unit, mb<<20/len(unit))
			b.Run(fmt.Sprintf("%s/%dMB", unit, mb), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					r.JSON([]byte(text))
				}
			})
		}
	}
}

// BenchmarkFirst is what the first text of a process pays.
func BenchmarkFirst(b *testing.B) {
	for b.Loop() {
		newFinder(literals())
	}
}
