package identity

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestMain(m *testing.M) {
	if path := os.Getenv("CMEM_TEST_LOADKEY"); path != "" {
		key, err := LoadKey(path)
		if err != nil {
			os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		os.Stdout.Write(key[:])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// Many processes at once, on an empty folder: one key, in every process and in
// the file, and no temporary file left.
func TestOneKeyForAllProcesses(t *testing.T) {
	for range 3 {
		path := filepath.Join(t.TempDir(), "id.key")
		var cmds []*exec.Cmd
		var outs []*bytes.Buffer
		for range 8 {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "CMEM_TEST_LOADKEY="+path)
			out := &bytes.Buffer{}
			cmd.Stdout, cmd.Stderr = out, out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			cmds, outs = append(cmds, cmd), append(outs, out)
		}
		for i, cmd := range cmds {
			if err := cmd.Wait(); err != nil {
				t.Fatalf("%v: %s", err, outs[i])
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i, out := range outs {
			if !bytes.Equal(out.Bytes(), want) || len(want) != 32 {
				t.Errorf("process %d has %x, the file %x", i, out, want)
			}
		}
		entries, err := os.ReadDir(filepath.Dir(path))
		if err != nil || len(entries) != 1 {
			t.Errorf("left behind: %v %v", entries, err)
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("mode %v %v, want 0600", info.Mode(), err)
		}
	}
}

func TestBrokenKeyStays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "id.key")
	if err := os.WriteFile(path, []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadKey(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v, want one that names the file", err)
	}
	if data, _ := os.ReadFile(path); string(data) != "short" {
		t.Errorf("the file became %q", data)
	}
	if _, err := LoadKey(filepath.Join(t.TempDir(), "no", "id.key")); err == nil {
		t.Error("a key in a folder that is not there")
	}
}

func TestNames(t *testing.T) {
	key := Key{1}
	hash := key.ContentHash([]byte("x"))
	for _, c := range []struct{ got, want string }{
		{HookID("claude-code", "PostToolUse", "toolu_01"), "claude-code/PostToolUse/toolu_01"},
		{ContentID("codex", "Stop", hash, 7), "codex/Stop/" + hash + "@7"},
		{TranscriptID("codex", "event_msg:token_count", "a:b"), "codex/event_msg:token_count/a:b"},
		{FactKey("claude-code", "toolu_01"), "claude-code/toolu_01"},
		{FactKey("kimi", "functions.bash:0"), ""},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
	if len(hash) != 32 || len(key.Digest(nil)) != 16 {
		t.Errorf("lengths %d and %d, want 32 and 16", len(hash), len(key.Digest(nil)))
	}
	if (Key{2}).ContentHash([]byte("x")) == hash {
		t.Error("two keys, one hash")
	}
	if a, b := key.OccurrenceID("h", "s", "t", []byte("x"), 1), key.OccurrenceID("h", "s", "t", []byte("x"), 2); a == b || !strings.HasSuffix(a, "#1") {
		t.Errorf("occurrences %q and %q", a, b)
	}
	if key.OccurrenceID("h", "a", "bc", nil, 1) == key.OccurrenceID("h", "ab", "c", nil, 1) {
		t.Error("session and type run into each other")
	}
}

func TestKnownForm(t *testing.T) {
	for id, want := range map[string]bool{
		"toolu_01LqZAajr6LwAG5nwddpOkz1": true, "toolu_bdrk_01AbC": true, "srvtoolu_01x": true, "prt_0a1b": true,
		"call_uOPogANmzDyJfgQJNKYZ7L": true, "exec-3f2504e0-4f89-41d3-9a0c-0305e82c3301": true, "3F2504E0-4f89-41d3-9a0c-0305e82c3301": true,
		"functions.bash:0": false, "call_0": false, "call_exec_patch_cell01": false, "toolu_": false, "toolu_a b": false, "exec-1": false, "": false,
		"3f2504e0-4f89-41d3-9a0c-0305e82c330g": false, "toolu_" + strings.Repeat("a", 300): false,
	} {
		if got := KnownForm(id); got != want {
			t.Errorf("KnownForm(%q) = %v, want %v", id, got, want)
		}
	}
}

// No name holds text of a user's, and different parts never make one name.
func TestNamesHoldNoText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-z~/ .]{0,5}`), rapid.StringN(190, 300, -1))
		a := [3]string{part.Draw(t, "host"), part.Draw(t, "event"), part.Draw(t, "id")}
		b := [3]string{part.Draw(t, "host2"), part.Draw(t, "event2"), part.Draw(t, "id2")}
		one, two := HookID(a[0], a[1], a[2]), HookID(b[0], b[1], b[2])
		if (one == two) != (a == b) {
			t.Fatalf("%q and %q: names %q and %q", a, b, one, two)
		}
		if strings.Count(one, "/") != 2 || strings.ContainsAny(one, " \n\x00\"") || len(one) > 3*maxWord+2 {
			t.Fatalf("%q gives %q", a, one)
		}
	})
}

func TestCanonicalJSON(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"b":1,"a":[true , null]}`, `{"a":[true,null],"b":1}`},
		{`{"n":1.50e+3,"m":-0}`, `{"m":-0,"n":1.50e+3}`},
		{`{"s":"\u00e9\/\u0041\n"}`, `{"s":"é/A\n"}`},
		{`{"a":1,"a":2,"A":3}`, `{"A":3,"a":1}`},
		{"\xef\xbb\xbf {} ", `{}`}, {`[[],{},[{}]]`, `[[],{},[{}]]`}, {`"x"`, `"x"`}, {` 12 `, `12`},
		{" no json \n", "no json"}, {`{"a":1} {}`, `{"a":1} {}`}, {`{"a":1,}`, `{"a":1,}`}, {"", ""},
		{`{"z":{"b":[{"d":1,"c":2}],"a":0},"y":1}`, `{"y":1,"z":{"a":0,"b":[{"c":2,"d":1}]}}`},
		{"{\"a\":\"\\ud83d\"}", "{\"a\":\"\uFFFD\"}"}, {"{\"a\":\"tab\there\"}", `{"a":"tab\there"}`},
	} {
		if got := string(CanonicalJSON([]byte(c.in))); got != c.want {
			t.Errorf("%s: got %s, want %s", c.in, got, c.want)
		}
	}
}

