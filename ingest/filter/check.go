package filter

import (
	"fmt"
	"strings"

	"cmem/ingest/home"
)

// Check says of each entry of excluded_projects and skip_tools that can never fit
// anything why not, in one line that names it.
func Check(s home.Settings) (problems []error) {
	for _, p := range s.ExcludedProjects {
		if err := CheckProject(p, s.UserHome); err != nil {
			problems = append(problems, fmt.Errorf("excluded_projects %w", err))
		}
	}
	for _, name := range s.SkipTools {
		if err := CheckTool(name); err != nil {
			problems = append(problems, fmt.Errorf("skip_tools %w", err))
		}
	}
	return problems
}

// CheckProject says why an entry of excluded_projects excludes nothing; nil if it
// can. userHome is for entries that begin with ~.
func CheckProject(pattern, userHome string) error {
	bad := func(why string) error { return fmt.Errorf("%q excludes nothing: %s", pattern, why) }
	p := strings.ReplaceAll(strings.TrimSpace(pattern), `\`, "/")
	parts := strings.Split(p, "/")
	switch {
	case len(newGlobs(pattern, userHome)) == 0 && strings.HasPrefix(p, "~"):
		return bad("the home folder is not known, HOME is not set")
	case len(newGlobs(pattern, userHome)) == 0:
		return bad("it names no folder")
	case strings.HasPrefix(p, "~") && parts[0] != "~":
		return bad("homes of others are not looked up, write the whole path")
	case strings.HasPrefix(p, "$") || strings.HasPrefix(p, "%"):
		return bad("variables are not looked up, write ~ or the whole path")
	case strings.HasPrefix(clean(p), "../") || clean(p) == "..":
		return bad("it begins above every folder, write ~ or the whole path")
	}
	return nil
}

// CheckTool says why an entry of skip_tools names no tool; nil if it may. Names
// are exact: hosts give them as words.
func CheckTool(name string) error {
	switch {
	case strings.TrimSpace(name) == "":
		return fmt.Errorf("%q names no tool: it is empty", name)
	case strings.ContainsAny(name, "*?"):
		return fmt.Errorf("%q names no tool: names are exact, there are no patterns", name)
	case strings.ContainsAny(name, " \t\r\n,"):
		return fmt.Errorf("%q names no tool: it has a blank or a comma in it", name)
	}
	return nil
}
