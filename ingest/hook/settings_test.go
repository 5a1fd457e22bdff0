package hook

import (
	"os"
	"strings"
	"testing"
)

// TestUnusableSettingsAreToldOnceASession: the event is kept, the exit code is 0,
// and the user hears which setting does not hold.
func TestUnusableSettingsAreToldOnceASession(t *testing.T) {
	for name, c := range map[string]struct {
		config, env string
		says        []string
	}{
		"a redact pattern":          {`{"redact":[{"kind":"badge","pattern":"B-("}]}`, "", []string{`redact pattern \"B-(\" of kind \"badge\" cannot be used`, "kept as it is"}},
		"one of the environment":    {``, "CMEM_REDACT=badge=B-(", []string{`redact pattern \"B-(\"`}},
		"an excluded project":       {`{"excluded_projects":["$HOME/x"]}`, "", []string{`excluded_projects \"$HOME/x\" excludes nothing`}},
		"a tool":                    {`{"skip_tools":["Read*"]}`, "", []string{`skip_tools \"Read*\" names no tool`}},
		"a value of the wrong form": {`{"excluded_projects":"x"}`, "", []string{"config.json:1:", "excluded_projects"}},
		"a broken file":             {`{"redact":`, "", []string{"config.json:1:"}},
		"a bad variable":            {``, "CMEM_AUTOSTART=perhaps", []string{"CMEM_AUTOSTART"}},
		"many":                      {`{"skip_tools":["a*","b*","c*","d*","e*"]}`, "", []string{"and 2 more"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			if err := b.dir.Make(); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(b.dir.Config(), []byte(c.config), 0o600); err != nil {
				t.Fatal(err)
			}
			b.env = append(b.env, "CMEM_FAIL_LOUD=0", c.env)
			say := func(session string) string {
				return b.say("UserPromptSubmit", `{"session_id":"`+session+`","hook_event_name":"UserPromptSubmit","prompt":"B-123456"}`)
			}
			first := say("s1")
			for _, want := range c.says {
				if !strings.Contains(first, want) {
					t.Errorf("the first time it says %s, want %s", first, want)
				}
			}
			if again, other := say("s1"), say("s2"); again != "" || other == "" {
				t.Errorf("then it says %q, in another session %q", again, other)
			}
			if n := len(b.envelopes()); n != 3 {
				t.Errorf("%d events were kept", n)
			}
		})
	}
}

func TestUsableSettingsAreNotMentioned(t *testing.T) {
	b := newBench(t)
	b.env = append(b.env, "CMEM_FAIL_LOUD=0", "CMEM_REDACT=badge=B-[0-9]{6}", "CMEM_SKIP_TOOLS=Read", "CMEM_EXCLUDED_PROJECTS=~/x")
	if out := b.say("UserPromptSubmit", `{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":"B-123456"}`); out != "" {
		t.Errorf("it says %s", out)
	}
	assertNowhere(t, string(b.dir), "B-123456")
}