func TestFaults(t *testing.T) {
	t.Run("own-04", func(t *testing.T) {
		for _, depth := range []int{10_050, 100_000} {
			deep := strings.Repeat(`[{"b":1, "a":`, depth) + "0" + strings.Repeat("}]", depth)
			want := strings.Repeat(`[{"a":`, depth) + "0" + strings.Repeat(`,"b":1}]`, depth)
			if got := string(CanonicalJSON([]byte(deep))); got != want {
				t.Errorf("%d levels: %d bytes, want %d", depth, len(got), len(want))
			}
		}
	})
}

func FuzzCanonicalJSON(f *testing.F) {
	for _, s := range []string{`{"b":[1,2,{"c":"\u00e9"}],"a":null}`, `[`, `{"a":1,"a":2}`, "\"\\ud83d\xff\""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got := CanonicalJSON(raw)
		if again := CanonicalJSON(got); !bytes.Equal(again, got) {
			t.Fatalf("%q, %q, %q", raw, got, again)
		}
		var a, b any
		if json.Unmarshal(raw, &a) != nil {
			return
		}
		if err := json.Unmarshal(got, &b); err != nil {
			t.Fatalf("%q became no JSON: %q", raw, got)
		}
		if !repeats(raw) && !reflect.DeepEqual(a, b) {
			t.Fatalf("%q became %q", raw, got)
		}
	})
}

// repeats: encoding/json takes the last of equal keys, we the first.
func repeats(raw []byte) bool {
	d := json.NewDecoder(bytes.NewReader(raw))
	seen := map[string]bool{}
	for {
		t, err := d.Token()
		if err != nil {
			return false
		}
		if s, ok := t.(string); ok {
			if seen[s] {
				return true
			}
			seen[s] = true
		}
	}
}

func BenchmarkCanonicalJSON(b *testing.B) {
	raw := []byte(`{"command":"go test ./...","description":"run tests","timeout":1000,"env":{"B":"1","A":"2"}}`)
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		CanonicalJSON(raw)
	}
}

// BenchmarkCapture is what naming one hook event costs.
func BenchmarkCapture(b *testing.B) {
	path := filepath.Join(b.TempDir(), "id.key")
	raw := bytes.Repeat([]byte("x"), 2000)
	at := time.Unix(1, 0).UnixNano()
	for b.Loop() {
		key, err := LoadKey(path)
		if err != nil {
			b.Fatal(err)
		}
		ContentID("claude-code", "Stop", key.ContentHash(raw), at)
	}
}
