package rules

import (
	"regexp"
	"slices"
	"strings"

	"cmem/streams/event"
)

// heads maps the first words of a command to what it is for. Longer heads win.
var heads = map[string]kind{
	"go test": testKind, "gotestsum": testKind, "pytest": testKind, "py.test": testKind, "tox": testKind, "nox": testKind,
	"python -m pytest": testKind, "python -m unittest": testKind, "python3 -m pytest": testKind, "python3 -m unittest": testKind,
	"uv run pytest": testKind, "poetry run pytest": testKind, "cargo test": testKind, "cargo nextest": testKind,
	"npm test": testKind, "npm t": testKind, "yarn test": testKind, "pnpm test": testKind, "bun test": testKind, "deno test": testKind,
	"jest": testKind, "vitest": testKind, "mocha": testKind, "playwright test": testKind, "cypress run": testKind,
	"mvn test": testKind, "mvn verify": testKind, "gradle test": testKind, "gradlew test": testKind, "dotnet test": testKind,
	"ctest": testKind, "rspec": testKind, "bundle exec rspec": testKind, "rails test": testKind, "phpunit": testKind,
	"mix test": testKind, "swift test": testKind, "zig build test": testKind, "stack test": testKind, "cabal test": testKind,
	"golangci-lint": lintKind, "staticcheck": lintKind, "go vet": lintKind, "eslint": lintKind, "biome check": lintKind, "biome lint": lintKind,
	"ruff": lintKind, "flake8": lintKind, "pylint": lintKind, "mypy": lintKind, "pyright": lintKind, "cargo clippy": lintKind,
	"rubocop": lintKind, "shellcheck": lintKind, "prettier --check": lintKind, "markdownlint": lintKind, "tsc --noEmit": lintKind,
	"go build": buildKind, "cargo build": buildKind, "cargo check": buildKind, "tsc": buildKind, "make": buildKind, "cmake --build": buildKind,
	"mvn package": buildKind, "mvn compile": buildKind, "gradle build": buildKind, "gradlew build": buildKind, "dotnet build": buildKind,
	"swift build": buildKind, "zig build": buildKind, "docker build": buildKind,
	"npm install": installKind, "npm i": installKind, "npm add": installKind, "yarn add": installKind, "pnpm add": installKind,
	"pnpm install": installKind, "bun add": installKind, "bun install": installKind, "pip install": installKind, "pip3 install": installKind,
	"python -m pip install": installKind, "python3 -m pip install": installKind, "uv add": installKind, "uv pip install": installKind,
	"poetry add": installKind, "go get": installKind, "go install": installKind, "cargo add": installKind, "cargo install": installKind,
	"apt install": installKind, "apt-get install": installKind, "brew install": installKind, "gem install": installKind,
	"bundle add": installKind, "composer require": installKind, "dotnet add package": installKind,
	"git commit": commitKind, "git push": pushKind, "gh pr create": pushKind,
}

// runners run a script of the project by name: the name says what it is for.
var runners = []string{"npm run", "yarn run", "yarn", "pnpm run", "pnpm", "bun run", "mise run", "make", "just", "task", "nx", "turbo run", "composer", "poe", "rake"}

// kindOf says what a command is for, and its head: the words that name it.
func kindOf(c command) (kind, string) {
	words := slices.Clone(c.words)
	if len(words) == 0 {
		return otherKind, ""
	}
	words[0] = c.program()
	if words[0] == "git" {
		words = withoutGitFlags(words)
	}
	for n := min(4, len(words)); n > 0; n-- {
		head := strings.Join(words[:n], " ")
		if len(words) > n && slices.Contains(runners, head) {
			if k := scriptKind(words[n]); k != otherKind {
				return k, head + " " + words[n]
			}
		}
		if k, ok := heads[head]; ok {
			return k, head
		}
	}
	return otherKind, words[0]
}

// withoutGitFlags drops `-C dir` and `-c name=value` before git's own verb.
func withoutGitFlags(words []string) []string {
	for len(words) > 2 && (words[1] == "-C" || words[1] == "-c") {
		words = slices.Delete(words, 1, 3)
	}
	return words
}

func scriptKind(name string) kind {
	for _, part := range strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return strings.ContainsRune(":-_./", r) }) {
		switch part {
		case "test", "tests", "spec", "e2e", "unit":
			return testKind
		case "lint", "typecheck", "check", "vet", "format", "fmt":
			return lintKind
		case "build", "compile":
			return buildKind
		}
	}
	return otherKind
}

// checkOf reads a shell run as a test, lint or build. The name is made of the
// heads and targets of its checks, so that runs with other flags are the same.
func checkOf(run shellRun) (check, bool) {
	var name []string
	found := otherKind
	for _, c := range run.commands {
		k, head := kindOf(c)
		if k != testKind && k != lintKind && k != buildKind {
			continue
		}
		if found == otherKind || k == testKind {
			found = k
		}
		name = append(name, head)
	}
	if found == otherKind || run.use.Outcome == event.Unknown && run.use.Output == "" {
		return check{}, false
	}
	u := run.use
	return check{
		at: run.at, key: u.Key, line: u.Tool.Command, name: strings.Join(name, " && "), kind: found,
		failed: failedRun(run, found), exitCode: u.ExitCode, output: clean(u.Output + errorOf(u)),
	}, true
}

func errorOf(u *event.ToolUse) string {
	if u.Error == "" || strings.Contains(u.Output, strings.TrimSpace(u.Error)) {
		return ""
	}
	return "\n" + u.Error
}

// failLine tells a failure where a pipe hid the exit code.
var failLine = regexp.MustCompile(`(?m)^(--- FAIL|FAIL\b|FAILED\b|ERROR:? |error(\[\w+\])?: |Tests:.*\b[1-9]\d* failed|.*\b[1-9]\d* (failed|failing)\b|make: \*\*\*)`)

func failedRun(run shellRun, k kind) bool {
	u := run.use
	if u.ExitCode != nil && *u.ExitCode != 0 || u.Outcome == event.Failed {
		return true
	}
	hidden := u.ExitCode == nil || slices.ContainsFunc(run.commands, func(c command) bool { return c.piped })
	return k == testKind && hidden && failLine.MatchString(clean(u.Output))
}

var telling = regexp.MustCompile(`(?i)\b(error|fail(ed|ure|ing)?|panic|exception|undefined|not found|cannot|can't|expected|assert\w*|refused|denied|missing|invalid|unexpected|timed? ?out)\b`)

// causes picks the lines of an output that tell why it failed: those with a
// telling word, else the first lines. At most n, each cut.
func causes(output string, n int) []string {
	var told, first []string
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "Exit code ") || !strings.ContainsFunc(line, isWordRune) {
			continue
		}
		if telling.MatchString(line) && !slices.Contains(told, cut(line, 180)) {
			told = append(told, cut(line, 180))
		}
		if len(first) < n {
			first = append(first, cut(line, 180))
		}
	}
	if len(told) == 0 {
		return first
	}
	return told[:min(n, len(told))]
}
