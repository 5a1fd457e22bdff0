package redact

import (
	"fmt"
	"regexp"

	"cmem/ingest/home"
)

// userPattern is a secret shape from the settings.
type userPattern struct {
	kind string
	re   *regexp.Regexp
}

func compile(p home.Pattern) (userPattern, error) {
	kind := kindOf(p.Kind)
	re, err := regexp.Compile(p.Pattern)
	if err != nil {
		return userPattern{}, fmt.Errorf("redact pattern %q: %w", kind, err)
	}
	if re.MatchString("") {
		return userPattern{}, fmt.Errorf("redact pattern %q matches the empty text", kind)
	}
	if m := marker(kind); re.Match(m) {
		return userPattern{}, fmt.Errorf("redact pattern %q matches its own marker %s", kind, m)
	}
	return userPattern{kind: kind, re: re}, nil
}

// kindOf makes a name fit for a marker: letters, digits, '-' and '_', at most 32.
func kindOf(name string) string {
	kind := make([]byte, 0, 32)
	for i := 0; i < len(name) && len(kind) < 32; i++ {
		if isAlnum(name[i]) || name[i] == '-' || name[i] == '_' {
			kind = append(kind, name[i])
		}
	}
	if len(kind) == 0 {
		return "custom"
	}
	return string(kind)
}
