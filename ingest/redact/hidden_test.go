package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"cmem/ingest/home"
)

// hook is a payload whose tool printed text.
func hook(t testing.TB, text string) []byte {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_response": map[string]string{"stdout": text}})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestSecretsInOutput: what programs print and people type. Each row is looked
// at as a text, as a tool's output, and as JSON in that output.
func TestSecretsInOutput(t *testing.T) {
	key := "Kq7ZbWm2" + "CANARY0123456789"
	hex := strings.Repeat("0a1b2c3d", 5)
	basic := base64.StdEncoding.EncodeToString([]byte("me:CANARY-hunter2"))
	body := "MIIEowIBAAKCAQEA" + strings.Repeat("qZ7+/aB3", 6)
	for _, c := range []struct{ in, want string }{
		{"OPENAI_KEY=" + key, "OPENAI_KEY=[redacted:secret]"},
		{"export STRIPE_KEY='" + key + "'", "export STRIPE_KEY='[redacted:secret]'"},
		{"SSH_KEY=KCANARY0123456789", "SSH_KEY=[redacted:secret]"},
		{"DATADOG_APP_KEY=" + hex, "DATADOG_APP_KEY=[redacted:secret]"},
		{"OPENAIKEY=" + key, "OPENAIKEY=[redacted:secret]"},
		{`stripeKey: "` + key + `"`, `stripeKey: "[redacted:secret]"`},
		{"x-functions-key: " + key, "x-functions-key: [redacted:secret]"},
		{"PASS=hunter2x1", "PASS=[redacted:password]"},
		{"[db]\npass = hunter2!\nuser = me", "[db]\npass = [redacted:password]\nuser = me"},
		{"DB_PASSWORD='three plain words'", "DB_PASSWORD='[redacted:password]'"},
		{"ENV DB_PASSWORD letmein", "ENV DB_PASSWORD [redacted:password]"},
		{"grant=x&client_secret=abcdef0123&y=1", "grant=x&client_secret=[redacted:secret]&y=1"},
		{"machine h login me password CANARYx", "machine h login me password [redacted:password]"},
		{"machine h\n  login me\n  password CANARYx\nmachine g", "machine h\n  login me\n  password [redacted:password]\nmachine g"},
		{"default login me password CANARYx", "default login me password [redacted:password]"},
		{"curl --user=admin:CANARYx https://h", "curl --user=admin:[redacted:password] https://h"},
		{"curl -uadmin:CANARYx https://h", "curl -uadmin:[redacted:password] https://h"},
		{"curl -u admin:98 https://h", "curl -u admin:[redacted:password] https://h"},
		{"curl -u 'admin:p&w x' https://h", "curl -u 'admin:[redacted:password]' https://h"},
		{"curl --proxy-user u:CANARYx h", "curl --proxy-user u:[redacted:password] h"},
		{"sshpass -p CANARYx ssh h", "sshpass -p [redacted:password] ssh h"},
		{"sshpass -v -p'CANARY x' ssh h", "sshpass -v -p'[redacted:password]' ssh h"},
		{"docker login -u me -p CANARYx r.example.com", "docker login -u me -p [redacted:password] r.example.com"},
		{"mysql -u root -pCANARYx shop", "mysql -u root -p[redacted:password] shop"},
		{"docker exec db mysqldump -h h -p\"CANARY x\" shop > f", "docker exec db mysqldump -h h -p\"[redacted:password]\" shop > f"},
		{"redis-cli -h h -a CANARYx ping", "redis-cli -h h -a [redacted:password] ping"},
		{`run(["curl", "--password", "CANARYx"])`, `run(["curl", "--password", "[redacted:password]"])`},
		{"> Cookie: sid=CANARYx1; theme=dark\n> Accept: */*", "> Cookie: sid=[redacted:cookie]\n> Accept: */*"},
		{"< set-cookie: sid=CANARYx1; Path=/; HttpOnly", "< set-cookie: sid=[redacted:cookie]; Path=/; HttpOnly"},
		{`curl -H "Cookie: sid=CANARYx1" h`, `curl -H "Cookie: sid=[redacted:cookie]" h`},
		{"https://b.s3.amazonaws.com/k?X-Amz-Date=1&X-Amz-Signature=" + hex, "https://b.s3.amazonaws.com/k?X-Amz-Date=1&X-Amz-Signature=[redacted:signature]"},
		{"https://a.blob.core.windows.net/c?sv=1&sig=CANARY0123456789aB%2Fc%3D&sp=r", "https://a.blob.core.windows.net/c?sv=1&sig=[redacted:signature]&sp=r"},
		{"<user>me</user><password>CANARYx</password>", "<user>me</user><password>[redacted:password]</password>"},
		{"<w:Password>two words</w:Password>", "<w:Password>[redacted:password]</w:Password>"},
		{`<add key="password" value="CANARY1x"/>`, `<add key="password" value="[redacted:password]"/>`},
		{"- name: DB_PASSWORD\n  value: CANARYx", "- name: DB_PASSWORD\n  value: [redacted:password]"},
		{"password：CANARY1x", "password：[redacted:password]"},
		{"x {\"password\": 99027028}", "x {\"password\": [redacted:password]}"},
		{`//r.example.com/:_auth=` + basic, `//r.example.com/:_auth=[redacted:password]`},
		{`cat: {"auths":{"r":{"auth":"` + basic + `"}}}`, `cat: {"auths":{"r":{"auth":"[redacted:password]"}}}`},
		{"tail of it:\n" + body + "\n" + body + "\nab==\n-----END " + "RSA PRIVATE KEY-----\nok", "tail of it:\n[redacted:private-key]\nok"},
		{"  7\t" + body + "\n  8\tab==\n  9\t-----END " + "PRIVATE KEY-----", "  7\t[redacted:private-key]"},
		{`"k": "` + body + `\nab==\n-----END ` + `PRIVATE KEY-----\n"`, `"k": "[redacted:private-key]\n"`},
		{"head:\n-----BEGIN " + "RSA PRIVATE KEY-----\n" + body + "\n" + body, "head:\n[redacted:private-key]"},
		{"GIN RSA " + "PRIVATE KEY-----\n" + body + "\n", "GIN RSA [redacted:private-key]"},
	} {
		r := builtin(t)
		got, removed := r.Text(c.in)
		if got != c.want && strings.TrimSpace(got) != c.want || len(removed) == 0 {
			t.Errorf("%q:\n got %q\nwant %q (%v)", c.in, got, c.want, removed)
		}
		if again, more := r.Text(got); again != got || len(more) > 0 {
			t.Errorf("%q: again: %q (%v)", c.in, again, more)
		}
		inner, _ := json.Marshal(map[string]string{"out": c.in})
		for _, raw := range [][]byte{hook(t, c.in), hook(t, string(inner)), hook(t, "$ x\n"+string(inner))} {
			out, _ := r.JSON(raw)
			if bytes.Contains(out, []byte("CANARY")) || bytes.Contains(out, []byte(hex)) || bytes.Contains(out, []byte(body)) || !json.Valid(out) {
				t.Errorf("%q leaks: %s", c.in, out)
			}
		}
	}
}

// TestSecretsByTheirPlaceInJSON: in a tool's input, and in a file it printed.
func TestSecretsByTheirPlaceInJSON(t *testing.T) {
	basic := base64.StdEncoding.EncodeToString([]byte("me:CANARY-hunter2"))
	for _, c := range []struct{ in, want string }{
		{`["--password","CANARYx"]`, `["--password","[redacted:password]"]`},
		{`["curl","-u","admin:CANARYx","h"]`, `["curl","-u","admin:[redacted:password]","h"]`},
		{`["docker","login","-u","me","-p","CANARYx"]`, `["docker","login","-u","me","-p","[redacted:password]"]`},
		{`["mysql","-pCANARYx"]`, `["mysql","-p[redacted:password]"]`},
		{`["Cookie","sid=CANARYx1"]`, `["Cookie","sid=[redacted:cookie]"]`},
		{`{"password":"letmeinCANARY"}`, `{"password":"[redacted:password]"}`},
		{`{"db":{"DB_PASSWORD":"CANARY"}}`, `{"db":{"DB_PASSWORD":"[redacted:password]"}}`},
		{`{"password":["CANARY1x","b"]}`, `{"password":["[redacted:password]","b"]}`},
		{`{"password":{"value":"CANARY1x"}}`, `{"password":{"value":"[redacted:password]"}}`},
		{`{"password":[{"value":["CANARY1x"]}]}`, `{"password":[{"value":["[redacted:password]"]}]}`},
		{`{"name":"DB_PASSWORD","value":"CANARYx"}`, `{"name":"DB_PASSWORD","value":"[redacted:password]"}`},
		{`{"value":"CANARYx","name":"DB_PASSWORD"}`, `{"value":"[redacted:password]","name":"DB_PASSWORD"}`},
		{`{"ParameterKey":"DBPassword","ParameterValue":"CANARY1x"}`, `{"ParameterKey":"DBPassword","ParameterValue":"[redacted:password]"}`},
		{`{"passphrase":"CANARY three words"}`, `{"passphrase":"[redacted:password]"}`},
		{`{"password":99027028}`, `{"password":"[redacted:password]"}`},
		{`{"password":[99027028]}`, `{"password":["[redacted:password]"]}`},
		{`{"headers":{"Cookie":"a=CANARYx1; b=c"}}`, `{"headers":{"Cookie":"a=[redacted:cookie]"}}`},
		{`{"headers":[{"name":"Set-Cookie","value":"a=CANARYx1; Path=/"}]}`, `{"headers":[{"name":"Set-Cookie","value":"a=[redacted:cookie]; Path=/"}]}`},
		{`{"Authorization":"Basic ` + basic + `"}`, `{"Authorization":"Basic [redacted:authorization]"}`},
		{`{"auths":{"r":{"auth":"` + basic + `"}}}`, `{"auths":{"r":{"auth":"[redacted:password]"}}}`},
		{`{"client_secret":"CANARY0123"}`, `{"client_secret":"[redacted:secret]"}`},
	} {
		r := builtin(t)
		for _, form := range []string{`{"tool_input":%s}`, `%s`, `[[1],%s]`} {
			in, want := fmt.Sprintf(form, c.in), fmt.Sprintf(form, c.want)
			got, removed := r.JSON([]byte(in))
			if string(got) != want || len(removed) != 1 {
				t.Errorf("%s:\n got %s\nwant %s (%v)", in, got, want, removed)
			}
			if again, more := r.JSON(got); !bytes.Equal(again, got) || len(more) > 0 {
				t.Errorf("%s: again: %s (%v)", in, again, more)
			}
			if out, _ := r.JSON(hook(t, in)); member(t, out, "tool_name") != "Bash" || bytes.Contains(out, []byte("CANARY")) || bytes.Contains(out, []byte("99027028")) || bytes.Contains(out, []byte(basic)) {
				t.Errorf("printed: %s", out)
			}
		}
	}
}

// TestEncodedTagsHide: every encoding of <private> that a source or a log may
// show.
func TestEncodedTagsHide(t *testing.T) {
	for _, c := range []struct{ open, close string }{
		{"%3Cprivate%3E", "%3C%2Fprivate%3E"}, {"%253cprivate%253e", "%253c/private%253e"},
		{`\074private\076`, `\074/private\076`}, {`\0074private\0076`, `\0074\0057private\0076`},
		{`\u{3c}private\u{3e}`, `\u{3c}/private\u{3e}`}, {`\x{3C}private>`, `\x{3C}/private>`}, {`\u{00003c}private\u{3e}`, `\u{3c}\u{2f}private\u{3e}`},
		{`\U0000003cprivate\U0000003e`, `\U0000003c/private\U0000003e`},
		{"＜private＞", "＜/private＞"}, {"﹤private﹥", "＜／private＞"}, {"＜ｐｒｉｖａｔｅ＞", "＜／ＰＲＩＶＡＴＥ＞"},
		{"&lt;private&gt;", "&lt;&sol;private&gt;"}, {`\u003cprivate\u003e`, `\u003c\u002fprivate\u003e`},
	} {
		r := builtin(t)
		for text, want := range map[string]string{
			"a " + c.open + "CANARY" + c.close + " b": "a  b",
			"a " + c.open + "CANARY":                  "a ",
		} {
			if got, _ := r.Text(text); got != want {
				t.Errorf("%q: got %q, want %q", text, got, want)
			}
			if out, _ := r.JSON(hook(t, text)); bytes.Contains(out, []byte("CANARY")) {
				t.Errorf("%q leaks: %s", text, out)
			}
		}
	}
}

// TestOrdinaryCodeStays: nothing here is a secret.
func TestOrdinaryCodeStays(t *testing.T) {
	hex := strings.Repeat("0a1b2c3d", 5)
	for _, text := range []string{
		"PRIMARY_KEY=id", "FOREIGN_KEY=user_id", "PRIMARY KEY (id), FOREIGN KEY (user_id) REFERENCES users(id)", "primary_key = Column(Integer, primary_key=True)",
		`key = "name"`, `key: user-profile-settings-2024-01`, `{"key": "Kq7ZbWm2aaaa0123456789"}`, "cache_key = linux-go-1-25-" + hex, "CACHE_KEY=linux-" + hex,
		"SSH_KEY=/home/u/.ssh/id_ed25519", "TLS_KEY=certs/server01.pem", "SORT_KEY=created_at_2024_desc", "PUBLIC_KEY=Kq7ZbWm2CAb01234567", "for key, value in m: print(key)", "monkey=abc1234567890abcdef", "foreignKey: 'userId1234567890Ab'",
		// A bare word behind a name may be a password as well as a type, a field or a
		// label: nothing in the text says which.
		"password: letmein", "username: admin\npassword: letmein", "username: String!\npassword: String!", "password: SecretStr\n", "{ user, password: formData }", "password: hashed, salt", "Password: wrong",
		"password = getPassword()", "password: str", "def f(password: str = None) -> None:", "    pass\n", "pass  # nothing", "pass = True", "PASS=12 FAIL=3", "PASS: TestParse2Numbers (0.1s)", "--- PASS: TestRun_IntegrationV2FetchMalformed (0.00s)",
		"self.password = data.password", "client_secret=client_secret", "secret=sha256hash", "token=token1", "f(secret=settings.secret_v1)",
		"Cookie: a small text that a site keeps", "cookie: { secure: true, httpOnly: true }", "set the Cookie: name=value", "const cookie = parse(req.headers.cookie)", "SetCookie(w, &http.Cookie{Name: n})", "Cookie: sid=$SID; t=${T}", "Cookie: theme=dark",
		"<password>${env.PW}</password>", "<label for=\"password\">Password</label>", "<Password>string</Password>", `<input name="password" type="password" value="">`, `<data name="Password" xml:space="preserve"><value>Passwort</value></data>`,
		`{"password":{"type":"string","pattern":"^[a-z0-9]{8,}$","minLength":8}}`, `{"passphrase":"Enter the passphrase for the key"}`, `{"key":"login.password","value":"Passwort eingeben"}`, `{"token":151643,"pass":1200,"tokens":{"value":"a1b2c3d4e5f6a7b8"}}`,
		`{"name":"password","value":"string"}`, `{"auth":"required"}`, `{"auth":"none:x"}`, `{"author":"me:you1"}`, `["--token","$TOKEN"]`, `["-p","8080:80"]`, `["find","mysql","-print"]`,
		"docker run --name mysql -p 3306:3306 mysql:8", "docker run -p3306:3306 mysql -p3306:3306", "find /var/lib/mysql -print0", "mysql -u root -p shop", "mkdir -p mysql/data && cp -pR a b", "docker login --password-stdin r", "sshpass -e ssh h", "sshpass -p \"$PW\" ssh h",
		"docker run --user app:staff x", "curl -u admin h", "curl -u $U:$P h", "git push -u origin feat:main", "machine learning with a login and a password", "the machine password is in the vault",
		"sig=f(x)", "the signature=computed lazily by callers", `{"signature":"EqQBCkYIBBgCKkAa0b1c2d3e4f"}`, "?sig=short",
		"-----END PRIVATE KEY-----", "grep 'PRIVATE KEY-----' *.pem", "the line -----END RSA PRIVATE KEY----- ends a key", "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQ\n-----END PUBLIC KEY-----",
		"%3Cprivateer%3E %private% 3Cprivate", `\074b\076`, "a＜private者", "x % private > y", `\u{3c}b\u{3e}private`, "password：string",
	} {
		r := builtin(t)
		if got, removed := r.Text(text); got != text || len(removed) > 0 {
			t.Errorf("%q\nbecame %q (%v)", text, got, removed)
		}
		raw := hook(t, text)
		if out, removed := r.JSON(raw); !bytes.Equal(out, raw) || len(removed) > 0 {
			t.Errorf("%s\nbecame %s (%v)", raw, out, removed)
		}
	}
}

// TestHostileTextsEnd: redacted twice they are the same; their time is
// BenchmarkHostile's.
func TestHostileTextsEnd(t *testing.T) {
	r, _ := New(home.Settings{})
	for _, unit := range hostile {
		text := []byte(strings.Repeat(unit, 1<<18/len(unit)))
		out, _ := r.JSON(text)
		if again, more := r.JSON(out); !bytes.Equal(again, out) || len(more) > 0 {
			t.Errorf("%q: redacted twice: %v", unit, more)
		}
	}
}

var hostile = []string{
	"Cookie: a=", "Cookie: a=bcdefg1;", "mysql ", "mysql -p ", "sshpass -p", "machine ", "-----END PRIVATE KEY-----", "PRIVATE KEY-----", "-u a:b1cd ", `"-u" `, `name: password value: `,
	"%3Cprivate", "%25", `\0`, "＜", "&sig=", "auth\"", "pass:", "key=", `["-p",`, `"value":"abcd",`, "<password>", "a1b2c3d4\n-----END ", "\n-----END PRIVATE KEY-----",
}
